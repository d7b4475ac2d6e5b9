package draw

import (
	"image"
	"image/color"
	"math"
	"slices"

	"golang.org/x/image/vector"
)

// point is a place within an emoji: 0, 0 its upper left, 1, 1 its lower right.
type point struct{ x, y float64 }

func (p point) plus(x, y float64) point { return point{p.x + x, p.y + y} }

// pen fills outlines on a square, anti-aliased.
type pen struct {
	to   *image.RGBA
	size float64
	z    *vector.Rasterizer
	// outline is the present one: where it begins, and three points for each curve.
	outline []point
}

func newPen(size int) *pen {
	return &pen{to: image.NewRGBA(image.Rect(0, 0, size, size)), size: float64(size), z: &vector.Rasterizer{}}
}

func (p *pen) move(a point) { p.outline = append(p.outline[:0], a) }

func (p *pen) curve(a, b, c point) { p.outline = append(p.outline, a, b, c) }

// box is where the outline is, in pixels: curves stay among their points.
func (p *pen) box() image.Rectangle {
	low, high := p.outline[0], p.outline[0]
	for _, q := range p.outline {
		low, high = point{min(low.x, q.x), min(low.y, q.y)}, point{max(high.x, q.x), max(high.y, q.y)}
	}
	pixel := func(v float64) int { return int(math.Floor(v * p.size)) }
	return image.Rect(pixel(low.x), pixel(low.y), pixel(high.x)+1, pixel(high.y)+1).Intersect(p.to.Rect)
}

// fill closes the outline and colours what it encloses. The rasterizer goes
// over the whole area that it is given, so it gets the outline's box only.
func (p *pen) fill(c color.Color) {
	box := p.box()
	p.z.Reset(box.Dx(), box.Dy())
	at := func(q point) (x, y float32) {
		return float32(q.x*p.size - float64(box.Min.X)), float32(q.y*p.size - float64(box.Min.Y))
	}
	p.z.MoveTo(at(p.outline[0]))
	for step := range slices.Chunk(p.outline[1:], 3) {
		ax, ay := at(step[0])
		bx, by := at(step[1])
		cx, cy := at(step[2])
		p.z.CubeTo(ax, ay, bx, by, cx, cy)
	}
	p.z.ClosePath()
	p.z.Draw(p.to, box, image.NewUniform(c), image.Point{})
}

// kappa is how far the control points of a quarter circle stand out: a cubic
// curve then leaves the circle by less than 0.03 % of its radius.
const kappa = 0.5522847498

// ellipse fills one around a middle.
func (p *pen) ellipse(c color.Color, mid point, rx, ry float64) {
	p.move(mid.plus(rx, 0))
	p.curve(mid.plus(rx, kappa*ry), mid.plus(kappa*rx, ry), mid.plus(0, ry))
	p.curve(mid.plus(-kappa*rx, ry), mid.plus(-rx, kappa*ry), mid.plus(-rx, 0))
	p.curve(mid.plus(-rx, -kappa*ry), mid.plus(-kappa*rx, -ry), mid.plus(0, -ry))
	p.curve(mid.plus(kappa*rx, -ry), mid.plus(rx, -kappa*ry), mid.plus(rx, 0))
	p.fill(c)
}

// bowl fills the lower half of an ellipse, under a rim that sags by sag.
func (p *pen) bowl(c color.Color, mid point, rx, ry, sag float64) {
	p.move(mid.plus(-rx, 0))
	p.curve(mid.plus(-rx/2, sag), mid.plus(rx/2, sag), mid.plus(rx, 0))
	p.curve(mid.plus(rx, kappa*ry), mid.plus(kappa*rx, ry), mid.plus(0, ry))
	p.curve(mid.plus(-kappa*rx, ry), mid.plus(-rx, kappa*ry), mid.plus(-rx, 0))
	p.fill(c)
}
