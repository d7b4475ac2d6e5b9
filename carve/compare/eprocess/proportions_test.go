package eprocess

import (
	"math"
	"math/rand/v2"
	"testing"

	"whittle/internal/fatal"
)

// TestBlockIsFair: no rates within the hypothesis, however they move within
// the block, give a block an expectation above 1. The expectation is exact,
// a product over the responses.
func TestBlockIsFair(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		m, c := 1+r.IntN(64), 1+r.IntN(32)
		slack := []float64{0, 0.001, 0.01, 0.1, 0.2, 0.9}[r.IntN(6)]
		o := NewOdds(math.Exp(-9*r.Float64()), slack, m, c)
		monolith, candidate := rates(r, m), rates(r, c)
		// Bring the candidate's mean down to the limit where it is above it.
		if over := mean(candidate) / (mean(monolith) + slack); over > 1 {
			for i := range candidate {
				candidate[i] /= over
			}
		}
		for arm := range o.factors {
			f := o.factors[arm]
			e := 1.0
			for _, p := range monolith {
				e *= p*math.Exp(f[0]) + (1-p)*math.Exp(f[1])
			}
			for _, p := range candidate {
				e *= p*math.Exp(f[2]) + (1-p)*math.Exp(f[3])
			}
			if !(e <= 1+1e-6) {
				t.Fatalf("arm %d of %d:%d responses, slack %v, rates %.3g and %.3g: expectation %v",
					arm, m, c, slack, mean(monolith), mean(candidate), e)
			}
		}
	}
}

func rates(r *rand.Rand, n int) []float64 {
	list := make([]float64, n)
	scale, even := math.Exp(-6*r.Float64()), r.IntN(2) == 0
	for i := range list {
		list[i] = scale
		if !even {
			list[i] *= r.Float64()
		}
	}
	return list
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// TestShareCovers: the interval, read after every response, ever leaves out the
// true rate in at most 1 of 100 runs.
func TestShareCovers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	for _, p := range []float64{0.0005, 0.001, 0.01, 0.3} {
		const runs = 1000
		missed := 0
		for range runs {
			var s Share
			for range 1000 {
				s.N++
				if r.Float64() < p {
					s.Differing++
				}
				// The true rate is within where the ratio at it is below 1/alpha.
				if s.Rejects(p, 0.01) {
					missed++
					break
				}
			}
		}
		// Three standard deviations of a count whose expectation is runs/100.
		if float64(missed) > runs/100+3*math.Sqrt(runs/100) {
			t.Errorf("rate %v: left out in %d of %d runs", p, missed, runs)
		}
	}
}

func TestShareInterval(t *testing.T) {
	ends := func(n, k int) (low, high float64) {
		s := Share{n, k}
		return s.Low(0.01), s.High(0.01)
	}
	if low, high := ends(0, 0); low != 0 || high != 1 {
		t.Errorf("nothing seen: %v to %v", low, high)
	}
	last := 1.0
	for _, n := range []int{1, 10, 100, 1000, 10_000} {
		low, high := ends(n, 0)
		if low != 0 || high >= last {
			t.Errorf("0 of %d: %v to %v after %v", n, low, high, last)
		}
		last = high
	}
	if b := (Share{N: 3000}).High(0.05); b > 0.002 {
		t.Errorf("0 of 3,000 bounds the share by %v, want less than 0.2 %%", b)
	}
	if low, high := ends(1000, 100); low < 0.06 || low > 0.09 || high < 0.11 || high > 0.15 {
		t.Errorf("100 of 1,000: %v to %v", low, high)
	}
	if low, high := ends(50, 50); low < 0.8 || high != 1 {
		t.Errorf("50 of 50: %v to %v", low, high)
	}
}

func isNear(a, b, within float64) bool { return math.Abs(a-b) <= within*max(1, math.Abs(b)) }

// TestOddsAreAProjection holds a block's odds to what makes them fair: they are the
// ratios of the guess to p and of an alternative to p+slack, where p is the rate
// between them that comes nearest to both, by the divergence of all responses. An
// alternative that the hypothesis allows has none.
func TestOddsAreAProjection(t *testing.T) {
	for _, c := range []struct {
		guess, slack float64
		m, c         int
	}{{0.001, 0, 10, 10}, {0.001, 0.01, 64, 3}, {0.2, 0.002, 1, 30}, {0.9, 0.05, 7, 7}, {0.9, 0.09, 3, 9}, {0.9, 0.2, 20, 5}, {0.3, 0.9, 1, 1}, {1e-4, 0.2, 50, 50}} {
		o := NewOdds(c.guess, c.slack, c.m, c.c)
		limit := min(c.guess+c.slack, 0.98)
		for i, f := range o.factors {
			v := alternative(i, limit)
			if none := f == [4]float64{}; none != (v <= c.guess+c.slack) {
				t.Errorf("%+v, arm %d: bets on %v: %v", c, i, v, !none)
			} else if none {
				continue
			}
			p := c.guess / math.Exp(f[0])
			if !isNear((1-c.guess)/math.Exp(f[1]), 1-p, 1e-9) {
				t.Errorf("%+v, arm %d: the monolith's odds are of no one rate", c, i)
			}
			if q := v / math.Exp(f[2]); !isNear(q, p+c.slack, 1e-9) || !isNear((1-v)/math.Exp(f[3]), 1-q, 1e-9) {
				t.Errorf("%+v, arm %d: the candidate's odds are of %v, not of %v", c, i, q, p+c.slack)
			}
			far := func(p float64) float64 {
				kl := func(a, b float64) float64 { return a*math.Log(a/b) + (1-a)*math.Log((1-a)/(1-b)) }
				return float64(c.m)*kl(c.guess, p) + float64(c.c)*kl(v, p+c.slack)
			}
			low, high := c.guess, v-c.slack
			if p < low-1e-9 || p > high+1e-9 {
				t.Errorf("%+v, arm %d: %v is not within %v and %v", c, i, p, low, high)
			}
			for step := range 101 {
				if at := low + (high-low)*float64(step)/100; far(at) < far(p)-1e-9 {
					t.Errorf("%+v, arm %d: %v is farther than %v", c, i, p, at)
				}
			}
		}
	}
}

// TestBlocksWake: a candidate that breaks after a long good past is found by a wealth
// that has lost no more than about the logarithm of that past.
func TestBlocksWake(t *testing.T) {
	odds := NewOdds(0.001, 0.01, 10, 1)
	var fresh, late Blocks
	for range 20_000 {
		late.Play(odds, Share{N: 10}, Share{N: 1})
	}
	need := func(b *Blocks) (n int) {
		for ; b.EValue() < 1e8; n++ {
			b.Play(odds, Share{N: 10}, Share{N: 1, Differing: 1})
		}
		return n
	}
	if soon, then := need(&fresh), need(&late); then > soon+10 {
		t.Errorf("%d bad responses after a good past, %d at once", then, soon)
	}
}

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
			fatal.Same(t, high <= c.limit+1e-14, want, "%+v: %d more of %d bring the bound to %v", c, ahead, more, high)
		}
	}
	fatal.Same(t, (Share{N: 5000}).MoreUntil(0.01, 0.002), 0, "a bound that holds already needs more")
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
		fatal.Same(t, NeededFor(Share{N: n}.High(0.05), 0.05), n, "what the bound of %d rounds needs", n)
	}
	for p, want := range map[float64]int{1: 0, 2: 0, 0: 0, -1: 0, 1e-15: CountMost} {
		fatal.Same(t, NeededFor(p, 0.05), want, "%v needs", p)
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
		fatal.Same(t, c.p.Missing(0.01, c.margin), c.want, "%+v into %v", c.p, c.margin)
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
