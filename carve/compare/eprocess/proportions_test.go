package eprocess

import (
	"math"
	"math/rand/v2"
	"testing"
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
