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
	"whittle/internal/fatal"
	"whittle/systems/emojify/picture"
	"whittle/whittletest"
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
	fatal.If(t, err)
	return b.Bytes()
}

func painted(t testing.TB, b []byte, faces ...image.Rectangle) (image.Image, picture.Head) {
	t.Helper()
	out, err := New(picture.Limits{}).Paint(t.Context(), b, faces)
	fatal.If(t, err)
	m, head, err := picture.Decode(out, picture.Limits{})
	fatal.If(t, err)
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
		_, err := New(c.l).Paint(c.ctx, c.b, c.faces)
		whittletest.Refused(t, err, c.code, name)
	}
}
