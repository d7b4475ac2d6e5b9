package guard

import (
	"slices"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

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
// so each is a test of its own, with its part of the error rate (grounds.go).
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
