package compare

import (
	"math/rand/v2"
	"testing"

	"whittle"
)

func BenchmarkObserveStatistical(b *testing.B) {
	benchmarkStatistical(b, func(j *Judge, x *whittle.Exchange) { j.Observe(x) })
}

// BenchmarkVerdictStatistical is one exchange and the verdict after it.
func BenchmarkVerdictStatistical(b *testing.B) {
	benchmarkStatistical(b, func(j *Judge, x *whittle.Exchange) {
		j.Observe(x)
		j.Verdict()
	})
}

func benchmarkStatistical(b *testing.B, step func(*Judge, *whittle.Exchange)) {
	r := rand.New(rand.NewPCG(1, 1))
	list := make([]*whittle.Exchange, 1_024)
	for i := range list {
		times := drawTimes(r, i)
		list[i] = countExchange(i, times, monolithCount(r, times), monolithCount(r, times))
	}
	j := newCountJudge(b, countRoute())
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		step(j, list[i%len(list)])
	}
}

// BenchmarkEprocesses is the statistics alone, without reading the numbers.
func BenchmarkEprocesses(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	type row struct {
		per  float64
		x, y number
	}
	rows := make([]row, 1_024)
	for i := range rows {
		p := drawTimes(r, i)
		x, _ := ofFloat(monolithCount(r, p))
		y, _ := ofFloat(monolithCount(r, p))
		rows[i] = row{p, x, y}
	}
	s, err := newStatistical(countRoute())
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
