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

// Whether both sides draw alike what varies is tested by the pair of each exchange: which side's
// number is the larger, and how often each of a few kinds of values comes, among them none. What
// is not compared of numbers the coverage says. Nothing tells a wrong number from one that each
// server measures of itself, so what is found is no proof: it keeps EQUIVALENT from being said,
// until a form is declared.

// alikeAlpha is the chance that an interval is wrong on either side. Simulation: TestWrongDraws.
const alikeAlpha = 0.005

// seeAlike takes the values of an exchange, in which neither side holds its own. That there is none
// counts where the monolith varies in that.
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

// drawnValues are a side's values as they are held against the other's: of numbers how large
// they are, but for times.
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

// The kinds of values that have no hash, which is hardly ever as small.
const (
	kindNumber  = twosample.Least + iota // that is new
	kindEarlier                          // a number that came before
	kindLength                           // of a list, and how long it is
)

// kindOf distinguishes values by what may come more often on one side: words and the members of
// a set by themselves, lists by their length, numbers by whether they came before, others by
// their form.
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

// lead is what speaks against that both sides draw alike; nil where nothing does, and where the
// config says what the values are.
func (p *formPath) lead() *twosample.Row {
	if p.isOwn() || p.rule != "" {
		return nil
	}
	return p.Alike.Suspected(p.isRanged())
}

// leads says in what the two sides do not draw alike, and how it is on either.
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

// kindWords name a kind of values, which is not shown.
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

// leadCause says what the values may be, and how the config settles it.
func (p *formPath) leadCause(kind uint64) string {
	what, class := "a fault from what each server says of its own state", formAny
	if kind == twosample.Position || kind == kindNumber || kind == kindEarlier {
		what, class = "a wrong number from one that each server measures of itself", cmp.Or(p.top().inConfig(), formAny)
	}
	return "nothing tells " + what + ": if it is one, write compare.form: {" + p.Path + ": " + class + "}; if not, the candidate's are wrong"
}

// waits says what of the way in which both sides draw is not known closely enough yet for
// EQUIVALENT, and how many exchanges it still takes, -1 where it cannot be said. What comes in
// less than half of them is waited for twice as long as formLong; the coverage says how little is
// known of it then.
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
