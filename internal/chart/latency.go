package chart

import "math"

// Quantiles is a latency distribution: at each quantile 0..1, rising, the
// value there.
type Quantiles struct {
	Name   string
	Role   Role
	Points []Quantile
}

// Quantile is one point of a distribution.
type Quantile struct{ Q, Value float64 }

// QuantilesOf are the points of a distribution of so many values, of which at gives the one
// at a quantile: twenty for each nine, as far into the tail as the values reach, to five.
func QuantilesOf(count int64, at func(q float64) float64) []Quantile {
	var out []Quantile
	for nines := 0.0; nines <= 5; nines += 0.05 {
		q := 1 - math.Pow(10, -nines)
		if (1-q)*float64(count) < 1 {
			break
		}
		out = append(out, Quantile{Q: q, Value: at(q)})
	}
	return out
}

// Distribution plots latency over the percentiles on a scale that gives the
// slowest tenth, hundredth and thousandth equal room, and latency by powers
// of ten.
func Distribution(title, caption, unitName string, ds []Quantiles) Figure {
	p := Plot{Title: title, Caption: caption, XLabel: "percentile of requests", YLabel: "latency", YUnit: unitName, LogY: true}
	most := 0.0
	for _, d := range ds {
		s := Series{Name: d.Name, Role: d.Role}
		for _, q := range d.Points {
			if q.Q < 0 || q.Q >= 1 || !finite(q.Value) {
				continue
			}
			s.Points = append(s.Points, Point{tail(q.Q), q.Value})
			most = math.Max(most, tail(q.Q))
		}
		p.Series = append(p.Series, s)
	}
	return p.draw(axis{low: 0, high: math.Max(most, 1)}, logAxis(positive(p.Series)), quantileTable(ds, unitName), func(b *canvas, xs axis) {
		for _, q := range []float64{0, .5, .9, .99, .999, .9999, .99999} {
			if t := tail(q); t <= xs.high+1e-9 {
				at := xs.position(t)
				b.line(at, top, at, height-bottom, "grid")
				b.text(at, height-bottom+18, "middle", "tick", percentile(q))
			}
		}
	})
}

// tail counts the nines of a quantile: 0.9 is 1, 0.99 is 2.
func tail(q float64) float64 { return -math.Log10(1 - q) }

func percentile(q float64) string {
	if q == 0 {
		return "min"
	}
	return "p" + Percent(q)
}

// Percent writes a share of 1 as a percentage without the sign: 0.999 is 99.9.
func Percent(q float64) string {
	s := math.Round(q*1e8) / 1e6
	return trimmed(s)
}
