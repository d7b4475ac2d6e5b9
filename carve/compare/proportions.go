package compare

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// armCount is how many alternatives a proportion test bets on at once.
const armCount = 8

// maxEValue caps what is shown: JSON has no infinity.
const maxEValue = 1e300

// arms is the wealth, as logarithms, of one bet per alternative. Their average
// is the evidence: an average of e-processes is one, whichever alternative is
// near the truth, at a price of log(armCount).
type arms [armCount]float64

// alternative gives the rate that arm i bets on when the null allows up to
// limit. The arms lie close to the limit, where small excesses are learnt in
// the end, and far from it, where a broken candidate is learnt at once.
func alternative(i int, limit float64) float64 {
	steps := [armCount]float64{0.3 * limit, limit, 0.005, 0.02, 0.06, 0.2, 0.5, 0.95}
	p := limit + steps[i]
	if i == armCount-1 || p > 0.95 {
		p = limit + 0.95*(1-limit)
	}
	return p
}

// clampRate keeps a rate away from 0 and 1, where a logarithm has no value.
func clampRate(p float64) float64 { return min(max(p, 1e-9), 1-1e-9) }

// single multiplies in bad and good responses of one side.
//
// Hypothesis: each response is bad with a probability of at most limit, given
// the past. Each factor p*/limit for bad, (1−p*)/(1−limit) for good has an
// expectation of at most 1 then, since it grows with the probability and is 1
// at the limit; so the product is a nonnegative supermartingale, and
// P(ever ≥ 1/α) ≤ α (Ville's inequality).
func (a *arms) single(limit float64, bad, good int) {
	var f fixedOdds
	a.against(f.at(limit), bad, good)
}

// against is single with the odds of its limit.
func (a *arms) against(f *fixedOdds, bad, good int) {
	for i := range a {
		a[i] += float64(bad)*f.bad[i] + float64(good)*f.good[i]
	}
}

// fixedOdds are the logarithms by which a bad and a good response change each arm's
// wealth against a limit. They cost more than the rest of a bet, so they are kept
// while the limit stays. The zero value is ready.
type fixedOdds struct {
	limit     float64
	bad, good [armCount]float64
}

// at gives the odds of a limit.
func (f *fixedOdds) at(limit float64) *fixedOdds {
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

// block multiplies in one block of two samples: so many of the monolith's
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
func (a *arms) block(o *odds, mBad, mGood, cBad, cGood int) {
	for i := range a {
		f := &o.factors[i]
		a[i] += float64(mBad)*f[0] + float64(mGood)*f[1] + float64(cBad)*f[2] + float64(cGood)*f[3]
	}
}

// odds are the logarithms by which a block's responses change each arm's wealth:
// for a bad and a good response of the monolith, and of the candidate.
type odds struct{ factors [armCount][4]float64 }

// newOdds finds them for blocks of m and c responses.
func newOdds(guess, slack float64, m, c int) *odds {
	var o odds
	limit := min(guess+slack, 0.98)
	for i := range o.factors {
		v := alternative(i, limit)
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

// oddsBook keeps odds for one slack, since finding them costs more than the
// rest of a block.
type oddsBook map[oddsKey]*odds

func (b oddsBook) find(guess, slack float64, m, c int) *odds {
	key := oddsKey{roundRate(guess), m, c}
	o := b[key]
	if o == nil {
		if len(b) >= maxOdds {
			clear(b)
		}
		o = newOdds(key.guess, slack, m, c)
		b[key] = o
	}
	return o
}

// roundRate rounds a guess to a quarter of an octave, within 1e-4 and 0.9.
func roundRate(p float64) float64 {
	p = min(max(p, 1e-4), 0.9)
	return min(max(math.Exp2(math.Round(4*math.Log2(p))/4), 1e-4), 0.9)
}

// project finds the p in [u, v−slack] that minimises m·KL(u‖p) + c·KL(v‖p+slack):
// the zero of the derivative, which rises with p.
func project(u, v, slack, m, c float64) float64 {
	low, high := u, v-slack
	if high <= low {
		return low
	}
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

// add multiplies in what other bets have won.
func (a *arms) add(b *arms) {
	for i := range a {
		a[i] += b[i]
	}
}

// logEValue is the logarithm of the average wealth.
func (a *arms) logEValue() float64 {
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

// logSum is log(exp(a) + exp(b)).
func logSum(a, b float64) float64 {
	return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}

// stakeEvery is how many plays lie between two fresh stakes.
const stakeEvery = 8

// staked keeps a test awake. A bet that has run through thousands of good
// responses has lost its wealth and would need as many bad ones to win it back;
// so half of the first wealth is kept, and staked bit by bit as time goes on.
// The k-th bit is 1/(2·L(k)) − 1/(2·L(k+1)) with L(k) = 1 + log(k): the bits
// add up to a half, so the whole is still an e-process, and a candidate that
// breaks after n plays is found at a price of no more than about
// log(n) + 2·log(log(n)) in evidence. (A mixture over the time of the change;
// compare Shin, Ramdas & Rinaldo 2022, arXiv 2203.03532.)
type staked struct {
	Arms  arms `json:"arms"`
	Plays int  `json:"plays"`

	logE   float64 // logEValue after so many plays; 0: not known
	logEAt int
}

// play lets the arms bet once more.
func (s *staked) play(bet func(*arms)) {
	if s.Plays++; s.Plays%stakeEvery == 0 {
		k := s.Plays / stakeEvery
		fresh := math.Log(1/unstaked(k) - 1/unstaked(k+1))
		for i := range s.Arms {
			s.Arms[i] = logSum(s.Arms[i], fresh)
		}
	}
	bet(&s.Arms)
}

func unstaked(k int) float64 { return 1 + math.Log(float64(max(1, k))) }

// logEValue is the logarithm of the wealth staked and kept.
func (s *staked) logEValue() float64 {
	if s.logEAt == 0 || s.logEAt != s.Plays {
		kept := -math.Log(unstaked(s.Plays/stakeEvery + 1))
		s.logE, s.logEAt = logSum(s.Arms.logEValue(), kept)-math.Ln2, s.Plays
	}
	return s.logE
}

// shown is the e-value as a number that JSON can hold.
func shown(logE float64) float64 {
	return min(math.Exp(min(logE, 700)), maxEValue)
}

// valid reports whether restored wealth is a possible one.
func (a *arms) valid() bool {
	for _, l := range a {
		if math.IsNaN(l) || math.IsInf(l, 0) {
			return false
		}
	}
	return true
}

// share is a count of responses of which some differ, with a confidence sequence
// for the rate.
//
// Source: the beta-binomial mixture martingale (Robbins 1970; Howard, Ramdas,
// McAuliffe & Sekhon 2021, arXiv 1810.08240): for each rate p the ratio
// ∫ q^s(1−q)^(n−s) dBeta(q) / p^s(1−p)^(n−s) is a martingale if p is the
// true one, so the rates at which it has stayed below 1/α hold the truth at
// all times at once with probability 1 − α. The prior is Beta(1/4, b) for nine
// tenths, which leans towards few differences since that is what has to be
// shown, and Beta(1/2, 1/2) for the rest.
type share struct {
	n, s int
	b    float64
}

const sharePriorA = 0.25

// newShare aims the prior's mean at the rate that may still be called
// equivalent.
func newShare(aim float64) share {
	return share{b: min(max(sharePriorA/max(aim, 1e-6), 0.25), 1e5)}
}

// logMixture is the logarithm of the mixture's likelihood.
func (s *share) logMixture() float64 {
	few := mathext.Lbeta(sharePriorA+float64(s.s), s.b+float64(s.n-s.s)) - mathext.Lbeta(sharePriorA, s.b)
	wide := mathext.Lbeta(0.5+float64(s.s), 0.5+float64(s.n-s.s)) - mathext.Lbeta(0.5, 0.5)
	return logSum(math.Log(0.9)+few, math.Log(0.1)+wide)
}

// logLikelihood of a rate, with 0·log 0 = 0.
func (s *share) logLikelihood(p float64) float64 {
	l := 0.0
	if s.s > 0 {
		l += float64(s.s) * math.Log(p)
	}
	if s.n > s.s {
		l += float64(s.n-s.s) * math.Log1p(-p)
	}
	return l
}

// interval gives the rates that are still possible at confidence 1 − alpha.
func (s *share) interval(alpha float64) (low, high float64) {
	if s.n == 0 {
		return 0, 1
	}
	mean, bar := float64(s.s)/float64(s.n), s.logMixture()-math.Log(1/alpha)
	inside := func(p float64) bool { return s.logLikelihood(p) > bar }
	low, high = 0, 1
	if s.s > 0 {
		low = edge(mean, 0, inside)
	}
	if s.s < s.n {
		high = edge(mean, 1, inside)
	}
	return low, high
}

// edge finds by bisection where inside ends between a point within and one
// beyond; it responds with the outer side.
func edge(within, beyond float64, inside func(float64) bool) float64 {
	for range 50 {
		mid := (within + beyond) / 2
		if inside(mid) {
			within = mid
		} else {
			beyond = mid
		}
	}
	return beyond
}

// moreUntil estimates how many more responses bring the upper bound to limit if
// the rate stays what it is; −1 if it never would, or not within 2^40.
func (s *share) moreUntil(alpha, limit float64) int {
	if limit <= 0 || (s.n > 0 && float64(s.s)/float64(s.n) >= limit) {
		return -1
	}
	rate := float64(s.s) / max(float64(s.n), 1)
	enough := func(more int) bool {
		f := share{n: s.n + more, s: s.s + int(math.Round(rate*float64(more))), b: s.b}
		return float64(f.s) < limit*float64(f.n) && f.logLikelihood(limit) <= f.logMixture()-math.Log(1/alpha)
	}
	if enough(0) {
		return 0
	}
	high := 1
	for !enough(high) {
		if high *= 2; high > 1<<40 {
			return -1
		}
	}
	low := high / 2
	for high-low > 1 {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// upperRate is the Clopper–Pearson bound: the rate is above it with a
// probability of at most beta, for bad of n independent responses seen once.
func upperRate(bad, n int, beta float64) float64 {
	if n == 0 || bad >= n {
		return 1
	}
	return mathext.InvRegIncBeta(float64(bad+1), float64(n-bad), 1-beta)
}

// knownRate is an upperRate that is asked for again and again. The zero value is
// ready.
type knownRate struct {
	bad, n     int
	beta, rate float64
}

// of is upperRate.
func (k *knownRate) of(bad, n int, beta float64) float64 {
	if k.beta == 0 || k.bad != bad || k.n != n || k.beta != beta {
		*k = knownRate{bad, n, beta, upperRate(bad, n, beta)}
	}
	return k.rate
}
