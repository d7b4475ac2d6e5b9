package compare

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// byLuck is how likely a correct implementation may be to fail a test of a rate, if
// its seeds were drawn anew.
const byLuck = 1e-6

// atMost holds an error rate that comments and docs state: of n runs no more than that
// share may have gone wrong. own is the rate that a correct implementation has, which is
// lower, since Ville's inequality is seldom sharp; it is one that simulations have
// shown. The count k of its runs that go wrong is binomial(n, own), so it fails with a
// chance of P(k > stated·n), which must be below byLuck: else the runs are too few to
// assert the rate.
func atMost(t testing.TB, what string, bad, n int, stated, own float64) {
	t.Helper()
	most := int(math.Floor(stated*float64(n) + 1e-9))
	if bad > most {
		t.Errorf("%s: %d of %d runs, stated are at most %d (%v %%)", what, bad, n, most, 100*stated)
	}
	if p := tail(most, n, own); p > byLuck {
		t.Errorf("%s: of %d runs a correct implementation (%v %%) fails with a chance of %.1g: too few runs for %v %%", what, n, 100*own, p, 100*stated)
	}
}

// atLeast is atMost of the runs that did not show what they should: a correct
// implementation misses in the share own.
func atLeast(t testing.TB, what string, good, n int, stated, own float64) {
	t.Helper()
	atMost(t, what+", not shown", n-good, n, 1-stated, own)
}

// tail is the chance that more than k of n events come that each have the chance p:
// I_p(k+1, n−k).
func tail(k, n int, p float64) float64 {
	if k >= n {
		return 0
	}
	return mathext.RegIncBeta(float64(k+1), float64(n-k), p)
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		k, n int
		p    float64
		want float64
	}{{0, 10, 0.1, 1 - math.Pow(0.9, 10)}, {9, 10, 0.5, math.Pow(0.5, 10)}, {10, 10, 0.5, 0}} {
		if got := tail(c.k, c.n, c.p); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("more than %d of %d at %v: %v, want %v", c.k, c.n, c.p, got, c.want)
		}
	}
}
