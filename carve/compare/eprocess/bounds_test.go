package eprocess

import (
	"math"
	"testing"
)

// choose is the logarithm of n over k.
func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// TestMoreUntilIsTheFirst: after so many more responses at the same rate the limit is
// rejected, and after one fewer it is not.
func TestMoreUntilIsTheFirst(t *testing.T) {
	for _, c := range []struct {
		n, k  int
		limit float64
	}{{0, 0, 0.5}, {0, 0, 0.002}, {500, 0, 0.002}, {1000, 2, 0.01}, {20_000, 20, 0.002}, {3, 1, 0.5}} {
		s := Share{N: c.n, Differing: c.k, b: 125}
		more := s.MoreUntil(0.01, c.limit)
		if more <= 0 {
			t.Errorf("%+v: %d more", c, more)
		}
		for ahead, want := range map[int]bool{more: true, more - 1: false} {
			if ahead < 0 {
				continue
			}
			k := c.k
			if c.n > 0 {
				k += int(math.Round(float64(c.k) / float64(c.n) * float64(ahead)))
			}
			f := Share{N: c.n + ahead, Differing: k, b: s.b}
			_, high := f.Interval(0.01)
			if got := high <= c.limit+1e-14; got != want {
				t.Errorf("%+v: %d more of %d bring the bound to %v", c, ahead, more, high)
			}
		}
	}
	s := NewShare(0.002)
	s.N = 5000
	if s.MoreUntil(0.01, 0.002) != 0 {
		t.Error("a bound that holds already needs more")
	}
	if f := (Share{N: 100, Differing: 1, b: 125}); f.MoreUntil(0.01, 0.01) != -1 || f.MoreUntil(0.01, 0.009) != -1 {
		t.Error("a rate at the limit gets below it by waiting")
	}
	for limit, within := range map[float64]bool{-1: false, 0: false, 1e-14: false, 1e-11: true} {
		if more := (&Share{b: 125}).MoreUntil(0.01, limit); (more >= 0) != within || more > 1<<40 {
			t.Errorf("a limit of %v needs %d", limit, more)
		}
	}
}

// TestUpperRateIsClopperPearson: at the bound, so few bad responses or fewer come with
// a chance of beta.
func TestUpperRateIsClopperPearson(t *testing.T) {
	for _, c := range []struct {
		bad, n int
		beta   float64
	}{{0, 10, 0.05}, {3, 10, 0.05}, {3, 10, 0.01}, {3, 40, 0.01}, {9, 10, 0.05}, {9, 10, 0.05}, {0, 10, 0.05}, {5, 5, 0.1}, {6, 5, 0.1}, {1, 0, 0.1}} {
		p := UpperRate(c.bad, c.n, c.beta)
		if c.bad >= c.n {
			if p != 1 {
				t.Errorf("%+v: bounded by %v", c, p)
			}
			continue
		}
		chance := 0.0
		for k := range c.bad + 1 {
			chance += math.Exp(choose(c.n, k) + float64(k)*math.Log(p) + float64(c.n-k)*math.Log1p(-p))
		}
		if !isNear(chance, c.beta, 1e-6) {
			t.Errorf("%+v: %v, of which the chance is %v", c, p, chance)
		}
	}
}

// TestNeededForIsTheFirst: so many good rounds bring the bound to p, and one fewer do
// not. A share that takes too many rounds is not waited for without end.
func TestNeededForIsTheFirst(t *testing.T) {
	for _, p := range []float64{0.9, 0.3, 0.01, 0.002, 1e-5} {
		n := NeededFor(p, 0.05)
		if ShareBound(0, n, 0.05) > p || ShareBound(0, n-1, 0.05) <= p {
			t.Errorf("%v needs %d: bounds %v, one before %v", p, n, ShareBound(0, n, 0.05), ShareBound(0, n-1, 0.05))
		}
	}
	for _, n := range []int{1, 2, 37, 1000} {
		if got := NeededFor(ShareBound(0, n, 0.05), 0.05); got != n {
			t.Errorf("the bound of %d rounds needs %d", n, got)
		}
	}
	for p, want := range map[float64]int{1: 0, 2: 0, 0: 0, -1: 0, 1e-12: 1 << 30} {
		if got := NeededFor(p, 0.05); got != want {
			t.Errorf("%v needs %d, not %d", p, got, want)
		}
	}
}
