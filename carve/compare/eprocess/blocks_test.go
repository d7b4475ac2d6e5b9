package eprocess

import (
	"math"
	"testing"
)

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
