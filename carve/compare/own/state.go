// Package own tells apart what may move at a place where the candidate differs: a state that each server
// holds by itself (a cache, a price that each process refreshes), data that both sides share, and a
// candidate that is wrong. A wrong value that is constant, or drawn for each response, moves on one side
// only. Two servers' own states move now here and now there: they are no fault, and UNDECIDED until the
// config says what they are. What moves on both sides at a time is shared data, or two caches filled by
// the same requests. Nothing tells these apart, so it is UNDECIDED as well.
package own

import (
	"time"

	"whittle/carve/compare/eprocess"
)

// The bounds of a state. Simulations: TestStatesThatMoveRaiseNoAlarm, TestRefreshedStatesRaiseNoAlarm
// and, for headers, TestOwnNotices.
const (
	// Enough is how many repeats it takes to say what the monolith changes by itself, and what not.
	Enough = 10 // repeats
	// Seldom is the share of exchanges in which the monolith's two responses may differ where bets decide.
	Seldom = 0.1
	// Early is how long a value that is the same for all requests is watched before it counts as constant.
	// A state that moves once a minute passes for one with a chance of 1/e, until it moves.
	Early = time.Minute
	// often is how many times as often as at once the monolith must have moved between two looks for
	// time to have moved it.
	often = 2
	// least is how many moves without the other side's show that each side moves by itself. apart is how
	// many times as many moves there may be of any other sort: of the other side, and of both, since
	// data that move between two responses show as such too.
	least, apart = 3, 4 // moves, times
)

// State says how differences at a place lie in time. A look compares what both sides say with what they
// said of the same thing earlier.
type State struct {
	// Looks counts the looks, and those in which the monolith's value had changed.
	Looks eprocess.Share `json:"looks"`
	// Alone counts looks in which only the monolith or only the candidate had moved, and Both those in
	// which both had. Of overlapping looks, which see the same moves, one counts. Last is when the last
	// ended.
	Alone [2]int    `json:"alone,omitzero"`
	Both  int       `json:"both,omitempty"`
	Last  time.Time `json:"last,omitzero"`
	// OneSided says that one side was shown to move alone more often than the other.
	OneSided bool `json:"one_sided,omitempty"`
	// The place was watched from Since until Until.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Repeats counts the repeats, and those in which the monolith's two responses differed.
	Repeats eprocess.Share `json:"repeats"`

	paused bool // nobody has watched since Until
}

// Pause notes that nobody watches until the next exchange, as over a restart.
func (s *State) Pause() { s.paused = !s.Until.IsZero() }

// Watch notes that the candidate differs at a moment.
func (s *State) Watch(at time.Time) {
	if s.paused {
		s.Since, s.paused = s.Since.Add(max(0, at.Sub(s.Until))), false
	}
	if s.Since.IsZero() || at.Before(s.Since) {
		s.Since = at
	}
	s.Until = at
}

// Look takes in whether the monolith's value moved between two moments.
func (s *State) Look(moved bool) { s.Looks.See(moved) }

// Move takes in which sides' values moved between two moments, so that they differ now.
//
// Hypothesis: both sides' states move by the same process, each by itself. Then a move of one side alone is
// either side's with a chance of a half, and OneSided is shown with a chance of at most alpha. A constant
// never moves where the monolith does, and what is drawn for each response moves where it does not.
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

// Repeated takes in how many repeats there were and in how many the monolith varied. It reports whether
// bets begin to count now: what they have won is from before.
func (s *State) Repeated(repeats, varied int) (void bool) {
	often := s.Often()
	s.Repeats = eprocess.Share{N: repeats, Differing: varied}
	return often && !s.Often()
}

// Often reports whether the monolith's two responses to one request differ too often for a bet to tell a
// moving state from a fault.
func (s *State) Often() bool { return s.Repeats.Rate() > Seldom }

// lasting reports whether time moves the value. A value that varies from response to response would
// differ as often at once; one such difference may be chance.
func (s *State) lasting() bool {
	return s.Looks.Differing*max(1, s.Repeats.N) >= often*max(0, s.Repeats.Differing-1)*s.Looks.N
}

// Own reports whether each server holds a state of its own for sure: either side's values move alone.
func (s *State) Own() bool {
	fewer, more := min(s.Alone[0], s.Alone[1]), max(s.Alone[0], s.Alone[1], s.Both)
	return s.Repeats.N >= Enough && !s.Often() && s.lasting() && !s.OneSided && fewer >= least && apart*fewer >= more
}

// Explains reports whether a state of each server's own may be why the candidate differs more often than
// the monolith from itself: the monolith's values move, or the candidate's where both are held for a
// while, and one side is not shown to move alone.
func (s *State) Explains(held bool) bool {
	return (s.Looks.Differing > 0 || held && s.Alone[1] > 0) && !s.OneSided && s.lasting()
}

// Brief reports whether the place was watched too briefly to see a state that moves once a minute, and
// nothing shows that there is none.
func (s *State) Brief() bool {
	after := s.Until.Sub(s.Since)
	return after > 0 && after < Early && !s.OneSided
}

// The bounds of what is held. Simulations: TestRefreshedValuesRaiseNoAlarm and TestOwnNotices.
const (
	heldAgo  = 32 // exchanges
	heldMore = 8  // values that may by chance be new since long ago but not since the last
	Warm     = 4  // values before a place is judged by what it does, new ones before holding can be ruled out
	// Fades is after how many values all count half, so that a change shows.
	Fades = 1 << 10
)

// Holding tells values that a side holds for a while from values that follow from the request or are
// drawn for each response. Of the latter as many are new since the last exchange as since one long ago,
// however few different ones there are.
type Holding struct {
	// Of N exchanges, Newer differed from the last one, and Older from one as long ago as Ago reaches.
	N     int `json:"n,omitempty"`
	Newer int `json:"l,omitempty"`
	Older int `json:"e,omitempty"`
	// Ago are hashes of the values of the last exchanges, the oldest first.
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

// SeeSame takes one value of n exchanges.
func (d *Holding) SeeSame(value uint32, n int) {
	for range min(n, heldAgo+1) {
		d.See(value)
	}
}

// Holds reports whether values are held, as far as is known.
func (d *Holding) Holds() bool { return d.Newer < Warm || d.Moves() }

// Moves reports whether values are held, and new ones come.
func (d *Holding) Moves() bool { return 3*(d.Newer+heldMore) < 2*d.Older }
