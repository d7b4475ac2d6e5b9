package facebox

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"testing"

	xdraw "golang.org/x/image/draw"

	"whittle/internal/fatal"
	"whittle/systems/emojify/facebox/faceboxtest"
	"whittle/systems/emojify/picture"
)

// portrait is the picture that pigo itself is tested with, 320 by 400 pixels;
// the face fills about 190 of them around (160, 210).
func portrait(t testing.TB) image.Image {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(faceboxtest.Photograph(t)))
	fatal.If(t, err)
	return img
}

func asPNG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m))
	return b.Bytes()
}

func detector(t testing.TB) *Detector {
	t.Helper()
	d, err := NewDetector(picture.Limits{})
	fatal.If(t, err)
	return d
}

// scene puts the portrait into places of a larger, plain picture.
func scene(t testing.TB, size image.Point, places ...image.Rectangle) *image.RGBA {
	t.Helper()
	m := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(m, m.Bounds(), image.NewUniform(color.RGBA{0x9a, 0xb4, 0xc8, 0xff}), image.Point{}, draw.Src)
	p := portrait(t)
	for _, at := range places {
		xdraw.BiLinear.Scale(m, at, p, p.Bounds(), draw.Src, nil)
	}
	return m
}

// isFace reports whether a rectangle is that of the portrait in a place: between
// half and all of its width, around the nose.
func isFace(r, place image.Rectangle) bool {
	center := r.Min.Add(r.Max).Div(2)
	nose := place.Min.Add(image.Pt(place.Dx()/2, place.Dy()*21/40))
	far := center.Sub(nose)
	return far.X*far.X+far.Y*far.Y < place.Dx()*place.Dx()/64 && r.Dx() > place.Dx()/2 && r.Dx() < place.Dx()
}

func TestFacesAreFoundWhereTheyAre(t *testing.T) {
	d := detector(t)
	for name, c := range map[string]struct {
		size   image.Point
		places []image.Rectangle
	}{
		"the portrait":      {image.Pt(320, 400), []image.Rectangle{image.Rect(0, 0, 320, 400)}},
		"two":               {image.Pt(1000, 600), []image.Rectangle{image.Rect(60, 90, 380, 490), image.Rect(600, 150, 840, 450)}},
		"three in a row":    {image.Pt(1060, 460), []image.Rectangle{image.Rect(25, 30, 345, 430), image.Rect(370, 30, 690, 430), image.Rect(715, 30, 1035, 430)}},
		"large, shrunk":     {image.Pt(1500, 1000), []image.Rectangle{image.Rect(600, 150, 1080, 750)}},
		"none":              {image.Pt(500, 500), nil},
		"less than a face":  {image.Pt(12, 9), nil},
		"one pixel":         {image.Pt(1, 1), nil},
		"long and narrow":   {image.Pt(2000, 3), nil},
		"small in a corner": {image.Pt(900, 720), []image.Rectangle{image.Rect(780, 570, 900, 720)}},
	} {
		faces, err := d.Detect(t.Context(), asPNG(t, scene(t, c.size, c.places...)))
		if err != nil || len(faces) != len(c.places) {
			t.Errorf("%s: %v, %v", name, faces, err)
			continue
		}
		for _, place := range c.places {
			found := false
			for _, f := range faces {
				found = found || isFace(f.Rect, place) && f.Confidence > 0.5 && f.Confidence < 1
			}
			if !found {
				t.Errorf("%s: no face in %v among %v", name, place, faces)
			}
		}
	}
}

func TestShrinkAverages(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 4, 2))
	copy(m.Pix, []byte{0, 100, 200, 200, 100, 200, 0, 0})
	g := shrink(m, 2)
	if g.w != 2 || g.h != 1 || !bytes.Equal(g.pix, []byte{100, 100}) {
		t.Errorf("%+v", g)
	}
	if r := g.grow(image.Rect(1, 0, 2, 1)); r != image.Rect(2, 0, 4, 2) {
		t.Errorf("grown: %v", r)
	}
	if g := shrink(m, 4); g.w != 4 || g.h != 2 || !bytes.Equal(g.pix, m.Pix) {
		t.Errorf("not shrunk: %+v", g)
	}
}
