package eprocess

import (
	"math"
	"testing"
)

// TestMoreUntilIsTheFirst: after so many more responses at the same rate the limit is
// rejected, and after one fewer it is not.
func TestMoreUntilIsTheFirst(t *testing.T) {
	for _, c := range []struct {
		n, k  int
		limit float64
	}{{0, 0, 0.5}, {0, 0, 0.002}, {500, 0, 0.002}, {1000, 2, 0.01}, {20_000, 20, 0.002}, {3, 1, 0.5}} {
		s := Share{N: c.n, Differing: c.k}
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
			high := Share{N: c.n + ahead, Differing: k}.High(0.01)
			if got := high <= c.limit+1e-14; got != want {
				t.Errorf("%+v: %d more of %d bring the bound to %v", c, ahead, more, high)
			}
		}
	}
	if (Share{N: 5000}).MoreUntil(0.01, 0.002) != 0 {
		t.Error("a bound that holds already needs more")
	}
	if f := (Share{N: 100, Differing: 1}); f.MoreUntil(0.01, 0.01) != -1 || f.MoreUntil(0.01, 0.009) != -1 {
		t.Error("a rate at the limit gets below it by waiting")
	}
	for limit, within := range map[float64]bool{-1: false, 0: false, 1e-14: false, 1e-11: true} {
		if more := (Share{}).MoreUntil(0.01, limit); (more >= 0) != within || more > CountMost {
			t.Errorf("a limit of %v needs %d", limit, more)
		}
	}
}

// TestNeededForIsTheFirst: so many good rounds bring the bound to p, and one fewer do
// not. A share that takes too many rounds is not waited for without end.
func TestNeededForIsTheFirst(t *testing.T) {
	for _, p := range []float64{0.9, 0.3, 0.01, 0.002, 1e-5} {
		n := NeededFor(p, 0.05)
		if (Share{N: n}).High(0.05) > p || (Share{N: n - 1}).High(0.05) <= p {
			t.Errorf("%v needs %d: bounds %v, one before %v", p, n, Share{N: n}.High(0.05), Share{N: n - 1}.High(0.05))
		}
	}
	for _, n := range []int{1, 2, 37, 1000} {
		if got := NeededFor(Share{N: n}.High(0.05), 0.05); got != n {
			t.Errorf("the bound of %d rounds needs %d", n, got)
		}
	}
	for p, want := range map[float64]int{1: 0, 2: 0, 0: 0, -1: 0, 1e-15: CountMost} {
		if got := NeededFor(p, 0.05); got != want {
			t.Errorf("%v needs %d, not %d", p, got, want)
		}
	}
}
