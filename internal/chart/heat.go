package chart

import (
	"fmt"
	"math"
)

// HeatRow is one row of a heat map: a part 0 to 1 for each column, NaN where
// there is none.
type HeatRow struct {
	Name   string
	Values []float64
}

// The rows and columns drawn at most; columns beyond are averaged.
const (
	maxHeatRows    = 64
	maxHeatColumns = 120
	heatLabel      = 72.0
)

// Heat draws rows of cells over from..to of xUnit, the fuller the stronger: how
// busy each core was when. Rows beyond 64 are left out.
func Heat(title, caption, xLabel, xUnit string, from, to float64, rows []HeatRow) Figure {
	rows = rows[:min(len(rows), maxHeatRows)]
	tall := 16.0
	if len(rows) > 16 {
		tall = 8
	}
	h := top + tall*float64(len(rows)) + bottom
	var b canvas
	b.open(title, caption, width, h)
	x := fixedAxis(from, to)
	x.from, x.to = heatLabel, width-right
	t := &Table{Head: []string{"Row", "Average", "Most"}}
	for i, r := range rows {
		y := top + tall*float64(i)
		if tall >= 12 || i%4 == 0 {
			b.text(heatLabel-8, y+tall/2+4, "end", "tick", r.Name)
		}
		mean, most := b.heatRow(r.Values, y, tall-1, x)
		t.Rows = append(t.Rows, []string{r.Name, Number(mean*100) + "%", Number(most*100) + "%"})
	}
	base := top + tall*float64(len(rows))
	for _, tick := range x.ticks {
		at := x.position(tick)
		b.line(at, base, at, base+4, "axis")
		b.text(at, base+18, "middle", "tick", Number(tick)+unit(xUnit))
	}
	b.text((heatLabel+width-right)/2, h-6, "middle", "label", xLabel)
	b.heatKey()
	b.close()
	return Figure{Title: title, Caption: caption, svg: b.String(), table: t}
}

// heatRow draws one row and gives its mean and its greatest value. Neighbours
// of one strength are one cell.
func (b *canvas) heatRow(values []float64, y, tall float64, x axis) (mean, most float64) {
	fmt.Fprintf(b, `<rect x="%s" y="%s" width="%s" height="%s" class="fill neutral" fill-opacity=".08"/>`, num(x.from), num(y), num(x.to-x.from), num(tall))
	cells := squeeze(values)
	wide := (x.to - x.from) / float64(max(len(cells), 1))
	strength := func(i int) float64 {
		if v := cells[i]; v > 0 { // not for NaN
			return math.Round(math.Min(v, 1)*20) / 20
		}
		return 0
	}
	n := 0.0
	for _, v := range values {
		if finite(v) {
			mean, n, most = mean+v, n+1, math.Max(most, v)
		}
	}
	for i := 0; i < len(cells); {
		end := i + 1
		for end < len(cells) && strength(end) == strength(i) {
			end++
		}
		if s := strength(i); s > 0 {
			fmt.Fprintf(b, `<rect x="%s" y="%s" width="%s" height="%s" class="fill monolith" fill-opacity="%s"/>`,
				num(x.from+float64(i)*wide), num(y), num(float64(end-i)*wide), num(tall), trimmed(s))
		}
		i = end
	}
	return mean / math.Max(n, 1), most
}

// squeeze averages columns until there are few enough.
func squeeze(values []float64) []float64 {
	every := (len(values) + maxHeatColumns - 1) / maxHeatColumns
	if every <= 1 {
		return values
	}
	var out []float64
	for i := 0; i < len(values); i += every {
		sum, n := 0.0, 0.0
		for _, v := range values[i:min(i+every, len(values))] {
			if finite(v) {
				sum, n = sum+v, n+1
			}
		}
		out = append(out, sum/math.Max(n, 1))
	}
	return out
}

// heatKey shows what the strengths mean, above the map.
func (b *canvas) heatKey() {
	b.text(heatLabel, 16, "start", "tick", "idle")
	for i := range 5 {
		fmt.Fprintf(b, `<rect x="%s" y="6" width="22" height="12" class="fill monolith" fill-opacity="%s"/>`,
			num(heatLabel+30+float64(i)*22), trimmed(.1+.225*float64(i)))
	}
	b.text(heatLabel+146, 16, "start", "tick", "busy all the time")
}
