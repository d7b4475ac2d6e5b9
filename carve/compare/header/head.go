// Package header compares what stands before the bodies of two responses: status, content type and
// failures as counts, headers as places.
package header

import (
	"cmp"
	"fmt"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// Head counts the exchanges in which the two sides gave another status, another content type, or no
// response.
//
// A difference is shown when two hypotheses are rejected: that the two sides follow the same distribution
// (Lean), and that the candidate differs in at most the allowed share. So neither a monolith that flaps by
// itself nor a rare and accepted difference raises an alarm. Where the monolith differed from itself when
// asked twice, a third must be rejected: that the candidate differs no more often than its second response.
type Head struct {
	Lean  Lean          `json:"lean"`
	Share eprocess.Bets `json:"share"`
	Self  eprocess.Bets `json:"self"`
	// N exchanges, of which Count differed undeclared.
	N     int `json:"n"`
	Count int `json:"count"`
	// SelfCount of the Repeats, the monolith's second responses, differed from its first.
	SelfCount int      `json:"self_count"`
	Repeats   int      `json:"repeats,omitempty"`
	Changes   []Change `json:"changes"`
}

// Change is one change of value with its count.
type Change struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Count int    `json:"count"`
	// Expected is the declared reason; empty: not declared.
	Expected string           `json:"expected"`
	Samples  []whittle.Sample `json:"samples"`
}

// NewHead is a head before the first exchange.
func NewHead() Head {
	return Head{Lean: NewLean(), Share: eprocess.NewBets(), Self: eprocess.NewBets()}
}

// Pair is one exchange for a head.
type Pair struct {
	From, To string // equal: no difference
	Shape    uint64 // of the request
	// Again says that the monolith was asked twice, Self that its second response differed.
	Again, Self bool
	Reason      string // the declared reason of this change
	// OneWay says that the change from To to From is declared.
	OneWay   bool
	Exchange *whittle.Exchange
	Show     *display.View
}

// ObserveSame settles one exchange without a difference or a repeat.
func (t *Head) ObserveSame(limit, alpha float64, n int) {
	t.N++
	t.Share.SeeShare(false, limit, alpha, n)
}

// See settles one exchange and reports whether it differs undeclared.
func (t *Head) See(o *Pair, limit, alpha float64, n int) bool {
	differs := o.From != o.To
	open := differs && o.Reason == ""
	t.N++
	if differs {
		t.keep(o)
		t.bet(o, alpha, n)
	}
	if open {
		t.Count++
	}
	t.Share.SeeShare(open, limit, alpha, n)
	if o.Again {
		t.Repeats++
		if o.Self {
			t.SelfCount++
		}
		t.Self.Bet(eprocess.Indicator(open)-eprocess.Indicator(o.Self), alpha, n)
	}
	return open
}

// bet bets on the direction of a change. One direction may be declared, but not both.
func (t *Head) bet(o *Pair, alpha float64, n int) {
	opposed := OpposedOf(o.From, o.To)
	opposed.Shape = o.Shape
	switch {
	case o.Reason != "" && o.OneWay:
	case o.Reason != "":
		t.Lean.Bet(opposed, -opposed.Side, alpha, n)
	case o.OneWay:
		t.Lean.Bet(opposed, opposed.Side, alpha, n)
	default:
		t.Lean.Bet(opposed, 0, alpha, n)
	}
}

// keep counts a change and keeps samples of it. It distinguishes the first changes; declared ones have
// half of that room.
func (t *Head) keep(o *Pair) {
	for i := range t.Changes {
		c := &t.Changes[i]
		if c.From == o.From && c.To == o.To && c.Expected == o.Reason {
			c.Count++
			if len(c.Samples) < display.MaxSamples && !o.Show.Has(c.Samples, o.Exchange) {
				c.Samples = append(c.Samples, o.Show.Sample(o.Exchange))
			}
			return
		}
	}
	if n := len(t.Changes); n < Most/2 || n < Most && o.Reason == "" {
		t.Changes = append(t.Changes, Change{From: o.From, To: o.To, Count: 1, Expected: o.Reason, Samples: []whittle.Sample{o.Show.Sample(o.Exchange)}})
	}
}

// DecidedAt is the exchange at which the difference was shown; 0: not.
func (t *Head) DecidedAt() int {
	same, share, self := t.Lean.Bets.At, t.Share.At, t.Self.At
	switch {
	case same == 0 || share == 0:
		return 0
	case t.SelfCount == 0:
		return max(same, share)
	case self == 0:
		return 0
	}
	return max(same, share, self)
}

// Findings gives one finding per change of value. what names it in a sentence, such as "status".
func (t *Head) Findings(kind whittle.FindingKind, what string) []whittle.Finding {
	at := t.DecidedAt()
	list := make([]whittle.Finding, 0, len(t.Changes))
	for _, c := range t.Changes {
		f := whittle.Finding{
			Kind: kind, Monolith: c.From, Candidate: c.To, Count: c.Count, Of: t.N, Expected: c.Expected, Samples: c.Samples,
			Summary: fmt.Sprintf("%s %s instead of %s in %d of %d", what, c.To, c.From, c.Count, t.N),
		}
		if c.Expected == "" {
			f.Decided, f.DecidedAt = at > 0, at
			f.EValue = min(t.Lean.Bets.EValue(), t.Share.EValue())
		}
		list = append(list, f)
	}
	return list
}

// Usable reports whether a repeat can teach what the monolith changes by itself.
func Usable(r, first *whittle.Response) bool {
	return r.Failure == whittle.NoFailure && !r.Truncated && r.Status == first.Status
}

// Most bounds what is kept of headers: changes of a head, headers that are not compared, cookies whose
// values are, pairs of values that a Lean keeps apart, and how many exchanges of a pair it remembers, so
// that a long past is outweighed.
const Most = 32

// Lean bets on which side says which of two different values. Hypothesis: the responses are exchangeable
// given the request and the past, so either side is as likely to say either. It needs no repeats, and
// shows a constant difference within a dozen exchanges.
type Lean struct {
	Bets  eprocess.Bets `json:"bets"`
	Slots [Most]int     `json:"slots,omitzero"`
	// Overall sums the directions of all shapes, for a shape without one.
	Overall int `json:"overall,omitempty"`
}

// NewLean is one before the first exchange. It bets boldly: a value that only one side says wins every
// round, so a dozen rounds decide. Where both sides say it, this takes up to a fifth longer.
func NewLean() Lean { return Lean{Bets: eprocess.Bold.New()} }

// Opposed is a pair of different values, whichever side says which, and the side: 1 or -1.
type Opposed struct {
	Pair uint64
	Side int
	// Shape is the request's, where each shape has its own direction, as with a condition that is the
	// wrong way round; 0: none has.
	Shape uint64
}

// OpposedOf pairs two different values.
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

// Bet bets that the two values lie as they did more often, and settles it. only is the one side to bet
// on, where the other is declared; 0: either.
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
