// Package draw covers faces with an emoji, which it draws from outlines at the
// size that is needed.
package draw

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"slices"

	xdraw "golang.org/x/image/draw"

	"whittle"
	"whittle/systems/emojify/picture"
)

const (
	// maxFaces of one picture.
	maxFaces = 128
	// over is an emoji's diameter, of the longer side of its face: what
	// detectors give has brows and chin near its sides.
	over = 1.15
	// maxSprite is the diameter up to which an emoji is drawn as it will be
	// seen, in pixels; larger ones are drawn so, and enlarged.
	maxSprite = 1024
	// quality of JPEGs, 1 to 100.
	quality = 90
)

// Painter covers faces. It may be used by many goroutines at once.
type Painter struct{ limits picture.Limits }

// New makes a painter of pictures within limits.
func New(l picture.Limits) *Painter { return &Painter{l} }

// Paint covers each face: a JPEG stays a JPEG, others become PNG. Nothing but pixels goes from the one picture to the other, so
// neither where a photograph was taken nor what was hidden behind its end.
// Errors: Invalid for what is no picture, ResourceExhausted beyond a limit,
// Canceled and DeadlineExceeded with ctx.
func (p *Painter) Paint(ctx context.Context, encoded []byte, faces []image.Rectangle) ([]byte, error) {
	if len(faces) > maxFaces {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "the picture has more than %d faces", maxFaces)
	}
	img, head, err := picture.Decode(encoded, p.limits)
	if err != nil {
		return nil, err
	}
	canvas := image.NewRGBA(img.Bounds())
	draw.Draw(canvas, canvas.Rect, img, image.Point{}, draw.Src)
	places := make([]image.Rectangle, 0, len(faces))
	for _, f := range faces {
		if f = f.Intersect(img.Bounds()); !f.Empty() {
			places = append(places, f)
		}
	}
	// The larger face is the nearer one, but its emoji must not hide a smaller
	// one's altogether.
	slices.SortStableFunc(places, func(a, b image.Rectangle) int { return cmp.Compare(b.Dx()*b.Dy(), a.Dx()*a.Dy()) })
	for _, f := range places {
		if err := ctx.Err(); err != nil {
			return nil, picture.Ended(err, "drawing")
		}
		cover(canvas, f)
	}
	if err := ctx.Err(); err != nil {
		return nil, picture.Ended(err, "drawing")
	}
	return encode(canvas, head.Format)
}

// place is the square that an emoji over a face fills.
func place(face image.Rectangle) image.Rectangle {
	d := max(int(over*float64(max(face.Dx(), face.Dy()))), 4)
	corner := face.Min.Add(face.Max).Sub(image.Pt(d, d)).Div(2)
	return image.Rectangle{corner, corner.Add(image.Pt(d, d))}
}

func cover(canvas *image.RGBA, face image.Rectangle) {
	at := place(face)
	sprite := emoji(min(at.Dx(), maxSprite))
	if at.Dx() <= maxSprite {
		draw.Draw(canvas, at, sprite, image.Point{}, draw.Over)
		return
	}
	xdraw.ApproxBiLinear.Scale(canvas, at, sprite, sprite.Rect, draw.Over, nil)
}

func encode(m image.Image, f picture.Format) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if f == picture.JPEG {
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: quality})
	} else {
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m)
	}
	if err != nil {
		return nil, fmt.Errorf("encode picture: %w", err)
	}
	return b.Bytes(), nil
}
