package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

func BenchmarkMatch(b *testing.B) {
	m := matchOf(b, testMatch)
	x := exchange(comparetest.Orders(50, false), comparetest.Orders(50, true))
	b.ReportAllocs()
	for b.Loop() {
		m.Observe(x)
	}
}

// BenchmarkMatchOfNoise compares bodies of which a part is made anew: an id, a time, a number,
// and a list of ten advertisements, with an address that has a random state.
func BenchmarkMatchOfNoise(b *testing.B) {
	j, err := NewJudge(whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, AllHeaders: true, Confidence: 0.99})
	fatal.If(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	orders := comparetest.Orders(20, false)
	say := func(now time.Time) whittle.Response {
		var list []string
		for range 10 {
			k := r.IntN(30)
			list = append(list, fmt.Sprintf(`{"id":"a%04d","title":"Title %d","price":%d.50}`, k, k, k))
		}
		body := fmt.Sprintf(`{"id":"%016x","at":%q,"took":%d,"ads":[%s],"orders":%s}`, r.Uint64(), now.Format(time.RFC3339), 30+r.IntN(90), strings.Join(list, ","), orders)
		return whittle.Response{Status: 200, Body: []byte(body), Header: whittle.Header{"Content-Type": {"application/json"}, "X-Nonce": {fmt.Sprintf("%016x", r.Uint64())}}}
	}
	var list []*whittle.Exchange
	for i := range 400 {
		now := simtest.Start.Add(time.Duration(i) * 50 * time.Millisecond)
		x := &whittle.Exchange{At: now, User: uint64(r.IntN(50)), Request: whittle.Request{Method: "GET", Target: fmt.Sprintf("/x/%d", r.IntN(30))}, Monolith: say(now), Candidate: say(now)}
		if i%20 == 9 {
			x.Repeat = new(say(now))
		}
		list = append(list, x)
	}
	for _, x := range list {
		j.Observe(x)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		j.Observe(list[i%len(list)])
	}
}

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
