// Package eprocess holds the sequential statistics that findings, bounds and
// guards stand on: tests by betting, e-processes of proportions, and
// time-uniform confidence sequences. Each guarantee holds at all times at once, under
// the conditions on the payoffs that its comment states. It is pure: numbers in,
// evidence out.
package eprocess

import (
	"math"
)

// armCount is how many alternatives a proportion test bets on at once.
const armCount = 8

// Arms is the wealth, as logarithms, of one bet per alternative. Their average
// is the evidence: an average of e-processes is one, whichever alternative is
// near the truth, at a price of log(armCount).
type Arms [armCount]float64

// alternative gives the rate that arm i bets on when the null allows up to
// limit. The arms lie close to the limit, where small excesses are learnt in
// the end, and far from it, where a broken candidate is learnt at once.
func alternative(i int, limit float64) float64 {
	steps := [armCount]float64{0.3 * limit, limit, 0.005, 0.02, 0.06, 0.2, 0.5, 0.95}
	if p := limit + steps[i]; p <= 0.95 {
		return p
	}
	return limit + 0.95*(1-limit)
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
	var f FixedOdds
	a.Against(f.At(limit), bad, good)
}

// Against is single with the odds of its limit.
func (a *Arms) Against(f *FixedOdds, bad, good int) {
	for i := range a {
		a[i] += float64(bad)*f.bad[i] + float64(good)*f.good[i]
	}
}

// FixedOdds are the logarithms by which a bad and a good response change each arm's
// wealth against a limit. They cost more than the rest of a bet, so they are kept
// while the limit stays. The zero value is ready.
type FixedOdds struct {
	limit     float64
	bad, good [armCount]float64
}

// At gives the odds of a limit.
func (f *FixedOdds) At(limit float64) *FixedOdds {
	q := clampRate(limit)
	if f.limit == q {
		return f
	}
	f.limit = q
	for i := range f.bad {
		p := alternative(i, q)
		f.bad[i], f.good[i] = math.Log(p/q), math.Log((1-p)/(1-q))
	}
	return f
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
type Odds struct{ factors [armCount][4]float64 }

// NewOdds finds the odds of blocks of m responses of the monolith and c of the
// candidate, by a guess at the monolith's rate. An arm whose alternative the
// hypothesis allows at that rate, as it does with a slack that leaves little above
// it, has nothing to bet on: its odds are 0.
func NewOdds(guess, slack float64, m, c int) *Odds {
	var o Odds
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

// maxOdds bounds the odds that are kept for further blocks of the same size.
const maxOdds = 256

type oddsKey struct {
	guess float64
	m, c  int
}

// OddsBook keeps odds for one slack, since finding them costs more than the
// rest of a block.
type OddsBook map[oddsKey]*Odds

// Find gives the odds of blocks of m and c responses, by the guess rounded with
// RoundRate.
func (b OddsBook) Find(guess, slack float64, m, c int) *Odds {
	key := oddsKey{RoundRate(guess), m, c}
	o := b[key]
	if o == nil {
		if len(b) >= maxOdds {
			clear(b)
		}
		o = NewOdds(key.guess, slack, m, c)
		b[key] = o
	}
	return o
}

// RoundRate rounds a guess to a quarter of an octave, within 1e-4 and 0.9.
func RoundRate(p float64) float64 {
	p = min(max(p, 1e-4), 0.9)
	return min(max(math.Exp2(math.Round(4*math.Log2(p))/4), 1e-4), 0.9)
}

// project finds the p in (u, v−slack) that minimises m·KL(u‖p) + c·KL(v‖p+slack):
// the zero of the derivative, which rises with p.
func project(u, v, slack, m, c float64) float64 {
	low, high := u, v-slack
	for range 48 {
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

// Add multiplies in what other bets have won.
func (a *Arms) Add(b *Arms) {
	for i := range a {
		a[i] += b[i]
	}
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
	return top + math.Log(sum/armCount)
}

// Valid reports whether restored wealth is a possible one.
func (a *Arms) Valid() bool {
	for _, l := range a {
		if math.IsNaN(l) || math.IsInf(l, 0) {
			return false
		}
	}
	return true
}
