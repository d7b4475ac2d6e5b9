// Package own tells apart, at a place where the candidate differs, what may move there: data
// that both sides share, a state that each server holds by itself, such as a cache or a price
// that each process refreshes, and a candidate that is wrong. Of shared data both sides' values
// move together, however wrong the candidate's are. What is wrong and constant or random
// moves on one side only. Two states that are each server's own move now here and now there:
// they are no fault, and are UNDECIDED until the config says what they are.
package own

import "time"

// Bounds of what is held. Simulations: TestRefreshedValuesRaiseNoAlarm, TestOwnHeadersAreKnown.
const (
	heldAgo  = 32 // exchanges
	heldMore = 8  // values that may be new since long ago, and not since the last, by chance
	heldWarm = 4  // new values before it can be said that none is held
	// Fades is after how many values all count half, so that a change shows.
	Fades = 1 << 10
)

// Early is how long what is the same for all requests is watched before it is taken for
// something that does not move: a state that moves once a minute stays so with a chance of
// 1/e, and is taken back when it does move.
const Early = time.Minute

// Holding tells values that a side holds for a while from values that follow from the request
// or are drawn for each response: of those as many are new since the last exchange as since
// one of long ago, however few different ones there are.
type Holding struct {
	// Of N exchanges so many Newer were not as the last one, and so many Older not as that one
	// which lies as long ago.
	N     int `json:"n,omitempty"`
	Newer int `json:"l,omitempty"`
	Older int `json:"e,omitempty"`
	// Ago are hashes of the values of the last exchanges, and Next is the oldest one.
	Ago  []uint32 `json:"a,omitempty"`
	Next int      `json:"at,omitempty"`
}

// See takes the value of an exchange as a hash, and reports whether it is new since the last.
func (d *Holding) See(value uint32) (moved bool) {
	if n := len(d.Ago); n > 0 {
		d.N++
		if moved = value != d.Ago[(d.Next+n-1)%n]; moved {
			d.Newer++
		}
		if value != d.Ago[d.Next%n] {
			d.Older++
		}
	}
	if len(d.Ago) < heldAgo {
		d.Ago = append(d.Ago, value)
	} else {
		d.Ago[d.Next] = value
		d.Next = (d.Next + 1) % heldAgo
	}
	if d.Older > Fades {
		d.N, d.Newer, d.Older = d.N/2, d.Newer/2, d.Older/2
	}
	return moved
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
