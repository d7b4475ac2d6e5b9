package guard

import (
	"fmt"
	"math"
	"time"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

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
