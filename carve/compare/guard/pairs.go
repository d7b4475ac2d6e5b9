package guard

import (
	"math"

	"whittle"
	"whittle/carve/compare/eprocess"
)

// pairs has the medians of log(candidate ÷ monolith) by the order of asking. The side that is asked
// second often finds a warm cache, so the candidate looks quick in mirrored exchanges and slow in
// served ones. A median is known after as many pairs as a 99th percentile: it is within a third of
// the spread then (TestTheOrderMayMatterMore).
type pairs struct {
	CandidateFirst running `json:"candidate_first"`
	MonolithFirst  running `json:"monolith_first"`
}

// order is the logarithm of how many times as long the first one asked takes;
// ok is false while it is not known.
func (p *pairs) order() (log float64, ok bool) {
	return (p.CandidateFirst.At - p.MonolithFirst.At) / 2, min(p.CandidateFirst.N, p.MonolithFirst.N) >= 1/slowShare
}

// running follows the median of a stream: a stochastic approximation whose steps
// shrink to a hundredth (Robbins & Monro 1951).
type running struct {
	N  int     `json:"n"`
	At float64 `json:"at"`
}

func (m *running) see(x float64) {
	m.N++
	step := max(2/float64(m.N+10), 0.01)
	switch {
	case x > m.At:
		m.At += step
	case x < m.At:
		m.At -= step
	}
}

// pairErrors bets that of an exchange's two sides the candidate alone fails. Both
// were asked the same request of the same user, so users cancel out, however
// unlike they are and however few. Served and mirrored exchanges bet apart, since
// a candidate that fails only when it is asked first must not be drowned in
// mirrored ones; before users are on it a mirrored failure is the judge's.
//
// Hypothesis: given the request and the past, the candidate fails with a
// probability of at most the monolith's plus Guard.Errors. The payoff
// (1[candidate bad] − 1[monolith bad] − Guard.Errors)/(1 + Guard.Errors) has an
// expectation of at most 0 then. Source: eprocess.Bets.
func (g *Guard) pairErrors(p *whittle.Pair) {
	if !g.shifting() {
		return
	}
	payoff := eprocess.Indicator(p.Candidate.Bad()) - eprocess.Indicator(p.Monolith.Bad()) - g.cfg.Errors
	g.Errors.bet(sourceOf(p.First), payoff/(1+g.cfg.Errors), g.level())
}

// sourceOf is which source a pair of that order belongs to.
func sourceOf(first whittle.Side) int {
	if first == whittle.Candidate {
		return fromPairs
	}
	return fromMirrored
}

// pairLatency learns the effect of the order, and bets on latencies.
//
// Hypothesis: given the request and the past, the candidate's latency is at most
// Guard.P99 times what the monolith's would be if it had been asked at the same
// place in the order, in distribution. What is asked second takes another time,
// by a factor that may move. The sign of the mean of log(candidate ÷ monolith) of a served
// exchange and of the median of the mirrored ones, less log P99, has an expectation of at most 0
// then: the two orders have the factor the opposite way round, so it cancels out. Where everybody is
// on the candidate the median is that of before.
//
// What the median is wrong by, and what the effect of the order differs by between users, is covered
// by the room up to P99 where the candidate is as the monolith. Source: eprocess.Bets.
func (g *Guard) pairLatency(p *whittle.Pair) {
	c, m := p.Candidate.Latency, p.Monolith.Latency
	if g.cfg.P99 <= 0 || c <= 0 || m <= 0 || p.Monolith.Bad() || p.Candidate.Bad() {
		return
	}
	ratio := math.Log(float64(c) / float64(m))
	mirrored := &g.Pairs.MonolithFirst
	if p.First == whittle.Monolith {
		order, known := g.Pairs.order()
		g.mirroredLatency(p, order, known)
		mirrored.see(ratio)
		return
	}
	if !g.shifting() {
		return
	}
	if mirrored.N >= 1/slowShare {
		g.Slow.bet(fromPairs, eprocess.Sign((ratio+mirrored.At)/2-math.Log(g.cfg.P99)), g.level())
	}
	g.Pairs.CandidateFirst.see(ratio)
}
