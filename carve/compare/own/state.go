// Package own tells apart, at a place where the candidate differs, what may move there: a state
// that each server holds by itself, such as a cache or a price that each process refreshes, data
// that both sides share, and a candidate that is wrong. What is wrong and constant, or drawn for
// each response, moves on one side only. Two states that are each server's own move now here and
// now there: they are no fault, and are UNDECIDED until the config says what they are. What moves
// on both sides at a time is shared data, or two caches that the same requests fill: nothing tells
// the two apart, so it is UNDECIDED as well.
package own

import (
	"time"

	"whittle/carve/compare/eprocess"
)

// Bounds of a state. Simulations: TestStatesThatMoveRaiseNoAlarm, TestRefreshedStatesRaiseNoAlarm
// and, for headers, TestOwnNotices.
const (
	// Enough is how many repeats there must be before it is said what the monolith changes by itself,
	// and what it does not.
	Enough = 10 // repeats
	// Seldom is in which share of exchanges the monolith's two responses may differ where
	// bets decide.
	Seldom = 0.1
	// Early is how long what is the same for all requests is watched before it is taken for
	// something that does not move: a state that moves once a minute stays so with a chance of
	// 1/e, and is taken back when it does move.
	Early = time.Minute
	// often is how many times as often as at once the monolith must have moved between two looks
	// for time to have moved it.
	often = 2
	// least is how many moves of either side without the other's show that each moves by itself,
	// and apart how many times as many there may be of any other sort: of both, as data that move
	// between two responses show as such, too, and of the other side.
	least, apart = 3, 4 // moves, times
)

// State says how what differs at a place lies in time. A look holds what both sides say against
// what they said of the same thing earlier.
type State struct {
	// Looks are those, and in which the monolith's value was another one.
	Looks eprocess.Share `json:"looks"`
	// Alone counts looks in which one side alone had moved, the monolith and the candidate, and Both
	// those in which both had. Looks that overlap see the same moves, so of those one counts: Last
	// is when the last one ended.
	Alone [2]int    `json:"alone,omitzero"`
	Both  int       `json:"both,omitempty"`
	Last  time.Time `json:"last,omitzero"`
	// OneSided says that it was shown that one side moves more often alone than the other does.
	OneSided bool `json:"one_sided,omitempty"`
	// Since and Until are between which moments the place was watched.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Repeats are those, and in which the monolith's two responses to one request differed.
	Repeats eprocess.Share `json:"repeats"`

	paused bool // nobody has watched since Until
}

// Pause takes note that nobody watches until the next exchange, as over a restart.
func (s *State) Pause() { s.paused = !s.Until.IsZero() }

// Watch takes note that the candidate differs at a moment.
func (s *State) Watch(at time.Time) {
	if s.paused {
		s.Since, s.paused = s.Since.Add(max(0, at.Sub(s.Until))), false
	}
	if s.Since.IsZero() || at.Before(s.Since) {
		s.Since = at
	}
	s.Until = at
}

// Look takes in whether the monolith's value has moved between two moments.
func (s *State) Look(moved bool) { s.Looks.See(moved) }

// Move takes in which sides' values have moved between two moments, so that they differ now.
//
// Hypothesis: both sides' states move by the same process, each by itself. Then that which moves
// where the other does not is either with a chance of a half, and it is shown to be OneSided with
// a chance of at most alpha. A constant never moves where the monolith does, and what is drawn
// anew for each response moves where it does not.
//
// Source: the confidence sequence of eprocess.Share.
func (s *State) Move(monolith, candidate bool, from, at time.Time, alpha float64) {
	if !monolith && !candidate || from.Before(s.Last) {
		return
	}
	s.Last = at
	if monolith && candidate {
		s.Both++
		return
	}
	s.Alone[int(eprocess.Indicator(candidate))]++
	seldom := eprocess.Share{N: s.Alone[0] + s.Alone[1], Differing: min(s.Alone[0], s.Alone[1])}
	s.OneSided = s.OneSided || seldom.Rejects(0.5, alpha/2) // either may be the seldom one
}

// Repeated takes in how many repeats there have been and in how many the monolith varied. It reports
// whether bets count from now on that did not: what they have won is of the time before.
func (s *State) Repeated(repeats, varied int) (void bool) {
	often := s.Often()
	s.Repeats = eprocess.Share{N: repeats, Differing: varied}
	return often && !s.Often()
}

// Often reports whether the monolith's two responses to one request differ so often that no bet
// tells a state that moves from a fault.
func (s *State) Often() bool { return s.Repeats.Rate() > Seldom }

// lasting reports whether what has moved was moved by time, and does not merely vary from
// response to response: then it would do so at once as often. Once at once may be by chance.
func (s *State) lasting() bool {
	return s.Looks.Differing*max(1, s.Repeats.N) >= often*max(0, s.Repeats.Differing-1)*s.Looks.N
}

// Own reports whether it is known that each server holds a state of its own: either side's
// values move without the other's.
func (s *State) Own() bool {
	fewer, more := min(s.Alone[0], s.Alone[1]), max(s.Alone[0], s.Alone[1], s.Both)
	return s.Repeats.N >= Enough && !s.Often() && s.lasting() && !s.OneSided && fewer >= least && apart*fewer >= more
}

// Explains reports whether a state that each server holds by itself may be why the candidate
// differs more often than the monolith from itself: the monolith's values move, or the
// candidate's where both are held for a while, and it is not shown that one side's do alone.
func (s *State) Explains(held bool) bool {
	return (s.Looks.Differing > 0 || held && s.Alone[1] > 0) && !s.OneSided && s.lasting()
}

// Brief reports whether the place has been watched for too short a time for a state that
// moves once a minute to be seen, and nothing shows that there is none.
func (s *State) Brief() bool {
	after := s.Until.Sub(s.Since)
	return after > 0 && after < Early && !s.OneSided
}

// Bounds of what is held. Simulations: TestRefreshedValuesRaiseNoAlarm
// and TestOwnNotices.
const (
	heldAgo  = 32 // exchanges
	heldMore = 8  // values that may be new since long ago, and not since the last, by chance
	heldWarm = 4  // new values before it can be said that none is held
	// Fades is after how many values all count half, so that a change shows.
	Fades = 1 << 10
)

// Holding tells values that a side holds for a while from values that follow from the request
// or are drawn for each response: of those as many are new since the last exchange as since
// one of long ago, however few different ones there are.
type Holding struct {
	// Of N exchanges so many Newer were not as the last one, and so many Older not as that one
	// which lies as long ago.
	N     int `json:"n,omitempty"`
	Newer int `json:"l,omitempty"`
	Older int `json:"e,omitempty"`
	// Ago are hashes of the values of the last exchanges, the oldest one first.
	Ago []uint32 `json:"a,omitempty"`
}

// See takes the value of an exchange as a hash.
func (d *Holding) See(value uint32) {
	if n := len(d.Ago); n > 0 {
		d.N++
		if value != d.Ago[n-1] {
			d.Newer++
		}
		if n == heldAgo {
			if value != d.Ago[0] {
				d.Older++
			}
			d.Ago = d.Ago[:copy(d.Ago, d.Ago[1:])]
		}
	}
	d.Ago = append(d.Ago, value)
	if d.Older > Fades {
		d.N, d.Newer, d.Older = d.N/2, d.Newer/2, d.Older/2
	}
}

// SeeSame takes a value of so many exchanges.
func (d *Holding) SeeSame(value uint32, n int) {
	for range min(n, heldAgo+1) {
		d.See(value)
	}
}

// Holds reports whether values are held, as far as is known.
func (d *Holding) Holds() bool { return d.Newer < heldWarm || d.Moves() }

// Moves reports whether values are held, and new ones come.
func (d *Holding) Moves() bool { return 3*(d.Newer+heldMore) < 2*d.Older }
