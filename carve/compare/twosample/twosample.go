// Package twosample tests whether two services draw alike what changes from call to call: whose number
// is larger, and how often each of a few kinds of values comes. It takes what both sides say at one
// place of an exchange, and keeps a few sums.
package twosample

import (
	"cmp"
	"math"
	"slices"

	"whittle/carve/compare/eprocess"
)

// Value is what is compared of one value.
type Value struct {
	// Kind distinguishes words, null, nothing, and numbers as such.
	Kind     uint64
	Number   float64
	IsNumber bool
}

// The bounds of what is kept and looked at.
const (
	kindsMost  = 24   // kinds told apart; later ones are one
	windowMost = 1024 // exchanges of a window: TestLateSuspicions
)

// What counts as alike.
const (
	// slack is how much more often, as a share of responses, a kind may come on one side, and, as a
	// share of pairs, one side's number be larger: TestFalseSuspicions.
	slack = 0.02
	// Margin is the same for EQUIVALENT: TestIntervalsHold.
	Margin = 0.2
	// suspect is the evidence against the two sides drawing alike, or the monolith drawing like itself,
	// that makes a suspicion: TestFalseSuspicions.
	suspect = 1000
)

// The kinds. Those that callers name are larger.
const (
	Position uint64 = iota // which side's number is the larger
	Absent                 // no value
	others
	Least // of the callers' kinds
)

// Test is the test of one place.
//
// Hypothesis: given the past, the two sides' values in an exchange are exchangeable, as where two
// services draw alike, each by itself. Then each payoff has mean 0: 1[candidate has kind k] −
// 1[monolith has it], for each kind that came before, and the sign of candidate − monolith (Position;
// of lists, of their means). A suspicion takes a mean beyond slack, so that data which move between
// the two calls raise none. It proves no fault: a server may say something of itself, or the first
// call change what the second returns.
//
// Error rate: 1 in suspect for the place, however often one looks: half for Position, the rest in
// equal parts for the other kinds. Each bets on the whole past and on the last windowMost exchanges,
// so that a late change is found. Source: eprocess.Payoffs; Shekhar & Ramdas 2023, arXiv 2112.09162.
type Test struct {
	Rows []Row `json:"k,omitempty"`
	// None is the trial of a kind that never came. Each kind begins with it.
	None trial `json:"z"`
}

// Row is what is known of one kind.
type Row struct {
	Kind uint64 `json:"c"`
	// Of counts the responses of each side that had it.
	Of [2]float64 `json:"of"`
	trial
	now [3]float64 // in the present exchange
}

// trial sums the payoffs of one kind.
type trial struct {
	All     eprocess.Payoffs `json:"a"`
	Window  eprocess.Payoffs `json:"w"`
	Windows int              `json:"e,omitempty"` // that have ended
	// Second are the payoffs of the monolith's second response against its first.
	Second eprocess.Payoffs `json:"s"`
}

// take takes in how often a kind came in each of the three responses.
func (t *trial) take(now *[3]float64, again bool) {
	g := now[1] - now[0]
	t.All.Add(g)
	if t.Window.N >= windowMost {
		t.Window = eprocess.Payoffs{}
		t.Windows++
	}
	t.Window.Add(g)
	if again {
		t.Second.Add(now[2] - now[0])
	}
}

// logEValue is the logarithm of the evidence. Half of the first wealth is on the whole past, and
// 1/(k(k+1)) of the other half on the k-th window.
func (t *trial) logEValue() float64 {
	if max(math.Abs(t.All.Mean()), math.Abs(t.Window.Mean())) <= slack {
		return 0 // at most
	}
	return max(t.All.LogEValue(slack), t.Window.LogEValue(slack)+math.Log(eprocess.OfNth(1, t.Windows+1))) - math.Ln2
}

// bySecond reports whether the order of asking makes the difference: the monolith's second response was
// shown to deviate from its first in the same direction, at least half as much.
func (t *trial) bySecond() bool {
	m, s := t.All.Mean(), t.Second.Mean()
	return m*s > 0 && 2*math.Abs(s) >= math.Abs(m) && t.Second.LogEValue(0) >= math.Log(suspect)
}

// See takes what the two sides say in an exchange, and the monolith's second response; nil: there was none.
// What only the second response has counts too, or the first ones would choose what is asked twice.
func (t *Test) See(monolith, candidate, again []Value) {
	if len(monolith)+len(candidate)+len(again) == 0 {
		return
	}
	known := len(t.Rows)
	sides := [3][]Value{monolith, candidate, again}
	for side, values := range sides {
		if side < 2 || again != nil {
			t.count(side, values)
		}
	}
	if m, ok := meanOf(monolith); ok {
		r := t.row(Position)
		for side, values := range sides[1:] {
			if x, ok := meanOf(values); ok {
				r.now[side+1] = float64(cmp.Compare(x, m))
			}
		}
	}
	t.None.take(&[3]float64{}, again != nil)
	for i := range t.Rows {
		r := &t.Rows[i]
		if i < known {
			r.take(&r.now, again != nil)
		} else { // naming a kind is no bet on it
			r.trial = t.None
		}
		r.Of[0] += r.now[0]
		r.Of[1] += r.now[1]
		r.now = [3]float64{}
	}
}

// count takes the values of a side, each as a part of its response.
func (t *Test) count(side int, values []Value) {
	if len(values) == 0 {
		t.row(Absent).now[side]++
	}
	for i := range values {
		t.row(values[i].Kind).now[side] += 1 / float64(len(values))
	}
}

// row is the row of a kind, made where there is room. It is valid until the next call.
func (t *Test) row(kind uint64) *Row {
	for i := range t.Rows {
		if t.Rows[i].Kind == kind {
			return &t.Rows[i]
		}
	}
	if len(t.Rows) >= kindsMost && kind >= Least {
		return t.row(others)
	}
	t.Rows = append(t.Rows, Row{Kind: kind})
	return &t.Rows[len(t.Rows)-1]
}

// meanOf is the mean of a response's numbers; ok is false where it has none.
func meanOf(values []Value) (mean float64, ok bool) {
	n := 0.0
	for i := range values {
		if values[i].IsNumber {
			n++
			mean += (values[i].Number - mean) / n
		}
	}
	return mean, n > 0
}

// Share is the share of pairs in which one side's number is larger, and for other kinds the share of
// responses by which one side has it more often.
func (r *Row) Share() float64 {
	if r.Kind == Position {
		return (1 + math.Abs(r.All.Mean())) / 2
	}
	return math.Abs(r.All.Mean())
}

// Often is the share of a side's responses with the kind.
func (r *Row) Often(side int) float64 { return r.Of[side] / float64(max(1, r.All.N)) }

// Count is Share in exchanges.
func (r *Row) Count() int { return int(math.Round(r.Share() * float64(r.All.N))) }

// Suspected is the evidence that the two sides do not draw alike: the first kind with a name, else the
// one most is known of; nil where there is none. sizes says that the size of numbers counts.
func (t *Test) Suspected(sizes bool) (found *Row) {
	best := 0.0
	for i := range t.Rows {
		r := &t.Rows[i]
		level := math.Log(2 * suspect)
		if r.Kind != Position {
			level += math.Log(kindsMost + float64(Least))
		}
		e := r.logEValue()
		if e < level || r.bySecond() || r.Kind == Position && !sizes {
			continue
		}
		better := e > best
		if found != nil && min(r.Kind, found.Kind) < Least {
			better = r.Kind < found.Kind
		}
		if better {
			best, found = e, r
		}
	}
	return found
}

// Open is the kind, of those not yet known closely enough, that takes longest; nil where there is none.
// more is how many more exchanges with values at the place it takes, -1 where that is unknown. alpha is
// the chance that any of its intervals is wrong on one side.
func (t *Test) Open(sizes bool, alpha float64) (found *Row, more int) {
	for i := range t.Rows {
		r := &t.Rows[i]
		n := r.All.Missing(alpha, Margin)
		if n == 0 || r.bySecond() || r.Kind == Position && !sizes {
			continue
		}
		if found == nil || more >= 0 && (n < 0 || n > more) {
			found, more = r, n
		}
	}
	return found, more
}

// IsMoved reports whether asking itself changes the number, such as a count of views or of requests
// left: the monolith's second response was shown to be larger, or smaller, in three of four pairs. Such
// a number says how often it was asked for.
func (t *Test) IsMoved() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool {
		return r.Kind == Position && 2*math.Abs(r.Second.Mean()) >= 1 && r.Second.LogEValue(slack) >= math.Log(suspect)
	})
}
