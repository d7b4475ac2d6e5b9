// Package eprocess has the sequential statistics behind findings, bounds and guards: tests by betting,
// tests of blocks of two samples, and time-uniform confidence sequences. Each guarantee holds at all times
// at once, if the payoffs meet the conditions in its comment. It is pure: numbers in, evidence out.
package eprocess

import "math"

// arms is how many alternatives a block is tested against.
const arms = len(near) + len(far)

// near are alternatives above a limit, as parts of it: they learn small excesses in the end. far are
// rates: they find a broken candidate at once.
var (
	near = [...]float64{0.3, 1}
	far  = [...]float64{0.005, 0.02, 0.06, 0.2, 0.5, 0.95}
)

// kept is the part of the first wealth kept for later. With a quarter, a candidate that breaks at once
// and one that breaks after 5,000 blocks are found equally soon (TestGuardDetection).
const kept = 0.25

// Blocks is a test of two samples over the same time, block by block: the wealth, as logarithms, of
// one bet per alternative. The evidence is their average, which is an e-process too, whichever
// alternative is near the truth, at a price of the logarithm of their number.
//
// A bet that ran through thousands of good responses has lost its wealth. So a part of the first
// wealth, kept, is staked bit by bit: kept/L(k) − kept/L(k+1) in block k, L(k) = 1 + log(k). A
// candidate that breaks after n blocks is found at a price of about log(n) + 2·log(log(n)) in evidence.
// (A mixture over the time of the change; compare Shin, Ramdas & Rinaldo 2022, arXiv 2203.03532.)
type Blocks struct {
	// Arms have 1 at first, for the wealth that is not kept.
	Arms   [arms]float64 `json:"arms"`
	Played int           `json:"played"`
}

// Play multiplies in one block: both sides' responses, with the bad ones of each. The odds must come
// from the past alone, for blocks of this size; their guess at the monolith's rate steers the power,
// not the validity.
//
// Hypothesis: within the block the candidate's mean probability of a bad response is at most the
// monolith's plus slack.
//
// Source: the e-variable of Turner, Ly & Grünwald (arXiv 2106.02693), the likelihood ratio of the
// alternative (a, b) and its Kullback–Leibler projection (p, p+slack) on the hypothesis. At the true
// rates (u, v) its expectation is A(u)^m·B(v)^c with A and B linear. The logarithm is concave in
// (u, v), is 0 at the projection, and cannot rise from there into the hypothesis, since the projection
// minimises the divergence over a convex set. So the expectation is at most 1, also where the rates
// move within the block and only their means keep to the hypothesis.
func (b *Blocks) Play(o *Odds, m, c Share) {
	b.Played++
	fresh := math.Log(kept / (1 - kept) * (1/unstaked(b.Played) - 1/unstaked(b.Played+1)))
	for i := range b.Arms {
		f := &o.factors[i]
		b.Arms[i] = logSum(b.Arms[i], fresh) + float64(m.Differing)*f[0] + float64(m.N-m.Differing)*f[1] +
			float64(c.Differing)*f[2] + float64(c.N-c.Differing)*f[3]
	}
}

func unstaked(block int) float64 { return 1 + math.Log(float64(block)) }

// EValue is the wealth staked and kept, bounded to be shown.
func (b *Blocks) EValue() float64 {
	sum := kept / unstaked(b.Played+1)
	for _, l := range b.Arms {
		sum += (1 - kept) / float64(arms) * AsNumber(l)
	}
	return min(sum, EValueCap)
}

// logSum is log(exp(a) + exp(b)).
func logSum(a, b float64) float64 {
	return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}

// AsNumber is the e-value as a bounded number to be shown.
func AsNumber(logE float64) float64 { return math.Exp(min(logE, math.Log(EValueCap))) }

// Odds are the logarithms by which a block's responses change each arm's wealth: for a bad and a good
// response of the monolith, and of the candidate.
type Odds struct{ factors [arms][4]float64 }

// alternative is the rate that arm i bets on when the null allows up to limit. All are short of 1.
func alternative(i int, limit float64) float64 {
	p := limit
	if i < len(near) {
		p += near[i] * limit
	} else {
		p += far[i-len(near)]
	}
	if most := far[len(far)-1]; p > most {
		return limit + most*(1-limit)
	}
	return p
}

// NewOdds finds the odds of blocks of m responses of the monolith and c of the candidate, by a guess at
// the monolith's rate. Where the hypothesis allows an arm's alternative at that rate, as with a slack
// that leaves little above it, the arm has nothing to bet on and its odds are 0.
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

// project finds the p in (u, v−slack) that minimises m·KL(u‖p) + c·KL(v‖p+slack): the zero of the
// derivative, which rises with p.
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
