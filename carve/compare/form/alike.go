package form

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/twosample"
	"whittle/internal/units"
)

// Whether both sides draw alike what varies is tested by the pair of each exchange: a number's
// position, and how often each of a few kinds of values comes, among them none.
// Nothing tells a wrong number from one that each server measures of itself, so what is found
// is no proof: it keeps EQUIVALENT from being said, until a form is declared. Of numbers that
// move the coverage says that their size is not compared.

// alikeAlpha is the chance that an interval is wrong on either side. Simulation: TestWrongDraws.
const alikeAlpha = 0.005

// seeAlike takes the values of an exchange, in which neither side holds its own. Of what has a
// name, such as a header, it is no matter of its form whether it is there, unless that varies.
func (p *formPath) seeAlike(e *formExchange) {
	if p.rule != "" {
		return
	}
	var lists [3][]twosample.Value
	for side, values := range e.values {
		switch {
		case side == Repeat && !e.again:
		case !e.named || len(values) > 0:
			lists[side] = p.drawnValues(&e.drawn[side], values)
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
func (p *formPath) drawnValues(scratch *[]twosample.Value, values []value) []twosample.Value {
	list := (*scratch)[:0]
	if list == nil {
		list = make([]twosample.Value, 0, 1)
	}
	times, member, anew := p.top() == classTime, p.isMember(), p.isAnew()
	for i := range values {
		v := &values[i]
		list = append(list, twosample.Value{Kind: kindOf(v, member, anew), Number: v.amount, IsNumber: v.sized && (!times || v.form.class != classTime)})
	}
	*scratch = list
	return list
}

// kindOf distinguishes values by what may come more often on one side: words and the members of
// a set by themselves, ids that are made anew by their last character, others by their form.
func kindOf(v *value, member, anew bool) uint64 {
	switch {
	case v.form.class == classBool || v.form.class == classWord || member && v.hash != 0:
		return v.hash
	case anew && v.last != 0 && v.form.class.hasMembers():
		return 0x100 + uint64(v.last)
	}
	return v.form.code()
}

// isEnd reports whether a kind is that of ids by their last character.
func isEnd(kind uint64) bool { return kind>>8 == 1 }

// lead is what speaks against that both sides draw alike; ok is false where nothing does, and
// where the config says what the values are.
func (p *formPath) lead() (l twosample.Lead, ok bool) {
	if p.own || p.rule != "" {
		return l, false
	}
	return p.Alike.Suspected(p.isRanged())
}

// leads says in what the two sides do not draw alike, and how it is on either.
func (f *Forms) leads(p *formPath, l *twosample.Lead, x *whittle.Finding) {
	x.Count, x.Of, x.Cause = l.Count(), l.N, p.leadCause(l)
	if l.Way == twosample.Kind {
		x.Candidate, x.Monolith = display.Percent(l.Of[Candidate]), display.Percent(l.Of[Monolith])
		x.Summary = fmt.Sprintf("%s is %s in %s of the candidate's responses and in %s of the monolith's, of %s", p.Path, f.kindWords(p, l), x.Candidate, x.Monolith, units.Grouped(l.N))
		return
	}
	which := [...]string{"smaller", "larger"}[int(eprocess.Indicator(l.Mean >= 0))]
	share := display.Percent(l.Share())
	x.Candidate, x.Monolith = which+" in "+share, "as often larger as smaller"
	x.Summary = fmt.Sprintf("%s is %s than the monolith's in %s of %s pairs", p.Path, which, share, units.Grouped(l.N))
}

// kindWords name a kind of values, which is not shown.
func (f *Forms) kindWords(p *formPath, l *twosample.Lead) string {
	var ends []string
	for i, end := range []*float64{l.From, l.To} {
		if end != nil {
			ends = append(ends, []string{"above ", "at most "}[i]+f.Show.Value(TrailOf(p.Path), strconv.AppendFloat(nil, *end, 'g', 6, 64)))
		}
	}
	switch {
	case ends != nil:
		return strings.Join(ends, " and ")
	case l.Kind == twosample.Absent:
		return "absent"
	case l.Kind == twosample.AnyNumber:
		return "a number"
	case isEnd(l.Kind):
		return "an id with one and the same character at its end"
	}
	for _, r := range p.Feature[featForm].Rows {
		if r.Code == l.Kind {
			return r.Words
		}
	}
	return "one and the same value"
}

// leadCause says what the values may be, and how the config settles it.
func (p *formPath) leadCause(l *twosample.Lead) string {
	class := cmp.Or(classNames[p.top()], formAny)
	what := "a wrong number from one that each server measures of itself"
	switch {
	case isEnd(l.Kind):
		what = "wrong ids from those of which each server counts a part"
	case l.Way == twosample.Kind && l.From == nil && l.To == nil:
		what, class = "a fault from what each server says of its own state", formAny
	}
	return "nothing tells " + what + ": if it is one, write compare.form: {" + p.Path + ": " + class + "}; if not, the candidate's are wrong"
}

// waits says what of the way in which both sides draw is not known closely enough yet for
// EQUIVALENT, and how many exchanges it still takes, -1 where it cannot be said. What comes in
// less than half of them is waited for twice as long as formLong; the coverage says how little is
// known of it then.
func (p *formPath) waits(f *Forms, n int) (b whittle.Bound, more int, ok bool) {
	if p.own || p.rule != "" || p.isHeld() {
		return b, 0, false
	}
	l, more, ok := p.Alike.Open(p.isRanged(), alikeAlpha)
	since := n - p.Born
	seldom := 2*l.N < since
	if !ok || seldom && since >= 2*formLong {
		return b, 0, false
	}
	if more > 0 {
		more = int(min(1e9, float64(more)*float64(since+1)/float64(max(1, l.N))+1))
		if seldom {
			more = min(more, 2*formLong-since)
		}
	}
	var x whittle.Finding
	f.leads(p, &l, &x)
	return whittle.Bound{
		What: boundForm, Estimate: l.Mean, Low: l.Low, High: l.High, MarginLow: -l.Margin, MarginHigh: l.Margin,
		Summary: fmt.Sprintf("%s: the difference is %s, and %s either way counts as none", f.said(p, x.Summary), display.PercentRange(l.Low, l.High), display.InPercent(l.Margin)),
	}, more, true
}
