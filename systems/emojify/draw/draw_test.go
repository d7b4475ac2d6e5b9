package draw

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"whittle"
	"whittle/systems/emojify/picture"
)

var blue = color.RGBA{0x20, 0x40, 0xc0, 0xff}

// plain is w by h blue pixels.
func plain(t testing.TB, f picture.Format, w, h int) []byte {
	t.Helper()
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{blue})
	var b bytes.Buffer
	var err error
	switch f {
	case picture.JPEG:
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: 100})
	case picture.PNG:
		err = png.Encode(&b, m)
	case picture.GIF:
		err = gif.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func painted(t testing.TB, b []byte, faces ...image.Rectangle) (image.Image, picture.Head) {
	t.Helper()
	out, err := New(picture.Limits{}).Paint(t.Context(), b, faces)
	if err != nil {
		t.Fatal(err)
	}
	m, head, err := picture.Decode(out, picture.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m, head
}

// isBlue allows for what a JPEG loses.
func isBlue(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	off := func(v uint32, w uint8) bool { return max(v>>8, uint32(w))-min(v>>8, uint32(w)) < 12 }
	return off(r, blue.R) && off(g, blue.G) && off(b, blue.B)
}

// Within the face's own ellipse nothing is left of it, and beyond the emoji's
// square nothing has changed.
func TestFacesAreCoveredAndNothingElse(t *testing.T) {
	faces := []image.Rectangle{image.Rect(60, 50, 140, 130), image.Rect(200, 100, 260, 190)}
	for _, f := range []picture.Format{picture.JPEG, picture.PNG, picture.GIF} {
		m, head := painted(t, plain(t, f, 320, 240), faces...)
		if m.Bounds() != image.Rect(0, 0, 320, 240) || (head.Format == picture.JPEG) != (f == picture.JPEG) || head.Format == picture.GIF {
			t.Errorf("%s became %+v", f, head)
		}
		for y := range 240 {
			for x := range 320 {
				on, near := false, false
				for _, face := range faces {
					mid := face.Min.Add(face.Max)
					dx, dy := float64(2*x-mid.X)/float64(face.Dx()), float64(2*y-mid.Y)/float64(face.Dy())
					on = on || dx*dx+dy*dy <= 1
					near = near || image.Pt(x, y).In(place(face).Inset(-17)) // a JPEG has colours by 16 pixels
				}
				if got := isBlue(m.At(x, y)); on && got || !near && !got {
					t.Fatalf("%s: %d,%d is %v, on a face: %v, near one: %v", f, x, y, m.At(x, y), on, near)
				}
			}
		}
	}
}

func TestFacesAtTheEdge(t *testing.T) {
	for _, f := range []image.Rectangle{
		{image.Pt(-40, -40), image.Pt(10, 10)},
		{image.Pt(90, 90), image.Pt(400, 400)},
		{image.Pt(-1000, -1000), image.Pt(1000, 1000)},
		{image.Pt(50, 50), image.Pt(51, 51)},
	} {
		inside := f.Intersect(image.Rect(0, 0, 100, 100))
		mid := inside.Min.Add(inside.Max).Div(2)
		if m, _ := painted(t, plain(t, picture.PNG, 100, 100), f); isBlue(m.At(mid.X, mid.Y)) {
			t.Errorf("%v is not covered", f)
		}
	}
	for _, f := range []image.Rectangle{{}, image.Rect(100, 0, 200, 50), {image.Pt(20, 20), image.Pt(10, 10)}} {
		if m, _ := painted(t, plain(t, picture.PNG, 100, 100), f); !isBlue(m.At(15, 15)) || !isBlue(m.At(99, 25)) {
			t.Errorf("%v has no pixel here, and was covered", f)
		}
	}
}

func TestTheSamePictureEachTime(t *testing.T) {
	p, b := New(picture.Limits{}), plain(t, picture.PNG, 200, 200)
	a, c := image.Rect(20, 20, 80, 80), image.Rect(110, 110, 190, 190)
	first, err := p.Paint(t.Context(), b, []image.Rectangle{a, c})
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Paint(t.Context(), b, []image.Rectangle{c, a})
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("the same faces in another order: %d and %d bytes, %v", len(first), len(again), err)
	}
	alone, _ := painted(t, b, a)
	both, _ := painted(t, b, a, c)
	for y := 20; y < 80; y++ {
		if alone.At(50, y) != both.At(50, y) {
			t.Fatal("another face changed this one's emoji")
		}
	}
}

// Every emoji is a disc that touches its square's sides, smooth at its edge,
// and like no other.
func TestEachEmoji(t *testing.T) {
	const size = 120
	seen := map[string]int{}
	for i, e := range all {
		s := e.sprite(size)
		if n, twice := seen[string(s.Pix)]; twice {
			t.Errorf("%d and %d are the same", n, i)
		}
		seen[string(s.Pix)] = i
		between := 0
		for y := range size {
			for x := range size {
				dx, dy := float64(x)+0.5-size/2, float64(y)+0.5-size/2
				r2 := (dx*dx + dy*dy) / (size * size / 4)
				switch a := s.RGBAAt(x, y).A; {
				case r2 < 0.95 && a != 0xff:
					t.Fatalf("%d: the face shows through at %d,%d", i, x, y)
				case r2 > 1.05 && a != 0:
					t.Fatalf("%d: %d,%d is drawn on", i, x, y)
				case a != 0 && a != 0xff:
					between++
				}
			}
		}
		if between < size {
			t.Errorf("%d: %d pixels are between clear and full: the edge is not smooth", i, between)
		}
	}
	picked := map[string]bool{}
	for i := range 100 {
		face := image.Rect(3*i, 2*i, 3*i+40, 2*i+40)
		picked[string(pick(face).sprite(24).Pix)] = true
	}
	if len(picked) != len(all) {
		t.Errorf("100 faces have %d of %d emoji", len(picked), len(all))
	}
}

func TestAPictureOnItsSideComesUpright(t *testing.T) {
	b := plain(t, picture.JPEG, 300, 200)
	exif := "\xff\xe1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	turned := append([]byte("\xff\xd8"+exif), b[2:]...)
	m, head := painted(t, turned, image.Rect(10, 20, 60, 70)) // stored; upright, x is 199 − y and y is x
	if head.Width != 200 || head.Height != 300 || head.Turn > 1 {
		t.Fatalf("%+v", head)
	}
	if isBlue(m.At(199-45, 35)) || !isBlue(m.At(35, 45)) || !isBlue(m.At(100, 200)) {
		t.Error("the face is covered elsewhere")
	}
}

func TestWhatIsRefused(t *testing.T) {
	small := plain(t, picture.PNG, 30, 20)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	face := []image.Rectangle{image.Rect(0, 0, 9, 9)}
	for name, c := range map[string]struct {
		ctx   context.Context
		b     []byte
		faces []image.Rectangle
		l     picture.Limits
		code  whittle.Code
	}{
		"no picture":      {t.Context(), []byte("hello"), face, picture.Limits{}, whittle.Invalid},
		"too many pixels": {t.Context(), small, face, picture.Limits{Pixels: 599}, whittle.ResourceExhausted},
		"too many faces":  {t.Context(), small, make([]image.Rectangle, maxFaces+1), picture.Limits{}, whittle.ResourceExhausted},
		"nobody waits":    {gone, small, face, picture.Limits{}, whittle.Canceled},
		"too late":        {late, small, face, picture.Limits{}, whittle.DeadlineExceeded},
	} {
		if _, err := New(c.l).Paint(c.ctx, c.b, c.faces); err == nil || whittle.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
	}
}

func TestALargeFaceIsEnlarged(t *testing.T) {
	face := image.Rect(100, 50, 1060, 1010)
	if place(face).Dx() <= maxSprite {
		t.Fatal("that is no large face")
	}
	m, _ := painted(t, plain(t, picture.PNG, 1160, 1060), face)
	for _, at := range []image.Point{{580, 60}, {110, 530}, {1050, 530}, {580, 1000}} {
		if isBlue(m.At(at.X, at.Y)) {
			t.Errorf("%v is not covered", at)
		}
	}
	if !isBlue(m.At(5, 5)) || !isBlue(m.At(1155, 1055)) {
		t.Error("the corners are covered")
	}
}

func FuzzPaint(f *testing.F) {
	for _, format := range []picture.Format{picture.JPEG, picture.PNG, picture.GIF} {
		f.Add(plain(f, format, 20, 10), 2, 3, 9, 8)
	}
	f.Add(plain(f, picture.PNG, 1, 1), -1<<62, -1<<62, 1<<62, 1<<62)
	p := New(picture.Limits{Bytes: 1 << 16, Pixels: 1 << 14})
	f.Fuzz(func(t *testing.T, b []byte, x0, y0, x1, y1 int) {
		out, err := p.Paint(t.Context(), b, []image.Rectangle{{image.Pt(x0, y0), image.Pt(x1, y1)}})
		if err != nil {
			if c := whittle.CodeOf(err); c != whittle.Invalid && c != whittle.ResourceExhausted {
				t.Errorf("code %v: %v", c, err)
			}
			return
		}
		in, err := picture.Inspect(b, picture.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		w, h := in.Turn.Size(in.Width, in.Height)
		if got, err := picture.Inspect(out, picture.Limits{}); err != nil || got.Width != w || got.Height != h {
			t.Errorf("%+v became %+v, %v", in, got, err)
		}
	})
}

func BenchmarkSprite(b *testing.B) {
	for range b.N {
		emoji(laughing).sprite(maxSprite)
	}
}
