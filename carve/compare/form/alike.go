package form

import (
	"cmp"
	"fmt"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/twosample"
	"whittle/internal/units"
)

// Whether both sides draw alike is tested by the pair of each exchange: whose number is larger, and how
// often each of a few kinds of values comes, none among them. The coverage says what is not compared of
// numbers. A wrong number looks like one that each server measures of itself, so a finding proves no
// fault: it prevents EQUIVALENT until a form is declared.

// alikeAlpha is the chance that an interval is wrong on either side. Simulation: TestWrongDraws.
const alikeAlpha = 0.005

// seeAlike takes the values of an exchange in which neither side holds its own. A missing value counts
// where the monolith varies in that.
func (p *formPath) seeAlike(e *formExchange) {
	var lists [3][]twosample.Value
	for side, values := range p.now {
		switch {
		case side == Repeat && !e.again:
		case len(values) > 0:
			lists[side] = p.drawnValues(side, e)
		case p.varies(jsondiff.WayPresence):
			lists[side] = []twosample.Value{{Kind: twosample.Absent}}
		case side != Repeat:
			return
		}
	}
	p.Alike.See(lists[Monolith], lists[Candidate], lists[Repeat])
}

// drawnValues are a side's values as the other's are compared with them: numbers by size, except times.
func (p *formPath) drawnValues(side int, e *formExchange) []twosample.Value {
	list := e.drawn[side][:0]
	times := p.top() == classTime
	for i := range p.now[side] {
		v := &p.now[side][i]
		isNumber := v.sized && (!times || v.form.class != classTime)
		list = append(list, twosample.Value{Kind: p.kindOf(side, v, isNumber), Number: v.amount, IsNumber: isNumber})
	}
	e.drawn[side] = list
	return list
}

// The kinds of values without a hash. A hash is hardly ever as small.
const (
	kindNumber  = twosample.Least + iota // that is new
	kindEarlier                          // a number that came before
	kindLength                           // of a list and its length
)

// kindOf distinguishes values by what one side may give more often: words and members of a set by
// themselves, lists by length, numbers by whether they came before, others by form.
func (p *formPath) kindOf(side int, v *value, isNumber bool) uint64 {
	switch {
	case v.form.class == classArray:
		return kindLength + uint64(v.size)
	case isNumber && p.came(side%2, v.hash) && p.isRanged():
		return kindEarlier
	case isNumber:
		return kindNumber
	case v.form.class == classBool || v.form.class == classWord || v.hash != 0 && p.isMember():
		return v.hash
	}
	return v.form.code()
}

// lead is the evidence that the two sides do not draw alike; nil where there is none, or where the
// config declares the values.
func (p *formPath) lead() *twosample.Row {
	if p.isOwn() || p.rule != "" {
		return nil
	}
	return p.Alike.Suspected(p.isRanged())
}

// leads says in what the two sides draw differently, and how each draws.
func (p *formPath) leads(l *twosample.Row, x *whittle.Finding) {
	x.Count, x.Of, x.Cause = l.Count(), l.All.N, p.leadCause(l.Kind)
	if l.Kind != twosample.Position {
		x.Candidate, x.Monolith = display.Percent(l.Often(Candidate)), display.Percent(l.Often(Monolith))
		x.Summary = fmt.Sprintf("%s is %s in %s of the candidate's responses and in %s of the monolith's, of %s",
			p.name, p.kindWords(l.Kind), x.Candidate, x.Monolith, units.Grouped(l.All.N))
		return
	}
	which, share := "larger", display.Percent(l.Share())
	if l.All.Mean() < 0 {
		which = "smaller"
	}
	x.Candidate, x.Monolith = which+" in "+share, "as often larger as smaller"
	x.Summary = fmt.Sprintf("%s is %s than the monolith's in %s of %s pairs", p.name, which, share, units.Grouped(l.All.N))
}

// kindWords name a kind of values. No value is shown.
func (p *formPath) kindWords(kind uint64) string {
	switch {
	case kind == twosample.Absent:
		return "absent"
	case kind == kindNumber:
		return "a number that is new"
	case kind == kindEarlier:
		return "a number that came before"
	case kind >= kindLength && kind <= kindLength+most:
		return "a list of one and the same length"
	}
	for _, r := range p.Feature[featForm].Rows {
		if r.Code == kind && r.Class == classText {
			return "a text of one and the same form"
		}
		if r.Code == kind {
			return r.Words
		}
	}
	return "one and the same value"
}

// leadCause says what the values may be, and how to settle it in the config.
func (p *formPath) leadCause(kind uint64) string {
	what, class := "a fault from what each server says of its own state", formAny
	if kind == twosample.Position || kind == kindNumber || kind == kindEarlier {
		what, class = "a wrong number from one that each server measures of itself", cmp.Or(p.top().inConfig(), formAny)
	}
	return "nothing tells " + what + ": if it is one, write compare.form: {" + p.Path + ": " + class + "}; if not, the candidate's are wrong"
}

// waits says which part of the draws is not yet known closely enough for EQUIVALENT, and how many
// exchanges it still takes, -1 where that is unknown. For what comes in less than half of the exchanges
// it waits twice formLong; after that the coverage says how little is known.
func (f *Forms) waits(p *formPath, n int) (b whittle.Bound, ok bool) {
	l, more := p.Alike.Open(p.isRanged(), alikeAlpha)
	if l == nil || p.isOwn() || p.rule != "" || p.isHeld() {
		return b, false
	}
	since := n - p.Born
	seldom := 2*l.All.N < since
	if seldom && since >= 2*formLong {
		return b, false
	}
	if more > 0 {
		more = int(min(1e9, float64(more)*float64(since+1)/float64(max(1, l.All.N))+1))
		if seldom {
			more = min(more, 2*formLong-since)
		}
	}
	var x whittle.Finding
	p.leads(l, &x)
	b = whittle.Bound{What: boundForm, Estimate: l.All.Mean(), MarginLow: -twosample.Margin, MarginHigh: twosample.Margin, More: more}
	b.Low, b.High = l.All.Interval(alikeAlpha)
	b.Summary = fmt.Sprintf("%s: the difference is %.0f to %.0f %%, and %s either way counts as none",
		x.Summary, 100*b.Low, 100*b.High, display.InPercent(twosample.Margin))
	return b, true
}
