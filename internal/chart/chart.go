// Package chart draws series as SVG that stands by itself, and builds the
// HTML page around it: no script, nothing fetched, readable in light and dark,
// by eye and by screen reader.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Role sets a series' fixed colour, so that the monolith looks the same in
// every picture.
type Role uint8

// The roles. The colours are of Okabe and Ito's palette, which people with any
// common colour vision tell apart; lines differ in dash as well.
const (
	Neutral Role = iota
	Monolith
	Candidate
	Third
	Fourth
)

func (r Role) class() string {
	return [...]string{"neutral", "monolith", "candidate", "third", "fourth"}[min(r, Fourth)]
}

// Figure is a picture and the same facts as text.
type Figure struct {
	// Title is one line; Caption says what is to be seen, for those who see it
	// and those who do not.
	Title, Caption string
	svg            string
	table          *Table
}

// Point is a place in a plot, in the axes' units. A NaN or infinite Y is a gap.
type Point struct{ X, Y float64 }

// Series is one line of a plot.
type Series struct {
	Name   string
	Role   Role
	Points []Point
	// Area fills down to zero.
	Area bool
}

// Plot is what Line draws.
type Plot struct {
	Title, Caption string
	// XUnit and YUnit follow the axes' numbers, "s", "ms", "%".
	XLabel, XUnit string
	YLabel, YUnit string
	Series        []Series
	// LogY makes the vertical axis logarithmic; values not above zero are gaps.
	LogY bool
}

// The plot area in SVG units; the picture scales to its column.
const (
	width, height = 760.0, 300.0
	left, right   = 72.0, 18.0
	top, bottom   = 30.0, 44.0
	// maxDrawn bounds the points drawn of one series: beyond the pixels there
	// are, they only make the file large.
	maxDrawn = 2000
)

// Line plots series over time or any other number.
func Line(p Plot) Figure {
	x := span(p.Series, func(q Point) float64 { return q.X })
	y := span(p.Series, func(q Point) float64 { return q.Y })
	ys := linearAxis(math.Min(0, y.low), y.high)
	if p.LogY {
		ys = logAxis(positive(p.Series))
	}
	return p.draw(fixedAxis(x.low, x.high), ys, plotTable(p), func(*canvas, axis) {})
}

// draw draws the series over two axes, with what ticks adds to the grid.
func (p *Plot) draw(xs, ys axis, table *Table, ticks func(*canvas, axis)) Figure {
	xs.from, xs.to, ys.from, ys.to = left, width-right, height-bottom, top
	var b canvas
	b.open(p.Title, p.Caption, height)
	b.grid(xs, ys, p.XUnit, p.YUnit)
	ticks(&b, xs)
	b.labels(p.XLabel, p.YLabel)
	for i, s := range p.Series {
		b.series(s, i, xs, ys)
	}
	b.close()
	return Figure{Title: p.Title, Caption: p.Caption, svg: b.legend(p.Series) + b.String(), table: table}
}

type bounds struct{ low, high float64 }

func span(ss []Series, of func(Point) float64) bounds {
	b := bounds{math.Inf(1), math.Inf(-1)}
	for _, s := range ss {
		for _, p := range s.Points {
			if v := of(p); finite(v) && finite(p.X) {
				b.low, b.high = math.Min(b.low, v), math.Max(b.high, v)
			}
		}
	}
	if b.low > b.high {
		return bounds{0, 1}
	}
	return b
}

func positive(ss []Series) bounds {
	b := span(ss, func(p Point) float64 {
		if p.Y > 0 {
			return p.Y
		}
		return math.NaN()
	})
	if b.low <= 0 {
		b.low = 1
	}
	return bounds{b.low, math.Max(b.high, b.low)}
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// canvas writes SVG.
type canvas struct{ strings.Builder }

func (b *canvas) open(title, caption string, h float64) {
	fmt.Fprintf(b, `<svg viewBox="0 0 %s %s" role="img" xmlns="http://www.w3.org/2000/svg"><title>%s</title><desc>%s</desc>`,
		num(width), num(h), esc(title), esc(caption))
}

func (b *canvas) close() { b.WriteString("</svg>") }

func (b *canvas) text(x, y float64, anchor, class, s string) {
	fmt.Fprintf(b, `<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`, num(x), num(y), anchor, class, esc(s))
}

func (b *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

func (b *canvas) grid(x, y axis, xUnit, yUnit string) {
	for _, t := range y.ticks {
		at := y.position(t)
		b.line(left, at, width-right, at, "grid")
		b.text(left-8, at+4, "end", "tick", Number(t)+unit(yUnit))
	}
	for _, t := range x.ticks {
		at := x.position(t)
		b.line(at, height-bottom, at, height-bottom+4, "axis")
		b.text(at, height-bottom+18, "middle", "tick", Number(t)+unit(xUnit))
	}
	b.line(left, height-bottom, width-right, height-bottom, "axis")
}

func unit(u string) string {
	if u == "" || u == "%" {
		return u
	}
	return "\u202f" + u // a narrow space that does not break
}

func (b *canvas) labels(x, y string) {
	if x != "" {
		b.text((left+width-right)/2, height-6, "middle", "label", x)
	}
	if y != "" {
		// Level, above its axis: turned text is slow to read.
		b.text(0, 12, "start", "label", y)
	}
}

// series draws one line, with gaps where there is no value.
func (b *canvas) series(s Series, index int, x, y axis) {
	var line, area strings.Builder
	pen, begun, last := false, 0.0, Point{}
	base := y.from
	endArea := func() {
		if pen && s.Area {
			fmt.Fprintf(&area, "L%s %sL%s %sZ", num(last.X), num(base), num(begun), num(base))
		}
		pen = false
	}
	for _, p := range thin(s.Points) {
		if !finite(p.X) || !finite(p.Y) || y.log && p.Y <= 0 {
			endArea()
			continue
		}
		at := Point{x.position(p.X), y.position(p.Y)}
		switch {
		case !pen:
			begun = at.X
			fmt.Fprintf(&line, "M%s %s", num(at.X), num(at.Y))
			fmt.Fprintf(&area, "M%s %sL%s %s", num(at.X), num(base), num(at.X), num(at.Y))
		default:
			fmt.Fprintf(&line, "L%s %s", num(at.X), num(at.Y))
			fmt.Fprintf(&area, "L%s %s", num(at.X), num(at.Y))
		}
		pen, last = true, at
	}
	endArea()
	if s.Area && area.Len() > 0 {
		fmt.Fprintf(b, `<path d="%s" class="area %s"/>`, area.String(), s.Role.class())
	}
	if line.Len() > 0 {
		fmt.Fprintf(b, `<path d="%s" class="line %s d%d"/>`, line.String(), s.Role.class(), index%4)
	}
}

// thin keeps the extremes of each stretch, so that a peak is never lost.
func thin(ps []Point) []Point {
	if len(ps) <= maxDrawn {
		return ps
	}
	stretch := (len(ps) + maxDrawn/2 - 1) / (maxDrawn / 2)
	var out []Point
	for i := 0; i < len(ps); i += stretch {
		low, high := i, i
		for j := i; j < min(i+stretch, len(ps)); j++ {
			if ps[j].Y < ps[low].Y {
				low = j
			}
			if ps[j].Y > ps[high].Y {
				high = j
			}
		}
		out = append(out, ps[min(low, high)])
		if low != high {
			out = append(out, ps[max(low, high)])
		}
	}
	return out
}

// legend names the series, in HTML so that it wraps; none for a single
// unnamed one.
func (b *canvas) legend(ss []Series) string {
	if len(ss) == 0 || len(ss) == 1 && ss[0].Name == "" {
		return ""
	}
	var l strings.Builder
	l.WriteString(`<ul class="legend">`)
	for i, s := range ss {
		fmt.Fprintf(&l, `<li><svg viewBox="0 0 28 10" aria-hidden="true"><path d="M1 5H27" class="line %s d%d"/></svg>%s</li>`,
			s.Role.class(), i%4, esc(s.Name))
	}
	l.WriteString("</ul>")
	return l.String()
}

func esc(s string) string { return html.EscapeString(strings.ToValidUTF8(s, "\uFFFD")) }

// num writes a coordinate with one decimal.
func num(f float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0")
}
