// Package eprocess holds the sequential statistics that findings, bounds and
// guards stand on: tests by betting, e-processes of proportions, and
// time-uniform confidence sequences. Each guarantee holds at all times at once, under
// the conditions on the payoffs that its comment states. It is pure: numbers in,
// evidence out.
package eprocess

import (
	"math"
)

// Arms is the wealth, as logarithms, of one bet per alternative. Their average
// is the evidence: an average of e-processes is one, whichever alternative is
// near the truth, at a price of the logarithm of their number.
type Arms [len(near) + len(far)]float64

// near are how far the alternatives lie above a limit, as parts of it, where small excesses are
// learnt in the end, and far as rates, where a broken candidate is learnt at once.
var (
	near = [...]float64{0.3, 1}
	far  = [...]float64{0.005, 0.02, 0.06, 0.2, 0.5, LimitMost}
)

// LimitMost is a limit from which no share of bad responses says anything: the alternatives end
// there.
const LimitMost = 0.95

// alternative gives the rate that arm i bets on when the null allows up to
// limit.
func alternative(i int, limit float64) float64 {
	p := limit
	if i < len(near) {
		p += near[i] * limit
	} else {
		p += far[i-len(near)]
	}
	if p <= LimitMost {
		return p
	}
	return limit + LimitMost*(1-limit)
}

// clampRate keeps a rate away from 0 and 1, where a logarithm has no value.
func clampRate(p float64) float64 { return min(max(p, 1e-9), 1-1e-9) }

// Single multiplies in bad and good responses of one side.
//
// Hypothesis: each response is bad with a probability of at most limit, given
// the past. Each factor p*/limit for bad, (1−p*)/(1−limit) for good has an
// expectation of at most 1 then, since it grows with the probability and is 1
// at the limit; so the product is a nonnegative supermartingale, and
// P(ever ≥ 1/α) ≤ α (Ville's inequality).
func (a *Arms) Single(limit float64, bad, good int) {
	q := clampRate(limit)
	for i := range a {
		p := alternative(i, q)
		a[i] += float64(bad)*math.Log(p/q) + float64(good)*math.Log((1-p)/(1-q))
	}
}

// Block multiplies in one block of two samples: so many of the monolith's
// responses and so many of the candidate's, over the same time. The odds must
// have been made from the past alone, for blocks of this size; the guess at the
// monolith's rate in them steers the power and not the validity.
//
// Hypothesis: within the block the candidate's mean probability of a bad
// response is at most the monolith's plus slack.
//
// Source: the e-variable of Turner, Ly & Grünwald (arXiv 2106.02693): the
// likelihood ratio of the alternative (a, b) and its Kullback–Leibler
// projection (p, p+slack) on the hypothesis. Its expectation at the true rates
// (u, v) is A(u)^m·B(v)^c with A and B linear; the logarithm is concave in
// (u, v), is 0 at the projection, and cannot rise from there into the
// hypothesis, because the projection minimises the divergence over a convex
// set. Hence it is at most 1, and by the same concavity it stays at most 1
// where the rates move within the block and only their means keep to the
// hypothesis. Blocks multiply, so the rates may drift from block to block.
func (a *Arms) Block(o *Odds, mBad, mGood, cBad, cGood int) {
	for i := range a {
		f := &o.factors[i]
		a[i] += float64(mBad)*f[0] + float64(mGood)*f[1] + float64(cBad)*f[2] + float64(cGood)*f[3]
	}
}

// Odds are the logarithms by which a block's responses change each arm's wealth:
// for a bad and a good response of the monolith, and of the candidate.
type Odds struct{ factors [len(Arms{})][4]float64 }

// NewOdds finds the odds of blocks of m responses of the monolith and c of the
// candidate, by a guess at the monolith's rate. An arm whose alternative the
// hypothesis allows at that rate, as it does with a slack that leaves little above
// it, has nothing to bet on: its odds are 0.
func NewOdds(guess, slack float64, m, c int) *Odds {
	var o Odds
	guess = min(max(guess, 1e-4), 0.9)
	limit := min(guess+slack, 0.98)
	for i := range o.factors {
		v := alternative(i, limit)
		if v-slack <= guess {
			continue
		}
		p := project(guess, v, slack, float64(m), float64(c))
		q := p + slack
		o.factors[i] = [4]float64{
			math.Log(guess / p), math.Log((1 - guess) / (1 - p)), math.Log(v / q), math.Log((1 - v) / (1 - q)),
		}
	}
	return &o
}

// project finds the p in (u, v−slack) that minimises m·KL(u‖p) + c·KL(v‖p+slack):
// the zero of the derivative, which rises with p.
func project(u, v, slack, m, c float64) float64 {
	low, high := u, v-slack
	for range 32 {
		p := (low + high) / 2
		q := p + slack
		if m*(p-u)/(p*(1-p))+c*(q-v)/(q*(1-q)) < 0 {
			low = p
		} else {
			high = p
		}
	}
	return (low + high) / 2
}

// LogEValue is the logarithm of the average wealth.
func (a *Arms) LogEValue() float64 {
	top := a[0]
	for _, l := range a[1:] {
		top = max(top, l)
	}
	sum := 0.0
	for _, l := range a {
		sum += math.Exp(l - top)
	}
	return top + math.Log(sum/float64(len(a)))
}
