package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/whittletest"
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

func encoded(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, png.Encode(&b, m))
	return b.Bytes()
}

func TestWhatIsRefused(t *testing.T) {
	whole := encoded(t, corner(30, 20))
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
		_, _, err := Decode(c.b, c.l)
		whittletest.Refused(t, err, c.code, name)
	}
	m, h, err := Decode(whole, Limits{Bytes: int64(len(whole)), Pixels: 600})
	if err != nil || h != (Head{Format: PNG, Width: 30, Height: 20}) || m.Bounds() != image.Rect(0, 0, 30, 20) {
		t.Errorf("at the limits: %v, %v", h, err)
	}
}

func TestPixelsAreCountedBeforeTheyAreDecoded(t *testing.T) {
	bomb := encoded(t, image.NewPaletted(image.Rect(0, 0, 20_000, 2_000), color.Palette{color.White}))
	if allocated := testing.AllocsPerRun(1, func() {
		_, err := Inspect(bomb, Limits{})
		whittletest.Refused(t, err, whittle.ResourceExhausted, "40 million pixels")
	}); allocated > 100 {
		t.Errorf("%v allocations to look at a head", allocated)
	}
}
