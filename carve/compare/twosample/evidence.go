package twosample

import (
	"math"
)

// Way is in what the two sides may not draw alike.
type Way int

// The ways.
const (
	Position Way = iota + 1
	Kind
	ways = float64(Kind)
)

// Lead is what is known of one way.
type Lead struct {
	Way Way
	// Kind is which, From and To the range of a number's, where it is not open.
	Kind     uint64
	From, To *float64
	// Mean is that of the payoffs, within Low and High, over N exchanges.
	Mean, Low, High float64
	N               int
	// Of says how often each side had the kind, as a share of its responses.
	Of [2]float64
	// Margin is within what the mean has to be known to lie.
	Margin float64
}

// Share is the share of pairs that speak for the direction, of kinds of responses by which the
// one side has it more often.
func (l *Lead) Share() float64 {
	if l.Way == Kind {
		return math.Abs(l.Mean)
	}
	return (1 + math.Abs(l.Mean)) / 2
}

// Count is Share in exchanges.
func (l *Lead) Count() int { return int(math.Round(l.Share() * float64(l.N))) }

// Suspected is what speaks against that both sides draw alike: the first of the ways, and of
// kinds that of which most is known; ok is false where nothing does. numbers says that the size
// of numbers counts.
func (t *Test) Suspected(numbers bool) (l Lead, ok bool) {
	best := math.Log(Suspect)
	t.each(numbers, func(at *trial, way Way, i int) {
		if ok && way != l.Way {
			return
		}
		slack, parts := Slack, ways
		if way == Kind {
			slack, parts = kindSlack, ways*(kindsMost+rangesMost+2)
		}
		if at.isQuiet(slack) {
			return
		}
		if e := at.logEValue(slack) - math.Log(parts); e >= best && !at.bySecond() {
			best, ok = e, true
			l = t.lead(at, way, i)
		}
	})
	return l, ok
}

// Open is that of the ways which has to be known more closely that takes longest, and how many
// more exchanges it takes with values at the place, -1 where it cannot be said; ok is false
// where all are known. alpha is the chance that any interval of it is wrong on one side.
func (t *Test) Open(numbers bool, alpha float64) (l Lead, more int, ok bool) {
	t.each(numbers, func(at *trial, way Way, i int) {
		n := at.All.Missing(alpha, margin(way))
		if n == 0 || at.bySecond() || ok && (more < 0 || n >= 0 && n <= more) {
			return
		}
		l, more, ok = t.lead(at, way, i), n, true
		l.Low, l.High = at.All.Interval(alpha)
	})
	return l, more, ok
}

func margin(way Way) float64 {
	if way == Kind {
		return KindMargin
	}
	return Margin
}

// IsMoved reports whether asking itself makes the number another one, as that of views or of
// requests that are left: the monolith's own second response was shown to be the larger one, or
// the smaller one, in three of four pairs. What it says is what it was asked.
func (t *Test) IsMoved() bool {
	p := &t.Position.Second
	return 2*math.Abs(p.Mean()) >= 1 && p.LogEValue(Slack) >= math.Log(Suspect)
}

// each calls a function for every way that is looked at.
func (t *Test) each(numbers bool, f func(at *trial, way Way, i int)) {
	if numbers && t.Position.All.N > 0 {
		f(&t.Position, Position, 0)
	}
	for i := range t.Rows {
		if numbers || !isRange(t.Rows[i].Code) {
			at := &t.Rows[i].T
			f(at, Kind, i)
		}
	}
}

func (t *Test) lead(at *trial, way Way, i int) Lead {
	l := Lead{Way: way, Mean: at.All.Mean(), N: at.All.N, Margin: margin(way)}
	if way != Kind {
		return l
	}
	r := &t.Rows[i]
	l.Kind = r.Code
	for side, n := range r.Of {
		l.Of[side] = n / float64(max(1, t.None.All.N))
	}
	if isRange(r.Code) {
		if k := int(r.Code - firstRange); k < len(t.Edges) {
			l.To = &t.Edges[k]
		}
		if k := int(r.Code-firstRange) - 1; k >= 0 && k < len(t.Edges) {
			l.From = &t.Edges[k]
		}
	}
	return l
}
