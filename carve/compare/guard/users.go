package guard

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"whittle/carve/compare/eprocess"
)

const (
	// userSlots bounds the users whose past is known, userWays how many share one
	// place in the table.
	userSlots = 1024
	userWays  = 4
	// runLength is how many responses make one unit of a user.
	runLength = 16
	// minPast is how many responses a user's own slow latency takes, and maxPast
	// where counting ends, so that a user who is gone makes room for another.
	minPast, maxPast = 24, 1024
	// ownShare is the share of a user's responses above their own slow latency.
	ownShare = 0.25
	// slowRun is how many slow responses of a run make it a slow one: of a user
	// who is as before, one run in twelve has as many.
	slowRun = 7
)

// userSlot is one user: how they were while all users were on the monolith, and
// the run of responses under way.
type userSlot struct {
	tag    uint32  // 0: nobody
	past   uint16  // good responses that slow was learnt from
	slow   float32 // logarithm, in µs, of the user's own third quartile
	n      uint8   // of the run
	bad    uint8
	over   uint8 // responses slower than slow, times the limit on the candidate
	status userStatus
}

type userStatus uint8

const (
	userMoved      userStatus = 1 << iota // was on the candidate in this attempt
	userSpent                             // gives no unit any more in this era
	userSeen                              // was on the monolith in this era
	userSeenBefore                        // was on the monolith in the era before
)

// userRuns is the test whose unit is a user's run of responses.
//
// A unit is bad for the errors guard if any of its responses was, and for the
// p99 guard if slowRun of them were slower than that user's own third quartile,
// learnt while all users were on the monolith (on the candidate: than Guard.P99
// times that). So a user who always was slow is not slow by it, and a load under
// which everybody gets slower makes slow units on both sides.
//
// Hypothesis: of the users who were on the monolith before the share changed, the
// probability of a bad unit is for those whom the hash moved at most that of
// those whom it left, plus 1 − (1 − Guard.Errors)^runLength for errors. It
// follows from the meter's own hypothesis for any users however unlike, since the
// hash knows nothing of them; each user counts once on a side in an era, whatever
// their rate of requests, and busy users are done sooner on both sides alike.
//
// Source: as firsts; holding users against their own past as well is a
// difference in differences.
type userRuns struct {
	Slots userTable `json:"slots"`
	// Errors and Slow hold the units that have no counterpart yet.
	Errors unitTray `json:"errors"`
	Slow   unitTray `json:"slow"`
	// Counted is how many users of the candidate have given a unit.
	Counted int `json:"counted"`
}

// userTable is kept as the slots that are taken.
type userTable [userSlots]userSlot

// unitTray keeps the monolith's newest 64 units since the candidate's last, or
// the candidate's since the monolith's last.
type unitTray struct {
	MBits  uint64 `json:"m"` // 1: bad; the newest is the lowest
	MCount int    `json:"mn"`
	Count  int    `json:"n"`
	Bad    int    `json:"bad"`
}

func tagOf(user uint64) (set int, tag uint32) {
	h := spread(user ^ 0x6a09e667f3bcc909)
	return int(h%(userSlots/userWays)) * userWays, uint32(h>>32) | 1
}

// find gives a user's slot; nil: there is none.
func (u *userRuns) find(user uint64) *userSlot {
	set, tag := tagOf(user)
	for i := set; i < set+userWays; i++ {
		if u.Slots[i].tag == tag {
			return &u.Slots[i]
		}
	}
	return nil
}

// admit gives a user's slot. In a full set the user with the least past loses a
// little of it, and the place with the last of it: users with many requests stay.
func (u *userRuns) admit(user uint64) *userSlot {
	if s := u.find(user); s != nil {
		return s
	}
	set, tag := tagOf(user)
	least := &u.Slots[set]
	for i := set; i < set+userWays; i++ {
		if s := &u.Slots[i]; s.tag == 0 || least.tag != 0 && s.past < least.past {
			least = s
		}
	}
	if least.tag != 0 && least.past > 0 {
		least.past--
		return nil
	}
	*least = userSlot{tag: tag}
	return least
}

// learn takes a good response of the monolith into a user's past: a stochastic
// approximation of the quantile (Robbins & Monro 1951) on the logarithms.
func (s *userSlot) learn(d time.Duration) {
	x := logMicros(d)
	s.past = min(s.past+1, maxPast)
	if s.past == 1 {
		s.slow = x
		return
	}
	rate := max(2/float32(s.past+2), 0.02)
	if x > s.slow {
		s.slow += rate * (1 - ownShare)
	} else {
		s.slow -= rate * ownShare
	}
}

func logMicros(d time.Duration) float32 {
	return float32(math.Log(max(float64(d)/float64(time.Microsecond), 1)))
}

// take adds a response to the run; done says that the unit is whole.
func (s *userSlot) take(a response, room float32) (done bool) {
	s.n++
	switch {
	case a.Bad:
		s.bad++
	case logMicros(a.Latency) > s.slow+room:
		s.over++
	}
	return s.n >= runLength
}

// ready reports whether a user may give a unit in this era: one who was seen
// just before it, so that those who moved and those who stayed are alike.
func (s *userSlot) ready(era int) bool { return era == 1 || s.status&userSeenBefore != 0 }

// begin makes the first era of a shift.
func (u *userRuns) begin() { u.anew(func(s userStatus) userStatus { return s & userMoved }) }

// anew begins every run anew, each user with a status that follows from the last.
func (u *userRuns) anew(status func(userStatus) userStatus) {
	for i := range u.Slots {
		s := &u.Slots[i]
		s.n, s.bad, s.over, s.status = 0, 0, 0, status(s.status)
	}
	u.Errors, u.Slow = unitTray{}, unitTray{}
}

// newEra begins every run anew. Who was moved before gives no unit any more:
// the draw that moved them is over.
func (u *userRuns) newEra() {
	u.anew(func(s userStatus) userStatus {
		status := s & userMoved
		if status != 0 {
			status |= userSpent
		}
		if s&userSeen != 0 {
			status |= userSeenBefore
		}
		return status
	})
}

// restart makes every user one who never was on the candidate.
func (u *userRuns) restart() {
	u.anew(func(userStatus) userStatus { return 0 })
	u.Counted = 0
}

// userOfMonolith takes a response of the monolith to a known user.
func (g *Guard) userOfMonolith(user uint64, a response) {
	if !g.settled() {
		if s := g.Users.admit(user); s != nil && !a.Bad {
			s.learn(a.Latency)
		}
		return
	}
	s := g.Users.find(user)
	if s == nil || s.status&userMoved != 0 {
		return
	}
	s.status |= userSeen
	if s.status&userSpent != 0 || !s.ready(g.Era) || !s.take(a, 0) {
		return
	}
	s.status |= userSpent
	g.Errors.begin(fromUsers)
	g.Errors.Users.monolithUnit(&g.Users.Errors, s.bad > 0, g.unitSlack())
	if s.past >= minPast && g.cfg.P99 > 0 {
		g.Slow.begin(fromUsers)
		g.Slow.Users.monolithUnit(&g.Users.Slow, s.over >= slowRun, 0)
	}
	g.check()
}

// userOfCandidate takes a response of the candidate to a known user.
func (g *Guard) userOfCandidate(user uint64, a response) {
	s := g.Users.find(user)
	if s == nil || !g.settled() {
		return
	}
	if s.status&userMoved == 0 {
		s.n, s.bad, s.over = 0, 0, 0
		s.status |= userMoved
		if !s.ready(g.Era) {
			s.status |= userSpent
		}
	}
	if s.status&userSpent != 0 || !s.take(a, float32(math.Log(max(g.cfg.P99, 1e-3)))) {
		return
	}
	s.status |= userSpent
	g.Users.Counted++
	g.Errors.begin(fromUsers)
	g.Errors.Users.candidateUnit(&g.Users.Errors, s.bad > 0, g.unitSlack())
	if s.past >= minPast && g.cfg.P99 > 0 {
		g.Slow.begin(fromUsers)
		g.Slow.Users.candidateUnit(&g.Users.Slow, s.over >= slowRun, 0)
	}
	g.check()
}

// unitSlack is by how much more often a run may have a bad response where each
// response may be bad with Guard.Errors more.
func (g *Guard) unitSlack() float64 {
	return min(1-math.Pow(1-min(max(g.cfg.Errors, 0), 1), runLength), 0.9)
}

// unitGuess steers the power of the test of units, and not its validity.
func (c *contest) unitGuess() float64 {
	return (float64(c.MBad) + 0.5) / (float64(c.MCount) + 10)
}

// monolithUnit closes the block of units that wait for one of the monolith's.
func (c *contest) monolithUnit(t *unitTray, bad bool, slack float64) {
	b := eprocess.Indicator(bad)
	if t.Count > 0 {
		c.play(1, int(b), t.Count, t.Bad, c.unitGuess(), slack)
		*t = unitTray{}
		return
	}
	t.MBits = t.MBits<<1 | uint64(b)
	t.MCount = min(t.MCount+1, 64)
}

// candidateUnit plays a unit against those of the monolith since the last one,
// or keeps it for the next; more than maxPending do not wait.
func (c *contest) candidateUnit(t *unitTray, bad bool, slack float64) {
	b := int(eprocess.Indicator(bad))
	switch {
	case t.MCount > 0:
		mBad := bits.OnesCount64(t.MBits << (64 - t.MCount))
		c.play(t.MCount, mBad, 1, b, c.unitGuess(), slack)
		*t = unitTray{}
	case t.Count < maxPending:
		t.Count++
		t.Bad += b
	}
}

func (t *unitTray) valid() bool {
	return t.MCount >= 0 && t.MCount <= 64 && t.Bad >= 0 && t.Bad <= t.Count && t.Count <= maxPending &&
		(t.MCount == 0 || t.Count == 0)
}

// slotBytes is a kept slot: its place and its fields.
const slotBytes = 2 + 4 + 2 + 4 + 4

// MarshalText keeps the table, in base64.
func (t *userTable) MarshalText() ([]byte, error) {
	var b []byte
	for i := range t {
		s := &t[i]
		if s.tag == 0 {
			continue
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(i))
		b = binary.LittleEndian.AppendUint32(b, s.tag)
		b = binary.LittleEndian.AppendUint16(b, s.past)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(s.slow))
		b = append(b, s.n, s.bad, s.over, byte(s.status))
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText puts back what MarshalText gave, and fails where it is impossible.
func (t *userTable) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(b)%slotBytes != 0 {
		return errState
	}
	*t = userTable{}
	for ; len(b) > 0; b = b[slotBytes:] {
		at := binary.LittleEndian.Uint16(b)
		if at >= userSlots {
			return errState
		}
		s := userSlot{
			tag: binary.LittleEndian.Uint32(b[2:]), past: binary.LittleEndian.Uint16(b[6:]),
			slow: math.Float32frombits(binary.LittleEndian.Uint32(b[8:])),
			n:    b[12], bad: b[13], over: b[14], status: userStatus(b[15]),
		}
		if !s.valid() || t[at].tag != 0 {
			return errState
		}
		t[at] = s
	}
	return nil
}

func (s *userSlot) valid() bool {
	return s.tag != 0 && s.past <= maxPast && s.slow >= -100 && s.slow <= 100 &&
		s.n <= runLength && s.bad <= s.n && s.over <= s.n && s.status < 1<<4
}
