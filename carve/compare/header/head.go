// Package header has what stands before the body of two responses: the evidence on status,
// content type and failures, and what the headers say as places.
package header

import (
	"cmp"
	"fmt"
	"slices"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// Bounds of a head.
const (
	changesMost = 24 // changes of value distinguished
	LeanSlots   = 64
)

// Head counts the exchanges in which the two sides gave another status,
// another content type, another header, or no response at all.
//
// A difference is shown when both of two hypotheses are rejected: that the two
// sides follow the same distribution (by bets on which side gives which of the two
// values, which are fair then, with the direction learnt by shape of request),
// and that the candidate differs in no more than the share that is allowed.
// So neither a monolith that flaps by itself nor a rare and accepted difference
// raises an alarm, and a constant difference is shown within a dozen exchanges.
// Where the monolith was asked twice and differed from itself, a third must be
// rejected: that the candidate differs no more often than the monolith's own
// second response.
type Head struct {
	Same  eprocess.Bets `json:"same"`
	Share eprocess.Bets `json:"share"`
	Self  eprocess.Bets `json:"self"`
	// N exchanges, Count of which differed in a way nobody declared.
	N     int `json:"n"`
	Count int `json:"count"`
	// SelfCount of the Repeats, the monolith's second responses, differed from its first.
	SelfCount int              `json:"self_count"`
	Repeats   int              `json:"repeats,omitempty"`
	Lean      [LeanSlots]int32 `json:"lean,omitzero"`
	Overall   int32            `json:"overall"`
	Changes   []Change         `json:"changes"`
}

// Change is one change of value with its count.
type Change struct {
	// Path is the JSON path of the field that changed; empty: the whole.
	Path  string `json:"path,omitempty"`
	From  string `json:"from"`
	To    string `json:"to"`
	Count int    `json:"count"`
	// Expected is the declared reason; empty: not declared.
	Expected string           `json:"expected"`
	Samples  []whittle.Sample `json:"samples"`
}

// NewHead is a head before the first exchange.
func NewHead() Head {
	return Head{Same: eprocess.NewBets(), Share: eprocess.NewBets(), Self: eprocess.NewBets()}
}

// Pair is one exchange for a head.
type Pair struct {
	Path, From, To string // from and to equal: no difference
	// Again says that the monolith was asked twice, self that it then gave
	// another response than before.
	Again, Self bool
	Shape       uint64
	Reason      string // the declared reason of this change
	// OneWay says that the change from to to from is declared.
	OneWay   bool
	Unbet    bool // it is not to be bet on
	Exchange *whittle.Exchange
	Show     *display.View
	// Spot gives the place that differs; nil: the whole.
	Spot func() display.Spot
}

// sample is the exchange in short.
func (o *Pair) sample() whittle.Sample {
	if o.Spot != nil {
		return o.Show.SampleAt(o.Exchange, o.Spot())
	}
	return o.Show.Sample(o.Exchange)
}

// ObserveSame settles one exchange in which nothing differed and nobody was asked
// twice.
func (t *Head) ObserveSame(limit, alpha float64, n int) {
	t.N++
	t.Share.SeeShare(false, limit, alpha, n)
}

// See settles one exchange and reports whether it differs undeclared.
func (t *Head) See(o *Pair, limit, alpha float64, n int) bool {
	differs := o.From != o.To
	if differs {
		t.keep(o)
	}
	t.N++
	open := differs && o.Reason == ""
	if open {
		t.Count++
	}
	if differs && !o.Unbet && (open || !o.OneWay) {
		t.lean(o, alpha, n)
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

// lean bets on the direction in which this pair of values went before. Where one
// direction is declared it bets on the other alone, and only while the past leans
// there: of two services that are the same either is as likely, and a constant
// declared change costs nothing.
func (t *Head) lean(o *Pair, alpha float64, n int) {
	slot, side := t.slot(o)
	if o.OneWay || o.Reason != "" {
		open := side
		if o.Reason != "" {
			open = -side
		}
		if sign(*slot) == open {
			t.Same.Bet(float64(open*side), alpha, n)
		}
		*slot = max(-oneWayMost, min(oneWayMost, *slot+side))
		return
	}
	direction := sign(*slot)
	if direction == 0 {
		direction = sign(t.Overall)
	}
	t.Same.Bet(float64(direction*side), alpha, n)
	*slot = saturate(*slot + side)
	t.Overall = saturate(t.Overall + side)
}

// oneWayMost bounds what a slot remembers of changes declared in one direction, so
// that a past of declared ones is soon outweighed.
const oneWayMost = 8

// slot is where the direction of a pair's values is remembered, the same one when
// they change places; side says which way they lie, +1 or -1.
func (t *Head) slot(o *Pair) (_ *int32, side int32) {
	low, high := o.From, o.To
	side = 1
	if low > high {
		side, low, high = -1, high, low
	}
	h := digest.Hash(o.Shape)
	h.Text(o.Path)
	h.Text(low)
	h.Text(high)
	return &t.Lean[digest.Mix(uint64(h))%LeanSlots], side
}

func sign(v int32) int32 { return int32(cmp.Compare(v, 0)) }

func saturate(v int32) int32 { return max(-1<<20, min(1<<20, v)) }

// keep counts a change and keeps samples of it; of more than changesMost the first are
// distinguished, but one that is not declared takes the place of the last that is.
func (t *Head) keep(o *Pair) {
	for i := range t.Changes {
		c := &t.Changes[i]
		if c.Path == o.Path && c.From == o.From && c.To == o.To && c.Expected == o.Reason {
			c.Count++
			if len(c.Samples) < display.MaxSamples && !o.Show.Has(c.Samples, o.Exchange) {
				c.Samples = append(c.Samples, o.sample())
			}
			return
		}
	}
	if len(t.Changes) >= changesMost && o.Reason == "" {
		for i := len(t.Changes) - 1; i >= 0; i-- {
			if t.Changes[i].Expected != "" {
				t.Changes = slices.Delete(t.Changes, i, i+1)
				break
			}
		}
	}
	if len(t.Changes) < changesMost {
		t.Changes = append(t.Changes, Change{Path: o.Path, From: o.From, To: o.To, Count: 1, Expected: o.Reason, Samples: []whittle.Sample{o.sample()}})
	}
}

// DecidedAt is the exchange at which the difference was shown; 0: not.
func (t *Head) DecidedAt() int {
	if t.Same.At == 0 || t.Share.At == 0 || t.SelfCount > 0 && t.Self.At == 0 {
		return 0
	}
	at := max(t.Same.At, t.Share.At)
	if t.SelfCount > 0 {
		at = max(at, t.Self.At)
	}
	return at
}

// Findings gives one finding per change of value; one of a body that has a path
// is one of a field. what names it in a sentence: "status".
func (t *Head) Findings(kind whittle.FindingKind, what string) []whittle.Finding {
	at := t.DecidedAt()
	list := make([]whittle.Finding, 0, len(t.Changes))
	for _, c := range t.Changes {
		f := whittle.Finding{
			Kind: kind, Path: c.Path, Monolith: c.From, Candidate: c.To, Count: c.Count, Of: t.N,
			Expected: c.Expected, Samples: c.Samples,
		}
		if c.Expected == "" {
			f.Decided, f.DecidedAt = at > 0, at
			f.EValue = min(t.Same.EValue(), t.Share.EValue())
		}
		f.Summary = fmt.Sprintf("%s %s instead of %s in %d of %d", what, c.To, c.From, c.Count, t.N)
		if c.Path != "" {
			f.Kind = whittle.FoundField
			f.Summary = fmt.Sprintf("%s %s is %s instead of %s in %d of %d", what, c.Path, c.To, c.From, c.Count, t.N)
		}
		list = append(list, f)
	}
	return list
}

// What distinguishes two words of which the same is shown.
const (
	OneSuffix     = " (one)"
	AnotherSuffix = " (another)"
)

// Usable reports whether a repeat can teach what the monolith changes by itself.
func Usable(r, first *whittle.Response) bool {
	return r.Failure == whittle.NoFailure && !r.Truncated && r.Status == first.Status
}
