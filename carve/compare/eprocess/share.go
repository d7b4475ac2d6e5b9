package eprocess

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// Share counts rounds, some of which showed an event, with a confidence sequence for the event's rate.
//
// Source: the beta-binomial mixture martingale (Robbins 1970; Howard, Ramdas, McAuliffe & Sekhon 2021,
// arXiv 1810.08240). For the true rate p the ratio ∫ q^s(1−q)^(n−s) dBeta(q) / p^s(1−p)^(n−s) is a
// martingale. So the rates at which it has stayed below 1/α hold the truth at all times at once with
// probability 1 − α.
type Share struct {
	N         int `json:"n"`
	Differing int `json:"k"` // of the N, those with the event
}

// See takes in a round.
func (s *Share) See(event bool) {
	s.N++
	s.Differing += int(Indicator(event))
}

// And is the sum of both counts.
func (s Share) And(o Share) Share { return Share{s.N + o.N, s.Differing + o.Differing} }

// Grown is the count after times as many rounds at the same rate.
func (s Share) Grown(times float64) Share {
	return Share{int(times * float64(s.N)), int(times * float64(s.Differing))}
}

// Rate is the share of the rounds with the event; 0 of none.
func (s Share) Rate() float64 { return Ratio(s.Differing, s.N) }

// few makes the prior Beta(few, 1), in rounds. It leans towards few differences, since those have to be
// shown. With 0 of n it takes 5 % more rounds to a bound of 0.5 %, or 10 %, than the best prior for that
// bound. It is as close where many or all differ (TestShareInterval).
const few = 0.1

// bar is the log-likelihood at which a rate leaves the confidence sequence.
func (s Share) bar(alpha float64) float64 {
	return LogChance(s.Differing, s.N, few, 1) - math.Log(1/alpha)
}

// logLikelihood is that of a rate, with 0·log 0 = 0.
func (s Share) logLikelihood(p float64) float64 {
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
func (s Share) Rejects(p, alpha float64) bool { return s.logLikelihood(p) <= s.bar(alpha) }

// Low is the lowest rate still possible at confidence 1 − alpha.
func (s Share) Low(alpha float64) float64 { return s.end(0, alpha) }

// High is the highest rate still possible at confidence 1 − alpha.
func (s Share) High(alpha float64) float64 { return s.end(1, alpha) }

// end is the interval's end towards far, 0 or 1.
func (s Share) end(far, alpha float64) float64 {
	if s.N == 0 {
		return far
	}
	bar := s.bar(alpha)
	return crossing(s.Rate(), far, func(p float64) bool { return s.logLikelihood(p) <= bar })
}

// crossing finds where outside becomes true on the way from inside to far; far where it never does.
func crossing(inside, far float64, outside func(float64) bool) float64 {
	if !outside(far) {
		return far
	}
	for range 40 {
		mid := (inside + far) / 2
		if outside(mid) {
			far = mid
		} else {
			inside = mid
		}
	}
	return far
}

// CountMost is more events than any service has: a billion a second for 18 minutes.
const CountMost = 1 << 40

// MoreUntil estimates how many more rounds bring the upper bound to limit at the present rate; −1 if it
// never would, or not within CountMost.
func (s Share) MoreUntil(alpha, limit float64) int {
	rate := s.Rate()
	enough := func(more int) bool {
		f := Share{s.N + more, s.Differing + int(math.Round(rate*float64(more)))}
		return float64(f.Differing) < limit*float64(f.N) && f.Rejects(limit, alpha)
	}
	if more := sort.Search(CountMost, enough); more < CountMost {
		return more
	}
	return -1
}

// NeededFor is how many rounds without the event bring its upper bound to p; 0 unless 0 < p < 1.
func NeededFor(p, alpha float64) int {
	if p >= 1 || p <= 0 {
		return 0
	}
	if n := (Share{}).MoreUntil(alpha, p); n >= 0 {
		return n
	}
	return CountMost
}

// LogChance is the log-likelihood of k events in n rounds under a Beta(a, b) prior of their chance.
func LogChance(k, n int, a, b float64) float64 {
	return mathext.Lbeta(a+float64(k), b+float64(n-k)) - mathext.Lbeta(a, b)
}
