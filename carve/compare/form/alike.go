package form

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/twosample"
	"whittle/internal/units"
)

// Whether both sides draw alike what varies is tested by the pair of each exchange: a number's
// position and spread, and how often each of a few kinds of values comes, among them none.
// Nothing tells a wrong number from one that each server measures of itself, so what is found
// is no proof: it keeps EQUIVALENT from being said, until a form is declared. Of numbers that
// are known to be of each server's own the coverage says how they lie, and no more.

// How sure the intervals are on either side, how long EQUIVALENT waits for what seldom comes,
// and from which share on the coverage says that one side's numbers are the larger ones.
const (
	alikeAlpha = 0.005
	alikeLong  = 2 * formLong
	alikeSaid  = 0.7
	factorSaid = 1.1
)

// seeAlike takes the values of an exchange, in which neither side holds its own. Of what has a
// name, such as a header, it is no matter of its form whether it is there.
func (p *formPath) seeAlike(e *formExchange) {
	if p.rule != "" || e.named && (len(e.monolith) == 0 || len(e.candidate) == 0) {
		return
	}
	again := p.drawnValues(&e.drawn[Repeat], e.repeat)
	if !e.again || e.named && len(again) == 0 {
		again = nil
	}
	p.alike.See(p.drawnValues(&e.drawn[Monolith], e.monolith), p.drawnValues(&e.drawn[Candidate], e.candidate), again)
}

// areTimes reports whether the place's numbers are times, of which it is no matter here how
// large they are.
func (p *formPath) areTimes() bool { return p.feature[featForm].M.top().Class == classTime }

// hasSize reports whether it is looked at how large the value is; times says that those of the
// place are times.
func (v *value) hasSize(times bool) bool { return v.sized && (!times || v.form.class != classTime) }

// drawnValues are a side's values as they are held against the other's.
func (p *formPath) drawnValues(scratch *[]twosample.Value, values []value) []twosample.Value {
	list := (*scratch)[:0]
	if list == nil {
		list = make([]twosample.Value, 0, 1)
	}
	times, member := p.areTimes(), p.isMember()
	for i := range values {
		v := &values[i]
		list = append(list, twosample.Value{Kind: kindOf(v, member), Number: v.amount, IsNumber: v.hasSize(times)})
	}
	*scratch = list
	return list
}

// kindOf distinguishes values by what may come more often on one side: words and the members of
// a set by themselves, others by their form.
func kindOf(v *value, member bool) uint64 {
	if v.form.class == classBool || v.form.class == classWord || member && v.hash != 0 {
		return v.hash
	}
	return v.form.code()
}

// lead is what speaks against that both sides draw alike; ok is false where nothing does, and
// where the config says what the values are.
func (p *formPath) lead() (l twosample.Lead, ok bool) {
	if p.own || p.rule != "" {
		return l, false
	}
	return p.alike.Suspected(p.isRanged())
}

// leadWords say in what the two sides do not draw alike, and how it is on either.
func (f *Forms) leadWords(p *formPath, l *twosample.Lead) (what, candidate, monolith string) {
	share := l.Share()
	switch l.Way {
	case twosample.Position:
		which := "larger"
		if l.Mean < 0 {
			which = "smaller"
		}
		return fmt.Sprintf("is %s than the monolith's in %s of %s pairs", which, display.Percent(share), units.Grouped(l.N)),
			which + " in " + display.Percent(share), "as often larger as smaller"
	case twosample.Spread:
		which := "further from the middle of both"
		if l.Mean < 0 {
			which = "nearer to the middle of both"
		}
		return fmt.Sprintf("lies %s than the monolith's in %s of %s pairs", which, display.Percent(share), units.Grouped(l.N)),
			which + " in " + display.Percent(share), "as often further as nearer"
	}
	what = f.kindWords(p, l)
	return fmt.Sprintf("is %s in %s of the candidate's responses and in %s of the monolith's, of %s", what,
		display.Percent(l.Of[Candidate]), display.Percent(l.Of[Monolith]), units.Grouped(l.N)), display.Percent(l.Of[Candidate]), display.Percent(l.Of[Monolith])
}

// kindWords name a kind of values; a word is not shown.
func (f *Forms) kindWords(p *formPath, l *twosample.Lead) string {
	edge := func(x float64) string {
		return f.Show.Value(trailOf(p.Path), strconv.AppendFloat(nil, x, 'g', 6, 64))
	}
	switch {
	case l.Kind == twosample.Absent:
		return "absent"
	case l.Kind == twosample.AnyNumber:
		return "a number"
	case l.From != nil && l.To != nil:
		return "above " + edge(*l.From) + " and up to " + edge(*l.To)
	case l.From != nil:
		return "above " + edge(*l.From)
	case l.To != nil:
		return "at most " + edge(*l.To)
	case l.Kind == trueHash, l.Kind == falseHash:
		return strconv.FormatBool(l.Kind == trueHash)
	}
	for _, r := range p.feature[featForm].M.Rows {
		if r.Code == l.Kind {
			return r.Words
		}
	}
	if p.feature[featForm].M.top().Class == classWord {
		return "one and the same word"
	}
	return "one and the same value"
}

var (
	trueHash  = digest.Stir(digest.FNVOn(uint64(jsondoc.Bool), []byte("true")))
	falseHash = digest.Stir(digest.FNVOn(uint64(jsondoc.Bool), []byte("false")))
)

// leadCause says what the values may be, and how the config settles it.
func (p *formPath) leadCause(l *twosample.Lead) string {
	class := cmp.Or(classNames[p.feature[featForm].M.top().Class], formAny)
	what := "a wrong number from one that each server measures of itself"
	if l.Way == twosample.Kind && l.From == nil && l.To == nil {
		what, class = "a fault from what each server says of its own state", formAny
	}
	return "nothing tells " + what + ": if it is one, write compare.form: {" + p.Path + ": " + class + "}; if not, the candidate's are wrong"
}

// waits says what of the way in which both sides draw is not known closely enough yet for
// EQUIVALENT, and how many exchanges it still takes, -1 where it cannot be said. What comes in
// less than half of them is waited for as long as alikeLong; the coverage says how little is
// known of it then.
func (p *formPath) waits(f *Forms, n int) (b whittle.Bound, more int, ok bool) {
	if p.own || p.rule != "" || p.draws.holds() && p.mayHold() {
		return b, 0, false
	}
	l, more, ok := p.alike.Open(p.isRanged(), alikeAlpha)
	since := n - p.paired
	seldom := 2*l.N < since
	if !ok || seldom && since >= alikeLong {
		return b, 0, false
	}
	if more > 0 {
		more = int(min(1e9, float64(more)*float64(since+1)/float64(max(1, l.N))+1))
		if seldom {
			more = min(more, alikeLong-since)
		}
	}
	b.Estimate, b.Low, b.High, b.MarginLow, b.MarginHigh = l.Mean, l.Low, l.High, -l.Margin, l.Margin
	within := display.PercentRange(l.Low, l.High)
	switch l.Way {
	case twosample.Position:
		b.Summary = fmt.Sprintf("%s is larger than the monolith's in %s of %s pairs", p.Path, display.PercentRange((1+l.Low)/2, (1+l.High)/2), units.Grouped(l.N))
	case twosample.Spread:
		b.Summary = fmt.Sprintf("%s lies further out than the monolith's in %s of %s pairs", p.Path, display.PercentRange((1+l.Low)/2, (1+l.High)/2), units.Grouped(l.N))
	default:
		b.Summary = fmt.Sprintf("%s is %s more often than the monolith's by %s of %s responses", p.Path, f.kindWords(p, &l), within, units.Grouped(l.N))
	}
	if l.Way == twosample.Kind {
		b.Summary += fmt.Sprintf("; %s either way counts as none", display.InPercent(l.Margin))
	} else {
		b.Summary += fmt.Sprintf("; %s counts as alike", display.PercentRange((1-l.Margin)/2, (1+l.Margin)/2))
	}
	return b, more, true
}

// alikeWords say how the candidate's numbers lie among the monolith's; empty: there are none.
func (p *formPath) alikeWords() string {
	if _, led := p.lead(); led {
		return ", not drawn as the monolith's are"
	}
	mean, low, high, n := p.alike.Size(alikeAlpha)
	switch {
	case n == 0 && p.amount && !p.moves():
		return ", its size not compared"
	case n == 0:
		return ""
	case p.isRanged() && low >= (1-twosample.Margin)/2 && high <= (1+twosample.Margin)/2:
		return ", of a pair the candidate's the larger in " + display.PercentRange(low, high)
	case p.isRanged():
		return ", in about the same range as far as " + units.Grouped(n) + " pairs say"
	}
	s := ", however large"
	if p.rising() {
		s = ""
	}
	which, f := "larger", p.alike.Factor()
	if mean < 0.5 {
		which, mean, low, f = "smaller", 1-mean, 1-high, 1/f
	}
	near := !(f >= factorSaid) || math.IsInf(f, 0)
	if low < alikeSaid || near && p.rising() {
		return s
	}
	s += fmt.Sprintf(": %s than the monolith's in %s %% of %s pairs", which, strconv.FormatFloat(100*mean, 'f', 0, 64), units.Grouped(n))
	if !near {
		s += ", about " + factorWords(f) + " times"
	}
	return s
}

// factorWords is a factor in two digits.
func factorWords(f float64) string {
	if f < 10 {
		return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
	}
	unit := math.Pow(10, math.Floor(math.Log10(f))-1)
	return units.Grouped(int(min(1e15, math.Round(f/unit)*unit)))
}

// oftenWords say how closely it is known that each kind comes as often on both sides.
func (p *formPath) oftenWords() string {
	most, n := p.alike.Kinds(alikeAlpha)
	if n == 0 || most > twosample.KindMargin {
		return ", however often each"
	}
	return ", each as often to within " + strconv.FormatFloat(math.Ceil(100*most), 'f', 0, 64) + " %"
}
