package guard

import (
	"slices"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// firsts is the test that takes one response of each user, whose hypothesis is
// the meter's own.
//
// Why one: a user's side is drawn by a hash once. Given all responses, the only
// chance left is that draw, and it is spent when the user is first seen; later
// responses of the same user repeat it. Frequent users are seen sooner than rare ones, on both
// sides alike. A user who is not known (0) is each time another one, which is what requests
// without stickiness are.
//
// Users come in generations: with each change of the share, and once the set of who was seen is
// half full, or hardly anybody new comes, all are forgotten and each counts anew. So a site of a
// million users fills nothing, and a site of a hundred goes on to be watched. The users of two
// generations may be the same, with the same draw of sides, so no evidence passes from one to
// the next: each is a test of its own, with its part of the error rate (grounds.go).
//
// Source: randomisation inference for cluster-randomised trials (Raudenbush
// 1997; Imbens & Rubin 2015, ch. 9), played as blocks of eprocess.Arms.Block.
type firsts struct {
	// Waiting are first responses of one side, Of, since the other's last. With the other's next
	// they make a block, so which responses make one depends on the order of the sides alone,
	// never on what the responses are like.
	Waiting []response   `json:"waiting"`
	Of      whittle.Side `json:"of"`
	// Alone says that the monolith gives no responses now; References counts how often that has
	// begun.
	Alone      bool `json:"alone"`
	References int  `json:"references"`
	// Users are those seen in the present generation, and Marked how many.
	Users  userSet `json:"users"`
	Marked int     `json:"marked,omitempty"`
	// Counted is how many users the candidate has had, those of each generation anew.
	Counted int `json:"counted"`
	// Generation counts the generations of users, from 0. Stale grows with each of the candidate's
	// responses to a user who was seen in it, and falls with each other one.
	Generation int `json:"generation,omitempty"`
	Stale      int `json:"stale,omitempty"`
	// SincePair counts the candidate's responses since one was compared, where
	// EverPair says that one was.
	SincePair int  `json:"since_pair"`
	EverPair  bool `json:"ever_pair"`
}

const (
	// waitMost is how many responses of one side wait for one of the other: of the monolith's the
	// newest count, and after so many of the candidate's the monolith gives none. Further ones of
	// the monolith would hardly add to a block of which one is the candidate's.
	waitMost = 64
	// pairedWithin is after how many responses of the candidate without a pair its
	// served exchanges count as not compared any more: 50 times the least watch share, 5 %.
	pairedWithin = 1000
)

// paired reports whether served exchanges are being compared.
func (f *firsts) paired() bool { return f.EverPair && f.SincePair < pairedWithin }

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

// A generation ends once the set of users is half full, and after staleMost of the
// candidate's responses of which fewer than 1 in freshWorth + 1 were a user's first: held by
// usersFillNothing in promisetest, where it takes about ten seconds.
const staleMost, freshWorth = 400, 7

// came takes note of a response of the candidate, which is a user's first one or not.
func (f *firsts) came(first bool) {
	if f.Stale++; first {
		f.Stale = max(0, f.Stale-1-freshWorth)
	}
}

// rollSpent begins another generation of users where the present one has little more to say. At a
// full share nobody is left to hold them against (settleAlone).
func (g *Guard) rollSpent() {
	if f := &g.Firsts; g.shifting() && g.Part != whittle.All && (2*f.Marked >= userSetBits || f.Stale >= staleMost) {
		g.roll()
	}
}

// roll begins another generation of users.
func (g *Guard) roll() {
	f := &g.Firsts
	f.Generation++
	g.Errors.roll()
	g.Slow.roll()
	g.forgetUsers()
}

// forgetUsers makes all users new.
func (g *Guard) forgetUsers() {
	f := &g.Firsts
	g.letGo(len(f.Waiting))
	f.Users, f.Marked, f.Stale, f.Alone = userSet{}, 0, 0, false
}

// letGo takes the oldest n out of those that wait. The monolith's are past then.
func (g *Guard) letGo(n int) {
	f := &g.Firsts
	if f.Of == whittle.Monolith {
		for _, m := range f.Waiting[:n] {
			g.Past.add(m)
		}
	}
	f.Waiting = slices.Delete(f.Waiting, 0, n)
}

// first takes a user's first response: it makes a block with those of the other side that wait, or
// waits itself. What was too long ago says nothing of how the two are now. Where the monolith
// stays silent, only requests of no known user go on alone: known ones may be a few busy users
// out of many.
func (g *Guard) first(side whittle.Side, a response, unknown bool) {
	f := &g.Firsts
	old := 0
	for old < len(f.Waiting) && a.At-f.Waiting[old].At > int64(sameTime) {
		old++
	}
	g.letGo(old)
	f.Alone = f.Alone && side == whittle.Candidate
	switch {
	case len(f.Waiting) > 0 && f.Of != side:
		ms, cs := f.Waiting, []response{a}
		if side == whittle.Monolith {
			ms, cs = cs, ms
		}
		g.settle(ms, cs)
		g.letGo(len(f.Waiting))
		if side == whittle.Monolith {
			g.Past.add(a)
		}
		return
	case f.Alone && unknown:
		g.settleAlone(a)
		return
	}
	f.Of, f.Waiting = side, append(f.Waiting, a)
	if len(f.Waiting) < waitMost {
		return
	}
	if side == whittle.Candidate && unknown {
		f.Alone = true
		f.References++
		for _, p := range f.Waiting {
			g.settleAlone(p)
		}
		f.Waiting = nil
		return
	}
	g.letGo(1)
}

// settle plays one block in the tests of errors and latency.
func (g *Guard) settle(ms, cs []response) {
	tau := float64(g.Past.p99())
	m, mSlow := tally(ms, tau)
	c, cSlow := tally(cs, tau*g.cfg.P99)
	g.Errors.Firsts.block(m, c, g.Past.badRate(), g.cfg.Errors)
	if g.cfg.P99 > 0 && tau > 0 {
		g.Slow.Firsts.block(mSlow, cSlow, slowShare, 0)
	}
	g.check()
}

// reference is what is known of the monolith while it gives no responses: how many were bad, and
// how many of the others above their 99th percentile.
type reference struct {
	All  seen          `json:"all"`
	Slow seen          `json:"slow"`
	Tau  time.Duration `json:"tau"`
}

// pastReference is the monolith as it was up to now.
func (g *Guard) pastReference() reference {
	tau := g.Past.p99()
	return reference{g.Past.seen(), g.Past.above(tau), tau}
}

// settleAlone plays a response of the candidate while the monolith gives none, against
// the upper bound on its rate. Of users who are known every response
// counts, and only at a full share: the same users in the same
// proportions were all on the monolith before the first of them moved, and that
// is what they are held against.
func (g *Guard) settleAlone(a response) {
	ref, errors, slow := g.aloneLimits()
	g.Errors.Firsts.alone(a.Bad, errors)
	if g.cfg.P99 > 0 && ref.Tau > 0 && !a.Bad {
		g.Slow.Firsts.alone(float64(a.Latency) > float64(ref.Tau)*g.cfg.P99, slow)
	}
	g.check()
}

// aloneLimits are the bounds on the monolith's rates that a candidate is held to without it: as it
// was with all users on it, where that is known. The chance that the k-th of them
// is wrong is a tenth of the error rate, split by 1/(k(k+1)).
func (g *Guard) aloneLimits() (ref reference, errors, slow float64) {
	if ref = g.Whole; g.Part != whittle.All || ref.All.N == 0 {
		ref = g.pastReference()
	}
	beta := eprocess.OfNth(eprocess.OfReference*g.level(), max(1, g.Firsts.References))
	return ref, ref.All.high(beta) + g.cfg.Errors, ref.Slow.high(beta)
}

// userSetBits is the size of the set of users that were seen, 4 KiB of a state of 64. Two users on
// one bit count as one. That costs evidence but favours no side, because bit and side are
// drawn by different hashes.
const userSetBits = 1 << 15

// userSet is a set of users by one bit each. The zero value is empty.
type userSet [userSetBits / 64]uint64

// slotOf is a user's bit. It says nothing of the side, which is chosen by another mixture of the
// same hash.
func slotOf(user uint64) uint64 { return digest.Mix(user^0x2545f4914f6cdd1d) % userSetBits }

func (s *userSet) has(at uint64) bool { return s[at/64]&(1<<(at%64)) != 0 }
func (s *userSet) add(at uint64)      { s[at/64] |= 1 << (at % 64) }

// MarshalText keeps a set.
func (s *userSet) MarshalText() ([]byte, error) { return digest.Words(s) }

// UnmarshalText restores what MarshalText kept.
func (s *userSet) UnmarshalText(text []byte) error { return digest.FromWords(text, s) }
