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

// mismatch is the state of the test of differences.
//
// Equal services may differ: one of them is odd now and then, and an exchange differs whichever it
// was. The monolith's own repeats show how often. Hypothesis: the share of exchanges that differ is
// at most the limit plus an upper bound on how often the monolith differs from itself. Source:
// eprocess.Bets.SeeShare; the bound is a confidence sequence, wrong with OfReference of the level at
// most (eprocess.Share). Served and mirrored exchanges are tested apart, since a candidate that is
// right only when asked second must not be drowned in mirrored ones; the mean of the e-values is
// the meter's.
//
// A place where the monolith was seen to vary is noise, and is not counted: the judge asks about
// it. Where the monolith was never asked twice (mirror.repeat_every: 0) there is only the limit.
type mismatch struct {
	Tests     [2]eprocess.Bets `json:"tests"` // by the side asked first
	Candidate eprocess.Share   `json:"candidate"`
	Breached  bool             `json:"breached,omitempty"`
	// Own are the monolith's repeats, of all attempts, and those that differed.
	Own eprocess.Share `json:"own"`
	// Limit is the share of differences that nothing may be concluded from.
	Limit float64 `json:"limit"`
}

func newMismatch(limit float64, own eprocess.Share) mismatch {
	return mismatch{Limit: limit, Own: own, Tests: [2]eprocess.Bets{eprocess.NewBets(), eprocess.NewBets()}}
}

// bound finds the limit anew.
func (m *mismatch) bound(allowed, level float64) {
	m.Limit = allowed
	if m.Own.N > 0 {
		m.Limit += m.Own.High(eprocess.OfReference * level)
	}
}

func (m *mismatch) eValue() float64 {
	return min(eprocess.EValueCap, (m.Tests[0].Now+m.Tests[1].Now)/2)
}

// pairMismatch takes a compared exchange. Failures are the errors guard's.
func (g *Guard) pairMismatch(p *whittle.Pair) {
	if !p.Compared || p.Monolith.Bad() || p.Candidate.Bad() {
		return
	}
	m := &g.Mismatch
	if g.shifting() {
		m.Candidate.See(p.Differs)
		test := &m.Tests[p.First&1]
		test.SeeShare(p.Differs, m.Limit, g.level(), test.Rounds+1)
		m.Breached = m.Breached || m.eValue() >= g.threshold()
	}
	if p.Repeated {
		m.Own.See(p.SelfDiffers)
		m.bound(g.cfg.Mismatch, g.level())
	}
}
