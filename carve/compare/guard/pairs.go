package guard

import (
	"fmt"
	"math"
	"time"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/noise"
)

// pairs has the medians of log(candidate ÷ monolith) by the order of asking. The side asked second often
// finds a warm cache, so the candidate looks quick in mirrored exchanges and slow in served ones. A
// median is known after as many pairs as a 99th percentile; by then it is within a third of the spread
// (TestTheOrderMayMatterMore).
type pairs struct {
	CandidateFirst running `json:"candidate_first"`
	MonolithFirst  running `json:"monolith_first"`
}

// order is the logarithm of how many times as long the side asked first takes; ok is false while unknown.
func (p *pairs) order() (log float64, ok bool) {
	return (p.CandidateFirst.At - p.MonolithFirst.At) / 2, min(p.CandidateFirst.N, p.MonolithFirst.N) >= 1/slowShare
}

// running follows the median of a stream by a stochastic approximation whose steps shrink to a hundredth
// (Robbins & Monro 1951).
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

// pairErrors bets that the candidate alone fails in an exchange. Both sides were asked the same request
// of the same user, so users cancel out, however unlike and however few they are. Served and mirrored
// exchanges bet apart, so that mirrored ones do not drown a candidate that fails only when asked first.
// Before users are on it a mirrored failure is the judge's.
//
// Hypothesis: given the request and the past, the candidate fails with a probability of at most the
// monolith's plus Guard.Errors. Then the payoff (1[candidate bad] − 1[monolith bad] − Guard.Errors)/(1 +
// Guard.Errors) has an expectation of at most 0. Source: eprocess.Bets.
func (g *Guard) pairErrors(p *whittle.Pair) {
	if !g.shifting() {
		return
	}
	payoff := eprocess.Indicator(p.Candidate.Bad()) - eprocess.Indicator(p.Monolith.Bad()) - g.cfg.Errors
	g.Errors.bet(sourceOf(p.First), payoff/(1+g.cfg.Errors), g.level())
}

// sourceOf is the source of pairs with that order of asking.
func sourceOf(first whittle.Side) int {
	if first == whittle.Candidate {
		return fromPairs
	}
	return fromMirrored
}

// pairLatency learns the effect of the order, and bets on latencies.
//
// Hypothesis: given the request and the past, the candidate's latency is in distribution at most
// Guard.P99 times the monolith's at the same place in the order. The order changes a latency by a factor
// that may move. The payoff is the sign of the mean of two values less log P99: log(candidate ÷
// monolith) of a served exchange, and the median of that of mirrored ones. The two orders have opposite
// factors, which cancel out, so its expectation is at most 0. Where everybody is on the candidate the
// earlier median stays.
//
// The room up to P99 covers the error of the median, and how the effect of the order differs between
// users, where the candidate is like the monolith. Source: eprocess.Bets.
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

// mismatch is the state of the tests of differences.
//
// Equal services may differ: one of them is odd now and then, and the exchange differs whichever it was.
// The monolith's repeats show how often. Hypothesis: the share of exchanges that differ is at most the
// limit plus an upper bound on how often the monolith differs from itself. Source:
// eprocess.Bets.SeeShare; the bounds are confidence sequences (eprocess.Share), wrong with at most
// OfReference of the level in all. Served and mirrored exchanges are tested apart, so that mirrored ones do not
// drown a candidate that is right only when asked second. The meter has the mean of the e-values.
//
// At a place where the monolith was seen to vary these two count what is shown alone. A third test counts
// users' responses that differ in the body where it varies seldom. It has the room that a verdict leaves to
// noise: noise.Slack for each such place, and twice the bound.
//
// Where the monolith was never asked twice (mirror.repeat_every: 0) there is only the limit, and no third test.
type mismatch struct {
	Tests     [3]eprocess.Bets `json:"tests"` // by the side asked first, and atSeldom
	Candidate eprocess.Share   `json:"candidate"`
	Breached  bool             `json:"breached,omitempty"`
	// Own counts the monolith's repeats in all attempts, and those that differed. Seldom counts those
	// that differed where it varies seldom.
	Own    eprocess.Share `json:"own"`
	Seldom eprocess.Share `json:"seldom"`
	// Limits are the shares of differences that prove nothing, one of each test, without noise.Slack.
	Limits [3]float64 `json:"limits"`
}

// atSeldom is the third test's index.
const atSeldom = int(whittle.Candidate) + 1

func newMismatch(of *mismatch, allowed, level float64) mismatch {
	bets := eprocess.NewBets()
	m := mismatch{Own: of.Own, Seldom: of.Seldom, Tests: [3]eprocess.Bets{bets, bets, bets}}
	m.bound(allowed, level)
	return m
}

// bound finds the limits anew.
func (m *mismatch) bound(allowed, level float64) {
	own, seldom := 0.0, 0.0
	if m.Own.N > 0 {
		own, seldom = m.Own.High(eprocess.OfReference/2*level), m.Seldom.High(eprocess.OfReference/2*level)
	}
	m.Limits = [3]float64{allowed + own, allowed + own, allowed + 2*seldom}
}

func (m *mismatch) eValue() float64 {
	sum := 0.0
	for i := range m.Tests {
		sum += m.Tests[i].Now / float64(len(m.Tests))
	}
	return min(eprocess.EValueCap, sum)
}

// pairMismatch takes a compared exchange. Failures are the errors guard's.
func (g *Guard) pairMismatch(p *whittle.Pair) {
	if !p.Compared || p.Monolith.Bad() || p.Candidate.Bad() {
		return
	}
	m := &g.Mismatch
	see := func(test int, differs bool, room float64) {
		m.Tests[test].SeeShare(differs, m.Limits[test]+room, g.level(), m.Tests[test].Rounds+1)
	}
	if g.shifting() {
		m.Candidate.See(p.Differs)
		see(int(p.First&1), p.Differs, 0)
		if p.First == whittle.Candidate && m.Own.N > 0 {
			see(atSeldom, p.Seldom > 0, noise.Slack*float64(p.Seldom))
		}
		m.Breached = m.Breached || m.eValue() >= g.threshold()
	}
	if p.Repeated {
		m.Own.See(p.SelfDiffers)
		m.Seldom.See(p.SelfSeldom)
		m.bound(g.cfg.Mismatch, g.level())
	}
}

// slowSlot is the time whose mirrored exchanges make one bet.
const slowSlot = time.Second

// slowRoom is the least that a slow response lies above the monolith's percentile. A mirrored request's
// own way through the gateway may cost that much on a busy machine.
const slowRoom = 5 * time.Millisecond

// slowness delays a rise while mirrored responses of the candidate are slow. It never rolls back: a
// mirrored request is sent second, under another load and with other caches.
//
// Hypothesis: in each second, given the past, the candidate has more slow mirrored responses than the
// monolith no more often than it has fewer. The monolith's are slow above τ, its 99th percentile so
// far; the candidate's above Guard.P99 × τ, corrected for the order of asking once that is known
// (pairs), and above Guard.P99² × τ until then. A candidate within Guard.P99 times the monolith's
// latency at the same place in the order keeps to it for any τ, users and load. The payoff is the
// sign of candidate's − monolith's: one bet a second, so that a stall is one payoff and not hundreds.
//
// A rise is held from a wealth of 1/α on, α = 1 − Confidence apart from what rollbacks may spend, so
// a candidate within the limit is ever held with a probability of at most α (Ville). Wealth above
// 1/α³ is thrown away. The hold ends, and the test begins anew, once all of it is lost: a candidate
// that was slow only at first gets there in about three times as many exchanges as it took to see it
// slow. One that stays slow is let go with a chance of about α soon after it was held, and α³ later
// (at the best stake, 1/wealth is a martingale under the alternative). Source: eprocess.Bets.
type slowness struct {
	Bets  eprocess.Bets `json:"bets"`
	Waits bool          `json:"waits,omitempty"`
	// End is where the open second ends, in Unix nanoseconds. Ahead is how many more of the candidate's
	// responses in it were slow than of the monolith's.
	End   int64 `json:"end"`
	Ahead int   `json:"ahead"`
}

// slowAbove is the latency above which a mirrored response of the candidate is slow, for the monolith's
// percentile. order is the logarithm of how many times as long the side asked first takes, if known.
func (g *Guard) slowAbove(tau time.Duration, order float64, known bool) time.Duration {
	factor := g.cfg.P99 * max(g.cfg.P99, 1)
	if known {
		factor = g.cfg.P99 * math.Exp(-order)
	}
	return max(time.Duration(float64(tau)*factor), tau+slowRoom)
}

// mirroredLatency takes a good mirrored exchange.
func (g *Guard) mirroredLatency(p *whittle.Pair, order float64, known bool) {
	tau := g.Past.P99
	if tau <= 0 {
		return
	}
	c, m := p.Candidate.Latency, p.Monolith.Latency
	s, alpha := &g.Slowness, eprocess.Alpha(g.cfg.Confidence)
	done := p.At.UnixNano() + int64(c) + int64(m)
	if open := s.End - int64(slowSlot); done >= s.End || done < open-int64(sameTime) || p.At.IsZero() {
		s.settle(alpha)
		s.End = done + int64(slowSlot)
	}
	s.Ahead += int(eprocess.Indicator(c > g.slowAbove(tau, order, known)) - eprocess.Indicator(m > tau))
}

// settle bets on the second that ends.
func (s *slowness) settle(alpha float64) {
	s.Bets.Bet(eprocess.Sign(float64(s.Ahead)), alpha, s.Bets.Rounds+1)
	s.Ahead = 0
	s.Bets.CapAt(1 / (alpha * alpha * alpha))
	switch {
	case s.Bets.Now >= 1/alpha:
		s.Waits = true
	case s.Waits && s.Bets.Now <= 1:
		s.Waits, s.Bets = false, eprocess.NewBets()
	}
}

// Wait says why a rise of the share waits, as a clause with what to do; empty where it does not wait. It
// is read before a shift and during it.
func (g *Guard) Wait() string {
	s := &g.Slowness
	if !s.Waits {
		return ""
	}
	order, known := g.Pairs.order()
	return fmt.Sprintf("mirrored responses of the candidate are slow too often: more of them take over %s ms than of the monolith's more than %s ms, its p99; "+
		"make them faster, raise guard.p99 (%gx), or promote with force",
		display.Figure(millis(g.slowAbove(g.Past.P99, order, known))), display.Figure(millis(g.Past.P99)), g.cfg.P99)
}
