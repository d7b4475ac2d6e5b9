package compare

import (
	"math/rand/v2"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
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
		times := comparetest.DrawTimes(r, i)
		list[i] = countExchange(i, times, comparetest.MonolithCount(r, times), comparetest.MonolithCount(r, times))
	}
	j := judgeOf(b, countRoute())
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		step(j, list[i%len(list)])
	}
}
