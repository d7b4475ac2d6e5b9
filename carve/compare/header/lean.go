package header

import (
	"cmp"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// Most bounds what is kept of what stands before the body: changes of a head, headers that are not
// compared, cookies whose values are, pairs of values that a Lean keeps apart, and how many exchanges
// of one it remembers, so that a long past is outweighed.
const Most = 32

// Lean bets on which of two sides says which of two values that differ. The hypothesis: the two
// sides' responses are exchangeable given the request and the past, so that either is as likely to
// say either. It needs no repeats, and shows a constant difference within a dozen exchanges.
type Lean struct {
	Bets  eprocess.Bets `json:"bets"`
	Slots [Most]int     `json:"slots,omitzero"`
	// Overall sums up the directions of all shapes, for one that has none yet.
	Overall int `json:"overall,omitempty"`
}

// NewLean is one before the first exchange.
func NewLean() Lean { return Lean{Bets: eprocess.NewBets()} }

// Opposed is what two sides say without saying who does, and who: 1 or -1.
type Opposed struct {
	Pair uint64
	Side int
	// Shape is that of the request, where each has a direction of its own, as with a condition that is
	// the wrong way round; 0: none has.
	Shape uint64
}

// OpposedOf has two values that differ.
func OpposedOf(monolith, candidate string) Opposed {
	o, low, high := Opposed{Side: 1}, monolith, candidate
	if low > high {
		o.Side, low, high = -1, high, low
	}
	var h digest.Hash
	h.Text(low)
	h.Text(high)
	o.Pair = uint64(h) | 1
	return o
}

// Bet bets that the two values lie as they did more often, and settles it. only is the one side to
// bet on, where the other is declared; 0: there is none.
func (l *Lean) Bet(o Opposed, only int, alpha float64, n int) {
	slot := &l.Slots[digest.Mix(o.Pair^o.Shape)%Most]
	lean := cmp.Compare(*slot, 0)
	if lean == 0 && o.Shape != 0 {
		lean = cmp.Compare(l.Overall, 0)
	}
	if only == 0 || lean == only {
		l.Bets.Bet(float64(lean*o.Side), alpha, n)
	}
	*slot = max(-Most, min(Most, *slot+o.Side))
	l.Overall = max(-Most, min(Most, l.Overall+o.Side))
}
