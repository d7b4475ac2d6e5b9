package form

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
	"whittle/internal/units"
)

// words say what the monolith's values at a place are: "a UUID v4, new each time".
func (p *formPath) words() string {
	var list []string
	if top := p.Feature[featForm].top(); top.Count > 0 && top.Class != classArray && top.Class != classObject {
		s := p.usualForms()
		if p.isNew() {
			s += ", new each time"
		}
		list = append(list, s)
	}
	for _, way := range p.Varies {
		if said, ok := wayWords[way]; ok {
			list = append(list, said)
		}
	}
	if len(list) == 0 {
		return "not seen since it was learned"
	}
	return strings.Join(list, "; ")
}

var wayWords = map[string]string{
	jsondiff.WayPresence: "at times absent", jsondiff.HowOrder: "the same elements in any order", jsondiff.HowLength: "a varying number of elements",
}

// usualForms names the forms that are not rare, the most frequent one first.
func (p *formPath) usualForms() string {
	f := &p.Feature[featForm]
	rows := slices.Clone(f.Rows)
	slices.SortStableFunc(rows, func(a, b row) int { return b.Count - a.Count })
	var names []string
	for _, r := range rows[:min(3, len(rows))] {
		if 10*r.Count >= f.N {
			names = append(names, r.Words)
		}
	}
	return strings.Join(names, " or ")
}

// offsetWords say how far a time is from the request's.
func offsetWords(ms int64) string {
	d, way := time.Duration(ms)*time.Millisecond, "ahead"
	if d < 0 {
		way, d = "behind", -d
	}
	unit := time.Second / 10
	switch {
	case d < nowRange/2*time.Millisecond:
		return "now"
	case d >= 2*time.Minute:
		unit = time.Minute
	}
	return units.Span(d.Round(unit)) + " " + way
}

// sizeWords name a class of sizes.
func sizeWords(f form, size int) string {
	switch {
	case f.class == classArray && size <= most:
		return jsondiff.Elements(size)
	case f.class == classArray:
		return "more elements"
	case size <= most:
		return strconv.Itoa(size) + " characters"
	}
	return "up to " + strconv.Itoa(1<<(size-most)) + " characters"
}

// against is what is known against the candidate at a place: that it was decided at an exchange,
// or, where that is 0, that it is suspected.
type against struct {
	what, candidate, monolith, cause string
	count, of, at                    int
	eValue, estimate, high           float64
}

// against says what speaks most against the candidate at a place: what was decided, then what
// is suspected of its form, then that both sides do not draw alike. ok is false where nothing
// does.
func (f *Forms) against(p *formPath) (x against, ok bool) {
	for k := range p.Feature {
		if at := p.decidedAt(k); at > 0 && x.at == 0 || !ok && p.isSuspected(k) {
			x, ok = p.featureAgainst(k, at), true
		}
	}
	if ok {
		return x, true
	}
	l, ok := p.lead()
	if !ok {
		return x, false
	}
	x = against{count: l.Count(), of: l.N, cause: p.leadCause(&l), estimate: math.Abs(l.Mean), high: 1}
	x.what, x.candidate, x.monolith = f.leadWords(p, &l)
	return x, true
}

// featureWords say how a candidate deviates at each derived place.
var featureWords = [features]string{
	"has another form", "is a word that the monolith never said", "is a time at another distance from the request",
	"repeats an earlier value", "has another size",
}

// featureAgainst says how the candidate deviates at a derived place and what the monolith does.
func (p *formPath) featureAgainst(k, at int) against {
	f := &p.Feature[k]
	x := against{what: featureWords[k], candidate: f.Last.Words, monolith: f.top().Words, count: f.Odd, of: f.Of, at: at, eValue: f.Bets.EValue()}
	x.estimate, x.high = eprocess.Ratio(f.Odd, f.Of), eprocess.Share{N: f.Of, Differing: f.Odd}.High(alikeAlpha)
	named := k == featWord // by words or prefixes
	switch {
	case k == featForm && p.rule != "":
		x.monolith = "declared as " + p.rule
	case k == featForm && f.Last.Words == x.monolith: // all but what stands before an id
		x.what, named = "has another prefix", true
	case k == featWord:
		x.candidate, x.monolith = "another word", fmt.Sprintf("one of %d", len(f.Rows))
	case k == featTime:
		x.candidate, x.monolith = offsetWords(p.Off), offsetWords(slices.Sorted(slices.Values(p.Offsets))[len(p.Offsets)/2])
	}
	x.what = fmt.Sprintf("%s in %s of %s responses", x.what, units.Grouped(f.Odd), units.Grouped(f.Of))
	if named && f.Of >= formEnough && f.Odd == f.Of {
		x.cause = "the candidate never gives one of the monolith's: if each side names its own instances, write compare.form: {" + p.Path + ": any}; if not, the candidate's are wrong"
	}
	return x
}

// Findings lists the places at which the candidate's form is another, decided ones
// first.
func (f *Forms) Findings() []whittle.Finding {
	var list []whittle.Finding
	for _, p := range f.paths {
		if a, ok := f.against(p); ok {
			list = append(list, f.finding(p, a))
		}
	}
	slices.SortStableFunc(list, func(a, b whittle.Finding) int {
		return int(eprocess.Indicator(b.Decided) - eprocess.Indicator(a.Decided))
	})
	return list[:min(len(list), display.MaxShown)]
}

func (f *Forms) finding(p *formPath, a against) whittle.Finding {
	x := whittle.Finding{
		Kind: whittle.FoundForm, Path: p.Path, Expected: f.expected(p), Summary: p.Path + " " + a.what, Cause: a.cause,
		Monolith: a.monolith, Candidate: a.candidate, Count: a.count, Of: a.of, Samples: slices.Clone(p.Samples),
	}
	if a.eValue > 0 {
		x.Summary += ": " + a.candidate + " instead of " + a.monolith
	}
	if x.Expected == "" {
		x.Decided, x.DecidedAt, x.EValue = a.at > 0, a.at, a.eValue
	}
	return x
}

// expected is the reason of the declaration that covers a place; empty: none.
func (f *Forms) expected(p *formPath) string {
	switch {
	case p.Fresh:
		return f.declared
	case len(f.expect) == 0:
		return ""
	}
	return f.expect.Reason(TrailOf(p.Path))
}
