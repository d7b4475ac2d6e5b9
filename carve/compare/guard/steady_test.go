package guard

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"whittle"
	"whittle/internal/simtest"
)

// movingPairs gives a guard at a full share n compared exchanges, of which the
// share differ at places that the monolith seldom changes and that are noise. Of each
// twenty one is repeated to the monolith where own is not negative, and differs from
// itself there in the share own.
func movingPairs(g *Guard, r *rand.Rand, n int, differ, own float64) (after int) {
	for i := range n {
		p := compared(false)
		p.First, p.Steady = whittle.Candidate, r.Float64() < differ
		if p.Repeated = own >= 0 && i%20 == 0; p.Repeated {
			p.SelfSteady = r.Float64() < own
		}
		if g.Pair(p); g.Mismatch.Breached {
			return i + 1
		}
	}
	return 0
}

// TestMovingDataAreNoMismatch. Hypothesis: where no more of the compared responses
// differ at a place that the monolith seldom changes than steadyLimit allows, because
// data move between the two sides' responses, the mismatch guard is breached in at most
// 1 of 100 runs of 2,000, in each of eight worlds in at most 6: half of them where nothing was repeated, a tenth where repeats
// show the monolith to be steady, twice the monolith's own share where it is not. One that
// differs there always is found after 40 compared exchanges in 99 of 100 runs, though
// 2,000 others did not, and after 25 where the monolith is known to be steady. A correct
// implementation may show 0.1 % of alarms (simtest.Rate). Source: mismatch.
func TestMovingDataAreNoMismatch(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 21))
	fresh := func() *Guard {
		g := New(testGuard)
		g.Share(whittle.All)
		return g
	}
	type world struct{ differ, own float64 }
	worlds := map[string]world{}
	for _, w := range []world{
		{0.001, -1}, {0.2, -1}, {steadyMost, -1}, {0.001, 0.001}, {steadyLeast, 0.001}, {steadyLeast, 0.04}, {0.2, 0.1}, {0.4, 0.2},
	} {
		worlds[fmt.Sprintf("%+v", w)] = w
	}
	simtest.InTurn(t, 0.01, 0.001, 0.06, worlds, func(w world, _ int) bool {
		return movingPairs(fresh(), r, 2000, w.differ, w.own) > 0
	})
	for _, w := range []struct {
		own    float64
		within int
	}{{-1, 40}, {0.001, 25}} {
		var took []int
		for range 100 {
			g := fresh()
			movingPairs(g, r, 2000, 0.001, w.own)
			took = append(took, movingPairs(g, r, 200, 1, w.own))
		}
		t.Logf("own share %g: found after %d (%d)", w.own, simtest.Quantile(took, 0.5), simtest.Quantile(took, 0.99))
		if most := simtest.Quantile(took, 0.99); most > w.within || simtest.Quantile(took, 0) == 0 {
			t.Errorf("own share %g: found after %d", w.own, took)
		}
	}
}

// TestMirroredExchangesSayNothingOfMovingData: they may be asked long after.
func TestMirroredExchangesSayNothingOfMovingData(t *testing.T) {
	g := New(testGuard)
	g.Share(5000)
	for range 1000 {
		p := compared(false)
		p.First, p.Steady = whittle.Monolith, true
		g.Pair(p)
	}
	if g.Mismatch.Breached || g.Mismatch.Steady.Plays > 0 {
		t.Errorf("%+v", g.Mismatch.Steady)
	}
}
