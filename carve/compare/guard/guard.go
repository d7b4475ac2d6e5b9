// Package guard watches the candidate while users depend on it: sequential tests of errors, latency and
// mismatch say when to roll it back. All attempts at a rollout share one error rate.
package guard

import (
	"encoding/json"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
)

const (
	meterErrors   = "errors"
	meterP99      = "p99"
	meterMismatch = "mismatch"

	// slowShare is the share of responses that lie above a 99th percentile.
	slowShare = 0.01
)

// Guard watches the candidate while users depend on it. Its tests may be read after every outcome.
// Over all attempts at a rollout, any of them rolls back a candidate that keeps to the limits with a
// probability of at most eprocess.OfGuards × (1 − Confidence): the first attempt may spend four
// fifths of it, the i-th, begun by Reset, 1/(5i(i−1)). It is deterministic, holds bounded memory, and
// is not safe for concurrent use.
//
// Sticky routing draws users, not requests: twenty users of whom one is slow are not twenty thousand
// independent requests. So no evidence is the sum of one user's requests. Two sources bet, each with
// a part of the meter's wealth (grounds.go): the first response of each user (first.go), and both
// sides' responses to the same request of the same user (pairs.go).
//
// The hypotheses, each meter held to an equal part of the error rate:
//
//   - errors: the candidate's share of bad responses is at most the monolith's plus Guard.Errors.
//     Where the monolith failed at the same request as well, a bad response does not count;
//   - p99: the candidate's share of responses slower than Guard.P99 × τ is at most the monolith's
//     share of those slower than τ, for a τ known from the past. A candidate within P99 times the
//     monolith's latency keeps to it for any τ, so neither an inexact τ nor a load that slows both
//     breaches;
//   - mismatch: the share of compared exchanges that differ is at most a bound on how often the
//     monolith differs from itself, plus Guard.Mismatch, and more where it varies seldom (pairs.go).
//
// Mirrored latencies may also delay a rise (slowness.go). Sources: eprocess.Blocks, eprocess.Bets.
type Guard struct {
	cfg   whittle.Guard
	alpha float64 // of each meter, over all attempts
	state
}

// New makes a guard. P99 = 0 leaves latency unguarded.
func New(g whittle.Guard) *Guard {
	meters := 2.0
	if g.P99 > 0 {
		meters++
	}
	made := &Guard{cfg: g, alpha: eprocess.OfGuards * eprocess.Alpha(g.Confidence) / meters, state: state{
		Attempt: 1, Errors: newGrounds(), Slow: newGrounds(), Slowness: slowness{Bets: eprocess.NewBets()},
	}}
	made.Mismatch = newMismatch(&mismatch{}, g.Mismatch, made.level())
	return made
}

// level is the error rate of each meter in this attempt.
func (g *Guard) level() float64 { return g.alpha * eprocess.OfAttempts(g.Attempt) }

// threshold is the e-value that decides. A tenth of the error rate is kept for the bounds on the
// monolith's rates that some tests need.
func (g *Guard) threshold() float64 { return 1 / ((1 - eprocess.OfReference) * g.level()) }

// Reset begins another attempt: it forgets evidence and breaches, and keeps what is known of the monolith.
func (g *Guard) Reset() {
	g.Attempt++
	g.forgetUsers()
	g.Errors, g.Slow, g.Firsts = newGrounds(), newGrounds(), firsts{}
	g.Mismatch = newMismatch(&g.Mismatch, g.cfg.Mismatch, g.level())
	g.Recent = window{}
}

// Share sets the candidate's share of the users. Each change moves users drawn by a hash, and begins a
// generation of users.
func (g *Guard) Share(s whittle.Share) {
	if s == g.Part {
		return
	}
	begins := g.Part == 0
	g.Part = s
	if s == 0 {
		return
	}
	if begins {
		g.Whole, g.WholeP99 = g.Past.seen(), g.Past.P99
	}
	if begins && g.Firsts.Counted == 0 {
		g.forgetUsers() // who were on the monolith alone
	} else {
		g.roll()
	}
}

// Outcome takes in one user's request. One that the client ended, or that was never sent, says nothing
// of either side.
func (g *Guard) Outcome(o whittle.Outcome) {
	if o.Failure.Neutral() {
		return
	}
	a := response{Bad: o.Bad(), Latency: o.Latency, At: o.At.UnixNano()}
	if o.At.IsZero() {
		a.At = 0
	}
	if o.Side == whittle.Monolith {
		g.monolith(o.User, a)
		return
	}
	if o.BothBad {
		return // as if nobody had asked: the monolith fails at it too
	}
	g.Recent.add(a)
	g.candidate(o.User, a)
}

func (g *Guard) monolith(user uint64, a response) {
	g.rollSpent()
	if g.shifting() {
		g.Errors.Monolith.See(a.Bad)
	}
	if g.Firsts.isFirst(user, whittle.Monolith) {
		g.first(whittle.Monolith, a)
	} else {
		g.Past.add(a)
	}
}

func (g *Guard) candidate(user uint64, a response) {
	if g.Part == 0 {
		return // a straggler from before a fall
	}
	g.Errors.Candidate.See(a.Bad)
	if tau := g.Past.P99; tau > 0 && !a.Bad {
		g.Slow.Candidate.See(float64(a.Latency) > float64(tau)*g.cfg.P99)
	}
	g.rollSpent()
	f := &g.Firsts
	f.Paired = max(0, f.Paired-1)
	first := f.isFirst(user, whittle.Candidate)
	switch f.came(first); {
	case g.Part == whittle.All && f.Paired == 0:
		g.settleAlone(a)
	case first:
		g.first(whittle.Candidate, a)
	}
}

// shifting reports whether users are on the candidate.
func (g *Guard) shifting() bool { return g.Part != 0 }

// check settles whether a limit on errors or latency is passed.
func (g *Guard) check() {
	for _, e := range []*grounds{&g.Errors, &g.Slow} {
		wealth, _ := e.eValue(g.Firsts.Generation)
		e.Breached = e.Breached || wealth >= g.threshold()
	}
}

// Pair takes in one request that both sides were asked. While no user depends on the candidate it is
// about the monolith alone.
func (g *Guard) Pair(p whittle.Pair) {
	if p.Monolith.Failure.Neutral() || p.Candidate.Failure.Neutral() {
		return
	}
	g.pairMismatch(&p)
	g.pairLatency(&p)
	g.pairErrors(&p)
	g.check()
	if !g.shifting() || p.First != whittle.Candidate {
		return
	}
	g.Firsts.Paired = windowSize
	if p.User == 0 {
		// Without users, the monolith's responses to the same requests are a sample over the same time.
		// At a full share they are the only one.
		o := p.Monolith
		g.monolith(0, response{Bad: o.Bad(), Latency: o.Latency, At: p.At.UnixNano()})
	}
}

// state is what outlives a restart.
type state struct {
	// Attempt counts the shifts of users to the candidate, from 1.
	Attempt int `json:"attempt"`
	// Part is the candidate's part of the users.
	Part whittle.Share `json:"share"`

	Past   window `json:"past"`   // the monolith's responses that have left the blocks
	Recent window `json:"recent"` // the candidate's responses
	// Whole and WholeP99 are the monolith's when all users were last on it.
	Whole    eprocess.Share `json:"whole"`
	WholeP99 time.Duration  `json:"whole_p99"`
	Firsts   firsts         `json:"firsts"`
	Pairs    pairs          `json:"pairs"`

	Errors   grounds  `json:"errors"`
	Slow     grounds  `json:"slow"`
	Mismatch mismatch `json:"mismatch"`
	Slowness slowness `json:"slowness"`
}

// MarshalBinary gives the state, below 64 KiB.
func (g *Guard) MarshalBinary() ([]byte, error) { return json.Marshal(&g.state) }

// UnmarshalBinary restores what MarshalBinary gave, into a guard of the same limits. Its keeper knows
// that it is unharmed and of this version. After an error the guard is as it was.
func (g *Guard) UnmarshalBinary(b []byte) error {
	restored := New(g.cfg).state
	if err := json.Unmarshal(b, &restored); err != nil {
		return whittle.Errorf(whittle.Invalid, "read guard state: %w", err)
	}
	g.state = restored
	return nil
}
