package eprocess

import (
	"math"
	"math/rand/v2"
	"testing"
)

// looks are the numbers of rounds at which the coverage is looked at.
func looks(n int) bool { return n < 64 || n%16 == 0 }

// Hypothesis: the interval holds the true mean at every look at once. Promised
// error rate: alpha on each side; measured over whole runs, looked at every
// round. Source: Howard and others 2021, arXiv 1810.08240.
func TestTheMeansIntervalHoldsAlways(t *testing.T) {
	const runs, rounds, alpha = 1_000, 2_000, 0.05
	for name, draw := range map[string]func(*rand.Rand) float64{
		"coins":             func(r *rand.Rand) float64 { return float64(2*r.IntN(2) - 1) },
		"small noise":       func(r *rand.Rand) float64 { return Clamp(0.05 * r.NormFloat64()) },
		"seldom and shifty": func(r *rand.Rand) float64 { return Indicator(r.IntN(20) == 0) - 0.05 },
	} {
		missed := 0
		for run := range runs {
			r := rand.New(rand.NewPCG(uint64(run), 9))
			sum, square, out := 0.0, 0.0, false
			for n := 1; n <= rounds && !out; n++ {
				g := draw(r)
				sum, square = sum+g, square+g*g
				out = looks(n) && math.Abs(sum)/float64(n) > HalfWidth(n, square, alpha)
			}
			missed += int(Indicator(out))
		}
		t.Logf("%s: missed in %d of %d runs", name, missed, runs)
		if float64(missed) > 2*alpha*runs {
			t.Errorf("%s: the interval missed in %d of %d runs, promised %v", name, missed, runs, 2*alpha)
		}
	}
}

// The same for the ratio of two magnitudes, whose true value is 1.3.
func TestTheRatiosIntervalHoldsAlways(t *testing.T) {
	const runs, rounds, alpha, truth = 300, 1_000, 0.05, 1.3
	missed, width := 0, 0.0
	for run := range runs {
		r := rand.New(rand.NewPCG(uint64(run), 10))
		var s RatioSums
		out := false
		var low, high float64
		for n := 1; n <= rounds; n++ {
			s.Add(2*truth*r.Float64(), 2*r.Float64())
			if n%50 == 0 {
				_, low, high = s.Interval(alpha)
				out = out || truth < low || truth > high
			}
		}
		missed += int(Indicator(out))
		width += (high - low) / runs
	}
	t.Logf("missed in %d of %d runs; mean width after %d rounds %.3f", missed, runs, rounds, width)
	if float64(missed) > 2*alpha*runs || width > 0.5 {
		t.Errorf("missed in %d of %d runs, width %.3f", missed, runs, width)
	}
}
