package chart

import (
	"cmp"
	"strconv"
)

// maxTableRows bounds the table next to a plot: it is there to be read.
const maxTableRows = 60

// plotTable returns a plot's figures as text: one row for each x, thinned evenly
// to maxTableRows, one column for each series.
func plotTable(p Plot) *Table {
	t := &Table{Head: []string{cmp.Or(p.XLabel, "x")}}
	var longest []Point
	for _, s := range p.Series {
		t.Head = append(t.Head, cmp.Or(s.Name, p.YLabel))
		if len(s.Points) > len(longest) {
			longest = s.Points
		}
	}
	every := (len(longest) + maxTableRows - 1) / maxTableRows
	at := make([]int, len(p.Series))
	for i := 0; i < len(longest); i += max(every, 1) {
		x := longest[i].X
		row := []string{Number(x) + unit(p.XUnit)}
		for k, s := range p.Series {
			row = append(row, valueAt(s, x, &at[k])+unit(p.YUnit))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// valueAt is the series' last value at or before x; from remembers the place.
func valueAt(s Series, x float64, from *int) string {
	for *from+1 < len(s.Points) && s.Points[*from+1].X <= x {
		*from++
	}
	if *from >= len(s.Points) || s.Points[*from].X > x {
		return "–"
	}
	return Number(s.Points[*from].Y)
}

func quantileTable(ds []Quantiles, unitName string) *Table {
	t := &Table{Head: []string{"Percentile"}}
	if len(ds) == 0 {
		return t
	}
	for _, d := range ds {
		t.Head = append(t.Head, d.Name)
	}
	for _, want := range []float64{.5, .9, .95, .99, .999} {
		row := []string{percentile(want)}
		for _, d := range ds {
			cell := "–"
			for _, q := range d.Points {
				if q.Q >= want-1e-12 {
					cell = Number(q.Value) + unit(unitName)
					break
				}
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func trimmed(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
