package guard

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
)

// contest is the state of one two-sample test.
type contest struct {
	Evidence eprocess.Staked `json:"evidence"`
	// Count and Bad are the candidate's units in the test; MCount and MBad the
	// monolith's over the same time.
	Count  int `json:"n"`
	Bad    int `json:"bad"`
	MCount int `json:"mn,omitempty"`
	MBad   int `json:"mbad,omitempty"`

	book eprocess.OddsBook
	odds eprocess.FixedOdds // of alone
}

// block plays one block; each side's kind of response says whether a response
// counts, and whether it is a bad one.
func (c *contest) block(ms, cs []response, guess, slack float64, kindM, kindC func(response) (counts, bad bool)) {
	m, mBad := tally(ms, kindM)
	n, bad := tally(cs, kindC)
	c.play(m, mBad, n, bad, guess, slack)
}

// play plays one block of m and n units, of which so many are bad.
func (c *contest) play(m, mBad, n, bad int, guess, slack float64) {
	c.Count, c.Bad, c.MCount, c.MBad = c.Count+n, c.Bad+bad, c.MCount+m, c.MBad+mBad
	if m > 0 && n > 0 {
		if c.book == nil {
			c.book = eprocess.OddsBook{}
		}
		odds := c.book.Find(guess, slack, m, n)
		c.Evidence.Play(func(a *eprocess.Arms) { a.Block(odds, mBad, m-mBad, bad, n-bad) })
	}
}

func tally(list []response, kind func(response) (counts, bad bool)) (n, bad int) {
	for _, a := range list {
		if counts, b := kind(a); counts {
			n++
			bad += int(eprocess.Indicator(b))
		}
	}
	return n, bad
}

// alone plays one response against a fixed limit.
func (c *contest) alone(bad bool, limit float64) {
	b := int(eprocess.Indicator(bad))
	c.Count, c.Bad = c.Count+1, c.Bad+b
	if limit < 0.95 {
		odds := c.odds.At(limit)
		c.Evidence.Play(func(a *eprocess.Arms) { a.Against(odds, b, 1-b) })
	}
}

// firsts is the test that takes one response of each user, whose hypothesis is
// the meter's own.
//
// Why one: a user's side is drawn by a hash once. Given all responses, the only
// chance left is that draw, and it is spent when the user is first seen; later
// responses of the same user repeat it. Two kinds of user are each held against
// their like, since they have different chances of being on the candidate: those
// never seen before in this attempt, and those who were seen on the monolith just
// before the last change of the share and were then moved or left where they were.
// Frequent users are seen sooner than rare ones, on both sides alike. A user who
// is not known (0) is each time another one, which is what requests without
// stickiness are.
//
// Source: randomisation inference for cluster-randomised trials (Raudenbush
// 1997; Imbens & Rubin 2015, ch. 9), played as blocks of eprocess.Arms.Block.
type firsts struct {
	Blocks [2]blocks `json:"blocks"` // by kind
	// Now are the users seen since the last change of the share, Before those
	// between the last two, Ever all of this attempt, and OnCandidate those of them
	// who ever were on the candidate.
	Now         userSet `json:"now"`
	Before      userSet `json:"before"`
	Ever        userSet `json:"ever"`
	OnCandidate userSet `json:"on_candidate"`
	// Counted is how many users the candidate has had.
	Counted int `json:"counted"`
	// SincePair counts the candidate's responses since one was compared, where
	// EverPair says that one was.
	SincePair int  `json:"since_pair"`
	EverPair  bool `json:"ever_pair"`
}

func (f *firsts) valid() bool {
	for _, b := range f.Blocks {
		if len(b.Reserve) > maxReserve || len(b.Pending) >= maxPending || len(b.Reserve) > 0 && len(b.Pending) > 0 || b.References < 0 {
			return false
		}
	}
	return f.Counted >= 0 && f.SincePair >= 0
}

type userKind int

const (
	notFirst userKind = iota - 1
	neverSeen
	seenBefore
)

// pairedWithin is after how many responses of the candidate without a pair its
// served exchanges count as not compared any more.
const pairedWithin = 1024

// paired reports whether served exchanges are being compared.
func (f *firsts) paired() bool { return f.EverPair && f.SincePair < pairedWithin }

// classify says which kind of first response this is, and remembers its user.
func (f *firsts) classify(user uint64, side whittle.Side) userKind {
	if user == 0 {
		return neverSeen
	}
	at := slotOf(user)
	if f.OnCandidate.has(at) {
		return notFirst
	}
	if side == whittle.Candidate {
		f.OnCandidate.add(at)
		f.Counted++
	}
	if f.Now.has(at) {
		return notFirst // on the candidate: the monolith answered before as an exception
	}
	f.Now.add(at)
	switch {
	case f.Before.has(at):
		return seenBefore
	case f.Ever.has(at):
		return notFirst
	}
	return neverSeen
}

// begin makes all users new.
func (f *firsts) begin(past *window) {
	f.newEra(past)
	f.Before, f.Ever = userSet{}, userSet{}
}

// newEra makes the users of the time before known.
func (f *firsts) newEra(past *window) {
	f.Before = f.Now
	f.Ever.join(&f.Now)
	f.Now = userSet{}
	for i := range f.Blocks {
		f.Blocks[i].clear(past)
	}
}

// restart forgets who was seen.
func (f *firsts) restart(past *window) {
	f.begin(past)
	f.OnCandidate = userSet{}
	f.Counted, f.SincePair, f.EverPair = 0, 0, false
	for i := range f.Blocks {
		f.Blocks[i].References = 0
	}
}

// firstOfMonolith closes the block of candidate's responses that wait for one of
// the monolith's, or keeps it for the next.
func (g *Guard) firstOfMonolith(b *blocks, a response) {
	b.Alone = false
	b.forget(a.At)
	if len(b.Pending) > 0 {
		g.settle([]response{a}, b.Pending)
		b.Pending = b.Pending[:0]
		g.Past.add(a)
		return
	}
	if len(b.Reserve) == maxReserve {
		g.Past.add(b.Reserve[0])
		b.Reserve = append(b.Reserve[:0], b.Reserve[1:]...)
	}
	b.Reserve = append(b.Reserve, a)
}

// firstOfCandidate plays a response of the candidate: at once, with the
// monolith's responses since the last one; or later, where there are none. Where
// the monolith stays silent, only requests of no known user go on alone: known
// ones may be a few busy users out of many.
func (g *Guard) firstOfCandidate(b *blocks, a response, unknown bool) {
	b.expire(a.At, &g.Past)
	switch {
	case len(b.Reserve) > 0:
		g.settle(b.Reserve, append(b.Pending, a))
		for _, m := range b.Reserve {
			g.Past.add(m)
		}
		b.Reserve, b.Pending = b.Reserve[:0], b.Pending[:0]
	case b.Alone && unknown:
		g.settleAlone(a)
	case len(b.Pending)+1 < maxPending:
		b.Pending = append(b.Pending, a)
	case !unknown:
		b.Pending = append(b.Pending[:0], b.Pending[1:]...)
		b.Pending = append(b.Pending, a)
	default:
		b.Alone = true
		b.References++
		for _, p := range append(b.Pending, a) {
			g.settleAlone(p)
		}
		b.Pending = b.Pending[:0]
	}
}

// settle plays one block in the tests of errors and latency.
func (g *Guard) settle(ms, cs []response) {
	bad := func(a response) (bool, bool) { return true, a.Bad }
	g.Errors.Firsts.block(ms, cs, g.Past.badRate(), g.cfg.Errors, bad, bad)
	if tau := g.Past.p99(); g.cfg.P99 > 0 && tau > 0 {
		limit := time.Duration(float64(tau) * g.cfg.P99)
		g.Slow.Firsts.block(ms, cs, slowShare, 0,
			func(a response) (bool, bool) { return !a.Bad, a.Latency > tau },
			func(a response) (bool, bool) { return !a.Bad, a.Latency > limit })
	}
	g.check()
}

// reference is what is known of the monolith while it gives no responses.
type reference struct {
	Bad   int           `json:"bad"`
	N     int           `json:"n"`
	Tau   time.Duration `json:"tau"`
	Above int           `json:"above"`
	Good  int           `json:"good"`
}

// pastReference is the monolith as it was up to now.
func (g *Guard) pastReference() reference {
	tau := g.Past.p99()
	above, good := g.Past.above(tau)
	return reference{g.Past.Bad, g.Past.N, tau, above, good}
}

// settleAlone plays a response of the candidate while the monolith gives none:
// against a rate above which the monolith's was not, with the chance in
// referenceRisk, unless it has changed since its last responses. Of known users,
// every response counts, and only at a full share: the same users in the same
// proportions were all on the monolith before the first of them moved, and that
// is what they are held against.
func (g *Guard) settleAlone(a response) {
	beta, ref := g.referenceRisk(), g.aloneReference()
	g.Errors.Firsts.alone(a.Bad, g.upper[0].Of(ref.Bad, ref.N, beta)+g.cfg.Errors)
	if g.cfg.P99 > 0 && ref.Tau > 0 && !a.Bad {
		g.Slow.Firsts.alone(float64(a.Latency) > float64(ref.Tau)*g.cfg.P99, g.upper[1].Of(ref.Above, ref.Good, beta))
	}
	g.check()
}

// aloneReference is the monolith with all users on it, where that is known.
func (g *Guard) aloneReference() reference {
	if g.Part == whittle.All && g.Whole.N > 0 {
		return g.Whole
	}
	return g.pastReference()
}

// referenceRisk is the chance that the k-th bound on the monolith's rate is
// wrong: a tenth of the error rate, split by 1/(k(k+1)).
func (g *Guard) referenceRisk() float64 {
	k := float64(max(1, g.Firsts.Blocks[neverSeen].References))
	return 0.1 * g.level() / (k * (k + 1))
}

// userSetBits is the size of the set of users that were seen. Two users on one bit
// count as one. That costs evidence but favours no side, because bit and side are
// drawn by different hashes.
const userSetBits = 1 << 14

// userSet is a set of users by one bit each. The zero value is empty.
type userSet [userSetBits / 64]uint64

// slotOf is a user's bit.
func slotOf(user uint64) uint64 { return spread(user) % userSetBits }

// spread mixes a user's hash, so that what is chosen by it says nothing of the
// side, which is chosen by another mixture of the same hash.
func spread(h uint64) uint64 {
	h = (h ^ 0x2545f4914f6cdd1d ^ h>>31) * 0x7fb5d329728ea185
	h = (h ^ h>>27) * 0x81dadef4bc2dd44d
	return h ^ h>>33
}

func (s *userSet) has(at uint64) bool { return s[at/64]&(1<<(at%64)) != 0 }
func (s *userSet) add(at uint64)      { s[at/64] |= 1 << (at % 64) }

func (s *userSet) join(o *userSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// MarshalText keeps a set, in base64.
func (s *userSet) MarshalText() ([]byte, error) {
	b := make([]byte, 0, userSetBits/8)
	for _, w := range s {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText restores what MarshalText kept.
func (s *userSet) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(b) != userSetBits/8 {
		return errState
	}
	for i := range s {
		s[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return nil
}
