package eprocess

import (
	"math"
	"math/rand/v2"
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

// TestPayoffsMissing: none where the interval is within the margin, whichever way the payoffs lie,
// and -1 where no number of them can bring it there.
func TestPayoffsMissing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	p := Payoffs{}
	for range 500 {
		p.Add(0.1 + 0.5*(2*r.Float64()-1))
	}
	low, high := p.Interval(0.01)
	other := Payoffs{p.N, -p.Sum, p.Squares}
	for _, c := range []struct {
		p      Payoffs
		margin float64
		want   int
	}{
		{p, max(-low, high), 0},
		{other, max(-low, high), 0},
		{Payoffs{}, 0.5, -1},
		{p, 1e-9, -1},
		{Payoffs{1000, 500, 250}, 0.4, -1},
		{Payoffs{1000, -500, 250}, 0.4, -1},
		{Payoffs{1000, 0, 250}, 1e-9, -1},
	} {
		if got := c.p.Missing(0.01, c.margin); got != c.want {
			t.Errorf("%+v into %v: %d more, want %d", c.p, c.margin, got, c.want)
		}
	}
}

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
