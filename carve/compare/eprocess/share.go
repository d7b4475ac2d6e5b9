package eprocess

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Share is a count of responses of which some differ, with a confidence sequence
// for the rate.
//
// Source: the beta-binomial mixture martingale (Robbins 1970; Howard, Ramdas,
// McAuliffe & Sekhon 2021, arXiv 1810.08240): for each rate p the ratio
// ∫ q^s(1−q)^(n−s) dBeta(q) / p^s(1−p)^(n−s) is a martingale if p is the
// true one, so the rates at which it has stayed below 1/α hold the truth at
// all times at once with probability 1 − α. The prior is Beta(1/4, b) for nine
// tenths, which leans towards few differences since that is what has to be
// shown, and Beta(1/2, 1/2) for the rest.
type Share struct {
	N, Differing int
	b            float64
}

const sharePriorA = 0.25

// NewShare aims the prior's mean at the rate that may still be called
// equivalent.
func NewShare(aim float64) Share {
	return Share{b: min(max(sharePriorA/max(aim, 1e-6), 0.25), 1e5)}
}

// logMixture is the logarithm of the mixture's likelihood.
func (s *Share) logMixture() float64 {
	few, wide := LogChance(s.Differing, s.N, sharePriorA, s.b), LogChance(s.Differing, s.N, 0.5, 0.5)
	return LogSum(math.Log(0.9)+few, math.Log(0.1)+wide)
}

// logLikelihood of a rate, with 0·log 0 = 0.
func (s *Share) logLikelihood(p float64) float64 {
	l := 0.0
	if s.Differing > 0 {
		l += float64(s.Differing) * math.Log(p)
	}
	if s.N > s.Differing {
		l += float64(s.N-s.Differing) * math.Log1p(-p)
	}
	return l
}

// Rejects reports whether a rate lies outside the confidence sequence at 1 − alpha.
func (s *Share) Rejects(p, alpha float64) bool {
	return s.logLikelihood(p) <= s.logMixture()-math.Log(1/alpha)
}

// Interval gives the rates that are still possible at confidence 1 − alpha.
func (s *Share) Interval(alpha float64) (low, high float64) {
	return s.end(0, alpha), s.end(1, alpha)
}

// Low is the lower end of Interval, at half of its cost.
func (s *Share) Low(alpha float64) float64 { return s.end(0, alpha) }

// High is the upper end of Interval, at half of its cost.
func (s *Share) High(alpha float64) float64 { return s.end(1, alpha) }

// end is that of the interval which lies towards 0 or 1.
func (s *Share) end(far, alpha float64) float64 {
	if s.N == 0 {
		return far
	}
	bar := s.logMixture() - math.Log(1/alpha)
	return crossing(Ratio(s.Differing, s.N), far, func(p float64) bool { return s.logLikelihood(p) <= bar })
}

// MoreUntil estimates how many more responses bring the upper bound to limit if
// the rate stays what it is; −1 if it never would, or not within 2^40.
func (s *Share) MoreUntil(alpha, limit float64) int {
	rate := float64(s.Differing) / max(float64(s.N), 1)
	enough := func(more int) bool {
		f := Share{N: s.N + more, Differing: s.Differing + int(math.Round(rate*float64(more))), b: s.b}
		return float64(f.Differing) < limit*float64(f.N) && f.Rejects(limit, alpha)
	}
	if enough(0) {
		return 0
	}
	more, ok := least(1<<40, enough)
	if !ok {
		return -1
	}
	return more
}

// UpperRate is the Clopper–Pearson bound: the rate is above it with a
// probability of at most beta, for bad of n independent responses seen once.
func UpperRate(bad, n int, beta float64) float64 {
	if n == 0 || bad >= n {
		return 1
	}
	return mathext.InvRegIncBeta(float64(bad+1), float64(n-bad), 1-beta)
}
