// Package guard watches the candidate while users depend on it: sequential tests of
// errors, latency, mismatch and CPU time that say when to roll it back. Its error
// rate is one for all attempts at a rollout.
package guard

import (
	"whittle"
	"whittle/carve/compare/eprocess"
)

const (
	meterErrors   = "errors"
	meterP99      = "p99"
	meterMismatch = "mismatch"
	meterCPU      = "cpu"

	// slowShare is the share of responses that lie above a 99th percentile.
	slowShare = 0.01
)

// Guard watches the candidate while users depend on it. Its tests are
// sequential: they may be read after every outcome, and a candidate that keeps
// to the limits is rolled back by any of them with a probability of at most
// 1 − Confidence in all, over every attempt at a rollout together: the
// first may spend four fifths of it, the i-th, begun by Reset, 1/(5i(i−1)). It is deterministic,
// holds bounded memory, and is not safe for concurrent use.
//
// Sticky routing draws users, not requests: twenty users of whom one is slow are
// not twenty thousand independent requests. So no evidence is the sum of one
// user's requests. Each of these three bets with a part of the meter's wealth
// (grounds.go):
//
//   - first responses: one response of each user (first.go);
//   - users: one run of responses of each user, held against that user's own
//     past and against the users who stayed on the monolith (users.go);
//   - pairs: both sides' responses to the same request of the same user
//     (pairs.go).
//
// The hypotheses, each meter held to an equal part of the error rate:
//
//   - errors: the candidate's share of bad responses is at most the monolith's
//     plus Guard.Errors. A bad response to a request at which the monolith
//     failed as well is not the candidate's;
//   - p99: the candidate's share of responses slower than Guard.P99 × τ is at
//     most the monolith's share of responses slower than τ, where τ is known
//     from the past. A candidate whose latency is at most P99 times the
//     monolith's keeps to it for any τ, so neither an inexact τ nor a load under
//     which both get slower breaches;
//   - mismatch: the share of compared exchanges that differ is at most that of
//     the monolith from itself plus Guard.Mismatch (mismatch.go);
//   - cpu: in intervals of the same time, the candidate's CPU time per request
//     is at most Guard.CPU times the monolith's, in the median (cpu.go).
//
// In addition, mirrored latencies may delay a rise (slowness.go).
//
// Sources and proofs: eprocess.Arms.Block, eprocess.Arms.Single, eprocess.Bets.
type Guard struct {
	cfg   whittle.Guard
	alpha float64 // of each meter, over all attempts
	state
	upper [2]eprocess.KnownRate // of errors and of slow responses, in settleAlone
}

// unknownShare is the share before the first is set: then users are on the candidate
// wherever a response of it says so.
const unknownShare = whittle.All + 1

// New makes a guard. A Confidence outside (0, 1) stands for 0.99; P99 = 0
// leaves latency unguarded, CPU = 0 the CPU.
func New(g whittle.Guard) *Guard {
	if !(g.Confidence > 0 && g.Confidence < 1) {
		g.Confidence = 0.99
	}
	meters := 2.0
	if g.P99 > 0 {
		meters++
	}
	if g.CPU > 0 {
		meters++
	}
	return &Guard{cfg: g, alpha: (1 - g.Confidence) / meters, state: state{
		Attempt: 1, Part: unknownShare, Era: 1,
		Errors: newGrounds(), Slow: newGrounds(), Mismatch: newMismatch(), Cost: cpuContest{Bets: eprocess.NewBets()}, Slowness: newSlowness(),
	}}
}

// level is the error rate of each meter in this attempt.
func (g *Guard) level() float64 { return g.alpha * eprocess.OfAttempts(g.Attempt) }

// threshold is the e-value that decides. A tenth of the error rate is kept for
// the bounds on the monolith's rates that some tests need.
func (g *Guard) threshold() float64 { return 1 / (0.9 * g.level()) }

// Reset begins another attempt: it forgets the evidence and the breaches, and
// keeps what is known of the monolith and of the users' past on it.
func (g *Guard) Reset() {
	g.Attempt++
	g.Era = 1
	g.Errors, g.Slow = newGrounds(), newGrounds()
	g.Mismatch.restart()
	g.Cost.restart()
	g.Recent, g.Row = window{}, 0
	g.Firsts.restart(&g.Past)
	g.Users.restart()
}

// Share sets the candidate's share of the users from now on. Each change
// moves users drawn by a hash, which is what makes those who moved and those
// who stayed comparable.
func (g *Guard) Share(s whittle.Share) {
	if s == g.Part {
		return
	}
	begins := !g.settled()
	g.Part, g.Pairs.Since = s, logRatios{}
	switch {
	case s == 0:
	case begins:
		g.Whole, g.Era = g.pastReference(), 1
		g.Firsts.begin(&g.Past)
		g.Users.begin()
	default:
		g.Era++
		g.Firsts.newEra(&g.Past)
		g.Users.newEra()
	}
}

// Run is how many of the candidate's responses in a row were bad, up to the
// last, without those at which the monolith failed as well.
func (g *Guard) Run() int { return g.Row }

// Outcome takes in one user's request. One that the client itself ended, or that was
// never sent, says nothing of either side.
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
	g.Row++
	if !a.Bad {
		g.Row = 0
	}
	g.Recent.add(a)
	g.candidate(o.User, a)
}

// monolith takes a response of the monolith.
func (g *Guard) monolith(user uint64, a response) {
	if g.shifting() {
		g.Errors.Monolith.add(a.Bad)
	}
	kind := g.Firsts.classify(user, whittle.Monolith)
	if kind == notFirst {
		g.Past.add(a)
	} else {
		g.firstOfMonolith(&g.Firsts.Blocks[kind], a)
	}
	if user != 0 {
		g.userOfMonolith(user, a)
	}
}

// candidate takes a response of the candidate.
func (g *Guard) candidate(user uint64, a response) {
	if g.Part == 0 {
		return // a straggler from before a fall
	}
	g.Errors.Candidate.add(a.Bad)
	if tau := g.Past.p99(); tau > 0 && !a.Bad {
		g.Slow.Candidate.add(float64(a.Latency) > float64(tau)*g.cfg.P99)
	}
	g.Firsts.SincePair++
	kind := g.Firsts.classify(user, whittle.Candidate)
	if kind != notFirst {
		g.firstOfCandidate(&g.Firsts.Blocks[kind], a, user == 0)
	}
	if user == 0 {
		return
	}
	if g.Part == whittle.All && !g.Firsts.paired() {
		g.settleAlone(a)
	}
	g.userOfCandidate(user, a)
}

// shifting reports whether users are on the candidate, or may be; settled
// whether it is known which part of them.
func (g *Guard) shifting() bool { return g.Part != 0 }
func (g *Guard) settled() bool  { return g.Part > 0 && g.Part <= whittle.All }

// check settles whether a limit is passed.
func (g *Guard) check() {
	bar := g.threshold()
	g.Errors.Breached = g.Errors.Breached || g.Errors.reaches(bar)
	g.Slow.Breached = g.Slow.Breached || g.Slow.reaches(bar)
}

// Pair takes in one request that both sides were asked. While no user depends
// on the candidate it is about the monolith alone.
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
	g.Firsts.SincePair, g.Firsts.EverPair = 0, true
	if p.User == 0 {
		// Without users, the monolith's responses to the same requests are a
		// sample over the same time; at a full share they are the only one.
		o := p.Monolith
		g.monolith(0, response{Bad: o.Bad(), Latency: o.Latency, At: p.At.UnixNano()})
	}
}
