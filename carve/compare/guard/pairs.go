package guard

import (
	"math"

	"whittle"
	"whittle/carve/compare/eprocess"
)

const (
	// minOwnFirst and minMonolithFirst are how many pairs of each order the effect
	// of the order takes.
	minOwnFirst, minMonolithFirst = 16, 64
)

// pairs estimates the effect of the order on latency. The side that is asked second
// often finds a warm cache, so the candidate looks quick in mirrored exchanges and
// slow in served ones. Both orders are measured; half of their difference is the
// effect of the order.
type pairs struct {
	// CandidateFirst and MonolithFirst are medians of log(candidate ÷ monolith).
	CandidateFirst running `json:"candidate_first"`
	MonolithFirst  running `json:"monolith_first"`
	// Since is of the mirrored exchanges since the last served one, while users are on
	// the candidate.
	Since logRatios `json:"since,omitzero"`
}

// logRatios is a mean of log(candidate ÷ monolith).
type logRatios struct {
	N   int     `json:"n"`
	Sum float64 `json:"sum"`
}

func (l *logRatios) add(x float64) { l.N, l.Sum = l.N+1, l.Sum+x }

// order is the logarithm of how many times as long the first one asked takes;
// ok is false while it is not known.
func (p *pairs) order() (log float64, ok bool) {
	return (p.CandidateFirst.At - p.MonolithFirst.At) / 2,
		p.CandidateFirst.N >= minOwnFirst && p.MonolithFirst.N >= minMonolithFirst
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
// by a factor that may move. Each of these has an expectation of at most 0 then:
//
//   - the sign of the mean of log(candidate ÷ monolith) of a served exchange and
//     of the mirrored ones since the served one before, less log P99: the two
//     orders have the factor the opposite way round, so it cancels out, whatever it
//     is at that time. Mirrored exchanges alone would bet a hundred times as often
//     at 1 %, on a factor that was measured before it changed;
//   - the sign of candidate − P99 × monolith of a served exchange, with the effect
//     of the order taken out as it was measured. Where everybody is on the candidate
//     there are no mirrored exchanges, and this is what is left;
//   - in served exchanges, 1[candidate > P99 × τ] − 1[monolith > τ] for τ the
//     monolith's 99th percentile up to then, which finds what is slower seldom.
//
// What the measured effect of the order is wrong by, and what it differs by between
// users, is covered by the room up to P99 where the candidate is as the monolith.
// Source: eprocess.Bets.
func (g *Guard) pairLatency(p *whittle.Pair) {
	c, m := p.Candidate.Latency, p.Monolith.Latency
	if g.cfg.P99 <= 0 || c <= 0 || m <= 0 || p.Monolith.Bad() || p.Candidate.Bad() {
		return
	}
	ratio := math.Log(float64(c) / float64(m))
	order, known := g.Pairs.order()
	if p.First == whittle.Monolith {
		g.mirroredLatency(p, order, known)
		g.Pairs.MonolithFirst.see(ratio)
		if g.shifting() {
			g.Pairs.Since.add(ratio)
		}
		return
	}
	if !g.shifting() {
		return
	}
	limit := math.Log(g.cfg.P99)
	if since := &g.Pairs.Since; since.N > 0 {
		g.Slow.bet(fromMirrored, eprocess.Sign((ratio+since.Sum/float64(since.N))/2-limit), g.level())
		*since = logRatios{}
	}
	if known {
		g.Slow.bet(fromPairs, eprocess.Sign(ratio-order-limit), g.level())
		if tau := float64(g.Past.p99()); tau > 0 {
			tail := eprocess.Indicator(float64(c) > tau*g.cfg.P99) - eprocess.Indicator(float64(m)*math.Exp(order) > tau)
			g.Slow.bet(fromTails, tail, g.level())
		}
	}
	g.Pairs.CandidateFirst.see(ratio)
}
