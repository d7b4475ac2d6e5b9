package guard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// reorderedRoute plays pairs of equal services, in which what is asked second takes second
// times as long.
type reorderedRoute struct {
	g             *Guard
	r             *rand.Rand
	sigma, second float64
	requests      int
}

func (t *reorderedRoute) latency(factor float64) time.Duration {
	return time.Duration(10e6 * factor * math.Exp(t.sigma*t.r.NormFloat64()))
}

// breached plays n requests at a share.
func (t *reorderedRoute) breached(n int, share whittle.Share) bool {
	t.g.Share(share)
	for range n {
		t.requests++
		first, own, other := whittle.Monolith, t.second, 1.0
		if t.r.IntN(int(whittle.All)) < int(share) {
			first, own, other = whittle.Candidate, 1, t.second
		}
		c := outcome(t.requests, whittle.Candidate, 200, t.latency(own))
		m := outcome(t.requests, whittle.Monolith, 200, t.latency(other))
		if first == whittle.Monolith {
			t.g.Outcome(m)
		}
		t.g.Pair(whittle.Pair{User: uint64(t.requests), At: c.At, First: first, Monolith: m, Candidate: c})
		if t.g.Slow.Breached {
			return true
		}
	}
	return false
}

// TestTheOrderMayMatterMore: of equal candidates, at most 1 in 100 is rolled back where
// being asked second begins to cost several times as much, or as little, in the middle of
// a shift, as on a machine that becomes busy or with a cache that becomes cold; in each
// world by itself at most 6. A correct implementation may show 0.05 % (simtest.Rate).
func TestTheOrderMayMatterMore(t *testing.T) {
	t.Parallel()
	type world struct {
		share         whittle.Share
		sigma, second float64
	}
	worlds := map[string]world{}
	for _, share := range []whittle.Share{100, 500} {
		for _, sigma := range []float64{0.3, 0.8} {
			for _, second := range []float64{0.25, 3, 6} {
				w := world{share, sigma, second}
				worlds[fmt.Sprint(w)] = w
			}
		}
	}
	simtest.InTurn(t, 0.01, 0.0005, 0.06, worlds, func(w world, run int) bool {
		route := &reorderedRoute{g: New(testGuard), r: rand.New(rand.NewPCG(uint64(run), 99)), sigma: w.sigma, second: 1}
		if route.breached(500, 0) || route.breached(3000, w.share) {
			return true
		}
		route.second = w.second
		return route.breached(1500, w.share)
	})
}
