package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"whittle"
)

// corner is w by h white pixels with a dark one in the first row and column.
func corner(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = 0xff
	}
	m.Set(0, 0, color.Black)
	return m
}

func encoded(t testing.TB, f Format, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch f {
	case JPEG:
		err = jpeg.Encode(&b, m, nil)
	case PNG:
		err = png.Encode(&b, m)
	case GIF:
		err = gif.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// held puts an Exif segment with an orientation into a JPEG.
func held(t testing.TB, b []byte, order binary.AppendByteOrder, turn Turn) []byte {
	t.Helper()
	tiff := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, e := range [][2]uint16{{0x010f, 1}, {orientation, uint16(turn)}} {
		tiff = order.AppendUint16(tiff, e[0])
		tiff = order.AppendUint16(tiff, short)
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, e[1])
		tiff = order.AppendUint16(tiff, 0)
	}
	segment := append([]byte("Exif\x00\x00"), tiff...)
	out := append([]byte{}, b[:2]...)
	out = append(out, 0xff, markerApp1)
	out = binary.BigEndian.AppendUint16(out, uint16(len(segment)+2))
	out = append(out, segment...)
	return append(out, b[2:]...)
}

func TestEachFormat(t *testing.T) {
	for _, f := range []Format{JPEG, PNG, GIF} {
		img, h, err := Decode(encoded(t, f, corner(30, 20)), Limits{})
		if err != nil || h != (Head{Format: f, Width: 30, Height: 20}) || img.Bounds() != image.Rect(0, 0, 30, 20) {
			t.Errorf("%s: %v, %v", f, h, err)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	whole := encoded(t, PNG, corner(30, 20))
	huge := bytes.Clone(whole)
	binary.BigEndian.PutUint32(huge[16:], 1<<20) // IHDR's width; its checksum is wrong now, too
	for name, c := range map[string]struct {
		b    []byte
		l    Limits
		code whittle.Code
	}{
		"nothing":            {nil, Limits{}, whittle.Invalid},
		"text":               {[]byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), Limits{}, whittle.Invalid},
		"WebP":               {[]byte("RIFF\x00\x00\x00\x00WEBPVP8 "), Limits{}, whittle.Invalid},
		"a start only":       {[]byte("\xff\xd8\xff"), Limits{}, whittle.Invalid},
		"cut off":            {whole[:len(whole)/2], Limits{}, whittle.Invalid},
		"a head that lies":   {huge, Limits{}, whittle.Invalid},
		"too many bytes":     {whole, Limits{Bytes: int64(len(whole)) - 1}, whittle.ResourceExhausted},
		"one pixel too many": {whole, Limits{Pixels: 599}, whittle.ResourceExhausted},
	} {
		if _, _, err := Decode(c.b, c.l); err == nil || whittle.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
	}
	if _, _, err := Decode(whole, Limits{Bytes: int64(len(whole)), Pixels: 600}); err != nil {
		t.Errorf("at the limits: %v", err)
	}
}

func TestPixelsAreCountedBeforeTheyAreDecoded(t *testing.T) {
	bomb := encoded(t, PNG, image.NewPaletted(image.Rect(0, 0, 20_000, 2_000), color.Palette{color.White}))
	if allocated := testing.AllocsPerRun(1, func() {
		if _, err := Inspect(bomb, Limits{}); whittle.CodeOf(err) != whittle.ResourceExhausted {
			t.Errorf("%d bytes for 40 million pixels: %v", len(bomb), err)
		}
	}); allocated > 100 {
		t.Errorf("%v allocations to look at a head", allocated)
	}
}

// A GIF's first frame may be smaller than its screen, whose first colour must
// not fill the rest.
func TestAFrameOnAScreen(t *testing.T) {
	frame := image.NewPaletted(image.Rect(2, 1, 5, 4), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{
		Image: []*image.Paletted{frame}, Delay: []int{0},
		Config: image.Config{Width: 9, Height: 7},
	}); err != nil {
		t.Fatal(err)
	}
	img, h, err := Decode(b.Bytes(), Limits{})
	if err != nil || h.Width != 9 || h.Height != 7 || img.Bounds() != image.Rect(0, 0, 9, 7) {
		t.Fatalf("%v %v", h, err)
	}
	if _, _, _, a := img.At(0, 0).RGBA(); a != 0 {
		t.Error("what the frame does not cover is not clear")
	}
	if _, _, _, a := img.At(2, 1).RGBA(); a == 0 {
		t.Error("the frame is not where it belongs")
	}
}

// Where the first stored pixel is seen: Exif 3.0's words for its eight values.
func TestTurns(t *testing.T) {
	plain := encoded(t, JPEG, corner(6, 4))
	for turn, at := range map[Turn]image.Point{
		1: {0, 0}, 2: {5, 0}, 3: {5, 3}, 4: {0, 3}, // row 0 is top, top, bottom, bottom
		5: {0, 0}, 6: {3, 0}, 7: {3, 5}, 8: {0, 5}, // column 0 is top, top, bottom, bottom
	} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			if h, err := Inspect(held(t, plain, order, turn), Limits{}); err != nil || h.Turn != turn {
				t.Errorf("%v %d: read as %d, %v", order, turn, h.Turn, err)
			}
		}
		pix := turn.Turned(corner(6, 4).Pix, 6, 4, 4)
		w, h := turn.Size(6, 4)
		for i := 0; i < len(pix); i += 4 {
			x, y := i/4%w, i/4/w
			if dark := pix[i] == 0; dark != (image.Pt(x, y) == at) {
				t.Errorf("turn %d: pixel %d,%d is dark: %v", turn, x, y, dark)
			}
		}
		for _, r := range []image.Rectangle{image.Rect(0, 0, w, h), image.Rect(1, 2, 2, 3), image.Rect(0, 0, 2, 1)} {
			if back := turn.Upright(turn.Stored(r, 6, 4), 6, 4); back != r {
				t.Errorf("turn %d: %v there and back is %v", turn, r, back)
			}
		}
		if seen := turn.Upright(image.Rect(0, 0, 1, 1), 6, 4); seen.Min != at {
			t.Errorf("turn %d: the corner is seen at %v, not %v", turn, seen, at)
		}
	}
	if h, err := Inspect(held(t, plain, binary.LittleEndian, 9), Limits{}); err != nil || h.Turn != 0 {
		t.Errorf("no orientation that there is: %d, %v", h.Turn, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, format := range []Format{JPEG, PNG, GIF} {
		b := encoded(f, format, corner(9, 7))
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Add(held(f, encoded(f, JPEG, corner(9, 7)), binary.BigEndian, 6))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := Limits{Bytes: 1 << 16, Pixels: 1 << 16}
		img, h, err := Decode(b, l)
		if err != nil {
			if c := whittle.CodeOf(err); c != whittle.Invalid && c != whittle.ResourceExhausted {
				t.Errorf("code %v: %v", c, err)
			}
			return
		}
		if img.Bounds() != image.Rect(0, 0, h.Width, h.Height) || int64(h.Width)*int64(h.Height) > l.Pixels || h.Turn > 8 {
			t.Errorf("%+v, bounds %v", h, img.Bounds())
		}
		img.At(h.Width-1, h.Height-1)
	})
}
