package distribution

import (
	"math/rand/v2"
	"testing"

	"whittle/carve/compare/eprocess"
)

// The distance between two distributions, whose true value is 0.15 at the middle.
func TestTheDistancesIntervalHoldsAlways(t *testing.T) {
	const runs, rounds, alpha, truth = 300, 1_500, 0.025, 0.15
	missed := 0
	for run := range runs {
		r := rand.New(rand.NewPCG(uint64(run), 12))
		var s distances
		out := false
		for n := 1; n <= rounds; n++ {
			x, y := r.IntN(borders+1), r.IntN(borders+1)
			if r.Float64() < 2*truth {
				y /= 2
			}
			s.see(x, y, alpha, n)
			if n%50 == 0 {
				_, low, high := s.interval(alpha)
				out = out || truth < low || truth > high
			}
		}
		missed += int(eprocess.Indicator(out))
	}
	t.Logf("missed in %d of %d runs", missed, runs)
	if float64(missed) > 2*alpha*runs {
		t.Errorf("missed in %d of %d runs", missed, runs)
	}
}
