package distribution

import (
	"math/rand/v2"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
)

// BenchmarkEprocesses is the statistics alone, without reading the numbers.
func BenchmarkEprocesses(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	type row struct {
		per  float64
		x, y float64
	}
	rows := make([]row, 1_024)
	for i := range rows {
		p := comparetest.DrawTimes(r, i)
		x := comparetest.MonolithCount(r, p)
		y := comparetest.MonolithCount(r, p)
		rows[i] = row{p, x, y}
	}
	s, err := New(whittle.Comparison{
		Kind: whittle.Statistical, Per: "request.times", Confidence: 0.99,
	}, testAlpha)
	if err != nil {
		b.Fatal(err)
	}
	x := &whittle.Exchange{}
	b.ReportAllocs()
	for i := range b.N {
		q := &rows[i%len(rows)]
		s.weigh(x, q.per, q.x, q.y)
	}
}
