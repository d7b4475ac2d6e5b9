package chart

import (
	"fmt"
	"math"
)

// Bar is one figure of a bar chart.
type Bar struct {
	Label string
	Value float64
	Role  Role
	// Note follows the number: "5.2 times less".
	Note string
}

// BarGroup is some bars that share a scale of their own, such as one metric
// before and after.
type BarGroup struct {
	Name string
	Unit string
	Bars []Bar
}

const (
	barHeight = 20.0
	barStep   = 28.0
	barLeft   = 150.0
	barRight  = 190.0
)

// Bars draws horizontal bars, each group to its own scale from zero.
func Bars(title, caption string, groups []BarGroup) Figure {
	h := 8.0
	for _, g := range groups {
		h += 30 + barStep*float64(len(g.Bars))
	}
	var b canvas
	b.open(title, caption, h)
	y := 8.0
	table := &Table{Head: []string{"Figure", "Of", "Value", "Note"}}
	for _, g := range groups {
		b.text(0, y+16, "start", "group", g.Name)
		y += 26
		most := 0.0
		for _, bar := range g.Bars {
			if finite(bar.Value) {
				most = math.Max(most, bar.Value)
			}
		}
		for _, bar := range g.Bars {
			b.bar(bar, g.Unit, y, most)
			table.Rows = append(table.Rows, []string{g.Name, bar.Label, Number(bar.Value) + unit(g.Unit), bar.Note})
			y += barStep
		}
		y += 4
	}
	b.close()
	return Figure{Title: title, Caption: caption, svg: b.String(), table: table}
}

func (b *canvas) bar(bar Bar, u string, y, most float64) {
	b.text(barLeft-10, y+14, "end", "tick", bar.Label)
	long := 0.0
	if most > 0 && finite(bar.Value) && bar.Value > 0 {
		// A value too small to be seen still shows that it is there.
		long = math.Max(bar.Value/most*(width-barLeft-barRight), 1.5)
	}
	fmt.Fprintf(b, `<rect x="%s" y="%s" width="%s" height="%s" rx="2" class="fill %s"/>`,
		num(barLeft), num(y), num(long), num(barHeight), bar.Role.class())
	s := Number(bar.Value) + unit(u)
	fmt.Fprintf(b, `<text x="%s" y="%s" class="value">%s`, num(barLeft+long+8), num(y+14), esc(s))
	if bar.Note != "" {
		fmt.Fprintf(b, `<tspan class="note" dx="8">%s</tspan>`, esc(bar.Note))
	}
	b.WriteString("</text>")
}

// Interval is an estimate with its interval, against a margin that counts as
// none. Where the margin's ends are equal it is a line: no difference.
type Interval struct {
	Label                string
	Low, Estimate, High  float64
	MarginLow, MarginTop float64
	Unit                 string
	// Inside says that the interval lies within the margin.
	Inside bool
	// Note is the verdict in a few words.
	Note string
}

// Intervals draws one row for each, every row to its own scale: the margin is a
// band, the interval a bar across it, the estimate a dot.
func Intervals(title, caption string, rows []Interval) Figure {
	const rowHeight = 58.0
	h := rowHeight*float64(len(rows)) + 8
	var b canvas
	b.open(title, caption, h)
	table := &Table{Head: []string{"What", "Estimate", "Interval", "Margin", "Note"}}
	for i, r := range rows {
		b.interval(r, 8+rowHeight*float64(i))
		u := unit(r.Unit)
		table.Rows = append(table.Rows, []string{
			r.Label, Number(r.Estimate) + u, Number(r.Low) + " to " + Number(r.High) + u,
			Number(r.MarginLow) + " to " + Number(r.MarginTop) + u, r.Note,
		})
	}
	b.close()
	return Figure{Title: title, Caption: caption, svg: b.String(), table: table}
}

func (b *canvas) interval(r Interval, y float64) {
	margin := r.MarginTop - r.MarginLow
	low, high := r.MarginLow-0.35*margin, r.MarginTop+0.35*margin
	for _, v := range []float64{r.Low, r.Estimate, r.High} {
		if finite(v) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	if !finite(low) || !finite(high) || !(high > low) {
		low, high = 0, 1
	}
	pad := (high - low) * 0.04
	x := axis{low: low - pad, high: high + pad, from: barLeft, to: width - barRight}
	mid := y + 18
	b.text(barLeft-10, mid+4, "end", "tick", r.Label)
	b.line(x.from, mid, x.to, mid, "axis")
	m1, m2 := x.position(r.MarginLow), x.position(r.MarginTop)
	if r.MarginLow == r.MarginTop { // a single value to be left of or right of
		b.line(m1, mid-15, m1, mid+15, "axis")
		b.text(m1, mid+28, "middle", "tick", Number(r.MarginLow)+unit(r.Unit))
	} else {
		fmt.Fprintf(b, `<rect x="%s" y="%s" width="%s" height="28" class="margin"/>`, num(m1), num(mid-14), num(math.Max(m2-m1, 1)))
		b.text(m1, mid+28, "middle", "tick", Number(r.MarginLow)+unit(r.Unit))
		b.text(m2, mid+28, "middle", "tick", Number(r.MarginTop)+unit(r.Unit))
	}
	class := "outside"
	if r.Inside {
		class = "inside"
	}
	if finite(r.Low) && finite(r.High) {
		l, h := x.position(r.Low), x.position(r.High)
		fmt.Fprintf(b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="interval %s"/>`, num(l), num(mid), num(h), num(mid), class)
	}
	if finite(r.Estimate) {
		fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="5" class="dot %s"/>`, num(x.position(r.Estimate)), num(mid), class)
	}
	b.text(width-barRight+12, mid+4, "start", "value", r.Note)
}
