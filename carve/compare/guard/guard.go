// Package guard watches the candidate while users depend on it: sequential tests of errors, latency and
// mismatch say when to roll it back. All attempts at a rollout share one error rate.
package guard

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
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
// a part of the meter's wealth (grounds): the first response of each user (firsts), and both
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
// Mirrored latencies may also delay a rise (slowness). Sources: eprocess.Blocks, eprocess.Bets.
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

// firsts is the test that takes one response of each user, under the meter's own hypothesis.
//
// A hash draws a user's side once. Given all responses, that draw is the only chance left. It is spent
// when the user is first seen; later responses repeat it. Frequent users are seen sooner than rare
// ones, on both sides alike. A user who is not known (0) is another one each time, as is right for
// requests without stickiness.
//
// Users come in generations. All are forgotten with each change of the share, and once the set of
// seen users is half full or hardly anybody new comes. So a site of a million users fills nothing,
// and a site of a hundred is watched on. Two generations may have the same users with the same draw,
// so each is a test of its own, with its part of the error rate (grounds).
//
// Source: randomisation inference for cluster-randomised trials (Raudenbush 1997; Imbens & Rubin
// 2015, ch. 9), played as eprocess.Blocks.
type firsts struct {
	// Waiting are first responses of one side, Of, since the other's last. They make a block with the
	// other's next. So the order of the sides alone makes the blocks, never the responses themselves.
	Waiting []response   `json:"waiting"`
	Of      whittle.Side `json:"of"`
	// Users are the users seen in the present generation, and Marked their number.
	Users  userSet `json:"users"`
	Marked int     `json:"marked,omitempty"`
	// Counted is how many users the candidate has had, each generation's counted anew.
	Counted int `json:"counted"`
	// Generation counts the generations of users, from 0. Stale grows with each of the candidate's
	// responses to a user seen in it, and falls with each to a new one.
	Generation int `json:"generation,omitempty"`
	Stale      int `json:"stale,omitempty"`
	// Paired counts down from windowSize with each response of the candidate that is not compared. Above 0
	// the route compares users' responses: the least watch share, 5 %, pairs a hundred of so many.
	Paired int `json:"paired"`
}

// waitMost is how many responses of one side, the newest, wait for one of the other. Further ones would
// hardly add to a block with one response of the other.
const waitMost = 64

// isFirst says whether this is a user's first response, and remembers the user.
func (f *firsts) isFirst(user uint64, side whittle.Side) bool {
	if user == 0 {
		return true
	}
	at := slotOf(user)
	if f.Users.has(at) {
		return false // also where the monolith answered before as an exception
	}
	f.Users.add(at)
	f.Marked++
	f.Counted += int(side & 1)
	return true
}

// A generation ends once the set of users is half full, or after staleMost of the candidate's responses
// with fewer than 1 in freshWorth + 1 a user's first. usersFillNothing in promisetest holds this, where
// it takes about ten seconds.
const staleMost, freshWorth = 400, 7

// came notes whether a response of the candidate is its user's first.
func (f *firsts) came(first bool) {
	if f.Stale++; first {
		f.Stale = max(0, f.Stale-1-freshWorth)
	}
}

// rollSpent begins another generation where the present one has little more to say. At a full share no
// users are left to compare with (settleAlone).
func (g *Guard) rollSpent() {
	if f := &g.Firsts; g.shifting() && g.Part != whittle.All && (2*f.Marked >= userSetBits || f.Stale >= staleMost) {
		g.roll()
	}
}

// roll begins another generation of users.
func (g *Guard) roll() {
	f := &g.Firsts
	f.Generation++
	g.Errors.Firsts, g.Slow.Firsts = eprocess.Blocks{}, eprocess.Blocks{}
	g.forgetUsers()
}

func (g *Guard) forgetUsers() {
	f := &g.Firsts
	g.letGo(len(f.Waiting))
	f.Users, f.Marked, f.Stale = nil, 0, 0
}

// letGo drops the oldest n of those that wait. The monolith's go to its past.
func (g *Guard) letGo(n int) {
	f := &g.Firsts
	if f.Of == whittle.Monolith {
		for _, m := range f.Waiting[:n] {
			g.Past.add(m)
		}
	}
	f.Waiting = slices.Delete(f.Waiting, 0, n)
}

// first takes a user's first response: it makes a block with the other side's waiting ones, or waits
// itself. Responses from too long ago say nothing of how the two sides are now.
func (g *Guard) first(side whittle.Side, a response) {
	f := &g.Firsts
	old := 0
	for old < len(f.Waiting) && a.At-f.Waiting[old].At > int64(sameTime) {
		old++
	}
	g.letGo(old)
	if len(f.Waiting) == 0 || f.Of == side {
		f.Of, f.Waiting = side, append(f.Waiting, a)
		if len(f.Waiting) >= waitMost {
			g.letGo(1)
		}
		return
	}
	ms, cs := f.Waiting, []response{a}
	if side == whittle.Monolith {
		ms, cs = cs, ms
	}
	g.settle(ms, cs)
	g.letGo(len(f.Waiting))
	if side == whittle.Monolith {
		g.Past.add(a)
	}
}

// settle plays one block in the tests of errors and latency.
func (g *Guard) settle(ms, cs []response) {
	tau := float64(g.Past.P99)
	m, mSlow := tally(ms, tau)
	c, cSlow := tally(cs, tau*g.cfg.P99)
	g.Errors.block(m, c, g.Past.badRate(), g.cfg.Errors)
	if g.cfg.P99 > 0 && tau > 0 {
		g.Slow.block(mSlow, cSlow, slowShare, 0)
	}
	g.check()
}

// settleAlone plays a response of the candidate at a full share without pairs, where the monolith gives
// none. It is tested against an upper bound on the monolith's rate, as it was with all users on it where
// that is known: the same users in the same proportions were on the monolith before the first of them
// moved. The bound is wrong with a chance of eprocess.OfReference of the error rate.
func (g *Guard) settleAlone(a response) {
	known, tau := g.Whole, g.WholeP99
	if known.N == 0 {
		known, tau = g.Past.seen(), g.Past.P99
	}
	level := g.level()
	alone := func(e *grounds, bad bool, of eprocess.Share, room float64) {
		b := &e.Bets[fromPairs]
		b.SeeShare(bad, of.High(eprocess.OfReference*level)+room, level, b.Rounds+1)
	}
	alone(&g.Errors, a.Bad, known, g.cfg.Errors)
	if g.cfg.P99 > 0 && tau > 0 && !a.Bad {
		good := known.N - known.Differing
		slow := eprocess.Share{N: good, Differing: int(slowShare * float64(good))} // those above a 99th percentile
		alone(&g.Slow, float64(a.Latency) > float64(tau)*g.cfg.P99, slow, 0)
	}
	g.check()
}

// userSetBits is the size of the set of seen users: 4 KiB of a state of 64. Two users on one bit count
// as one. That costs evidence but favours no side, because different hashes draw bit and side.
const userSetBits = 1 << 15

// userSet is a set of users, one bit each. The zero value is empty and takes no room.
type userSet []byte

// slotOf is a user's bit. It does not depend on the side, which another mixture of the same hash chooses.
func slotOf(user uint64) uint64 { return digest.Mix(user^0x2545f4914f6cdd1d) % userSetBits }

func (s userSet) has(at uint64) bool { return len(s) > 0 && s[at/8]&(1<<(at%8)) != 0 }

func (s *userSet) add(at uint64) {
	if len(*s) == 0 {
		*s = make(userSet, userSetBits/8)
	}
	(*s)[at/8] |= 1 << (at % 8)
}

// grounds are one meter's tests and what they have seen.
type grounds struct {
	// Firsts is the test of the present generation of users.
	Firsts eprocess.Blocks `json:"firsts"`
	// Bets are on pairs, by source.
	Bets [sources]eprocess.Bets `json:"bets"`
	// Candidate and Monolith count all responses of this attempt, only to be shown.
	Candidate eprocess.Share `json:"candidate"`
	Monolith  eprocess.Share `json:"monolith"`
	Breached  bool           `json:"breached,omitempty"`
}

// The sources of a meter's evidence.
const (
	fromFirsts   = iota // the first response of each user
	fromPairs           // the candidate asked first, or alone
	fromMirrored        // the monolith asked first, while users are on the candidate
	sources
)

// parts is each source's part of all wealth: a mean of e-processes is one, however they depend on each
// other. Set by TestTableOfGuards. Generations of users split their part by eprocess.OfAttempts. A later
// generation meets the bar alone, because it may have the same users on the same sides: it may win again
// what an earlier one won, and only the sum of their chances is bounded.
var parts = [sources]float64{fromFirsts: 0.8, fromPairs: 0.1, fromMirrored: 0.1}

func newGrounds() (e grounds) {
	for i := range e.Bets {
		e.Bets[i] = eprocess.NewBets()
	}
	return e
}

func (e *grounds) bet(source int, payoff, level float64) {
	b := &e.Bets[source]
	b.Bet(payoff, level, b.Rounds+1)
}

// eValue is the wealth of the pairs and the first generation of users, or a later generation's if that
// is more. most is the source of most of it.
func (e *grounds) eValue(generation int) (sum float64, most int) {
	w := parts
	for i := range w {
		w[i] *= e.Bets[i].Now
	}
	users := parts[fromFirsts] * eprocess.OfAttempts(generation+1) * e.Firsts.EValue()
	if w[fromFirsts] = users; generation > 0 {
		w[fromFirsts] = 0
	}
	for _, v := range w {
		sum += v
	}
	if most = slices.Index(w[:], slices.Max(w[:])); users > sum {
		sum, most = users, fromFirsts
	}
	return min(sum, eprocess.EValueCap), most
}

// block plays one block of first responses of both sides.
func (e *grounds) block(m, c eprocess.Share, guess, slack float64) {
	if m.N > 0 && c.N > 0 {
		e.Firsts.Play(eprocess.NewOdds(guess, slack, m.N, c.N), m, c)
	}
}

// tally counts responses, and of the good ones those above a latency.
func tally(list []response, limit float64) (all, slow eprocess.Share) {
	for _, a := range list {
		if all.See(a.Bad); !a.Bad {
			slow.See(float64(a.Latency) > limit)
		}
	}
	return all, slow
}

const (
	// sameTime is how far apart two compared responses may lie: a load on both sides does not change
	// faster (promisetest, TestGuardFalseAlarms).
	sameTime = 10 * time.Minute
	// windowSize is the size of a sliding window: about 20 of its responses lie above the 99th percentile.
	windowSize = 2048
)

// response is what the guards keep of an outcome.
type response struct {
	Bad     bool          `json:"b,omitempty"`
	Latency time.Duration `json:"l"`
	At      int64         `json:"t"`
}

// window holds the last responses of one side.
type window struct {
	// Ring has each latency in microseconds, negative for a bad one. Once full, the oldest is at Next.
	Ring []int32 `json:"ring"`
	Next int     `json:"next"`
	Bad  int     `json:"bad"`
	// P99 is the 99th percentile of the good ones, found anew after each hundred; 0 before.
	P99 time.Duration `json:"p99"`
}

func (w *window) add(a response) {
	entry := int32(min(a.Latency/time.Microsecond, math.MaxInt32))
	if a.Bad {
		entry = math.MinInt32
		w.Bad++
	}
	if len(w.Ring) < windowSize {
		w.Ring = append(w.Ring, entry)
		w.Next = len(w.Ring)
	} else {
		w.Next %= windowSize
		w.Bad -= int(eprocess.Indicator(w.Ring[w.Next] < 0))
		w.Ring[w.Next] = entry
		w.Next++
	}
	if w.Next%int(1/slowShare) == 0 {
		w.look()
	}
}

// look finds the 99th percentile, once a hundred responses were good.
func (w *window) look() {
	good := len(w.Ring) - w.Bad
	if good < 1/slowShare {
		return
	}
	slowest := slices.Clone(w.Ring[:int(slowShare*float64(good))+1])
	slices.Sort(slowest)
	for _, l := range w.Ring[len(slowest):] {
		if l > slowest[0] {
			i, _ := slices.BinarySearch(slowest, l)
			copy(slowest, slowest[1:i])
			slowest[i-1] = l
		}
	}
	w.P99 = time.Duration(slowest[0]) * time.Microsecond
}

// seen counts the responses and the bad ones among them.
func (w *window) seen() eprocess.Share { return eprocess.Share{N: len(w.Ring), Differing: w.Bad} }

// badRate is a guess at the share of bad responses, about 1 % before there are any.
func (w *window) badRate() float64 { return (float64(w.Bad) + 0.05) / (float64(len(w.Ring)) + 5) }

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
