package form

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
	"whittle/internal/units"
)

// boundForm is the name of the bound that waits for what is compared by form.
const boundForm = "form"

// formEnough is how many responses a place must have been compared in by form
// before EQUIVALENT is said, or formLong exchanges must have passed: a value that
// has been the same each time would have been shown by then.
const (
	formEnough = 40
	formLong   = 1000
)

// Coverage says what is compared by value, by form and not at all.
func (f *Forms) Coverage(c *whittle.Comparison) *whittle.Coverage {
	cov := &whittle.Coverage{AtLeast: f.fields.more, ByForm: []whittle.FormField{}, NotCompared: []whittle.Uncompared{}}
	for _, p := range f.paths {
		if why := p.unformed(); why != "" {
			cov.NotCompared = append(cov.NotCompared, whittle.Uncompared{Path: p.Path, Reason: why})
			continue
		}
		field := whittle.FormField{Path: p.Path, Form: p.words(), Declared: p.rule != "", Compared: p.feature[featForm].Of}
		field.Class = cmp.Or(p.rule, classNames[p.feature[featForm].M.top().Class])
		cov.ByForm = append(cov.ByForm, field)
	}
	cov.ByValue = f.byValue()
	cov.WholeBody = f.fields.whole() && cov.ByValue == 1
	for _, path := range f.unmatched() {
		cov.NotCompared = append(cov.NotCompared, whittle.Uncompared{Path: path, Reason: "not seen in both responses under the same keys"})
	}
	for _, path := range c.Ignore {
		cov.NotCompared = append(cov.NotCompared, whittle.Uncompared{Path: path, Reason: "ignored in the config"})
	}
	for _, e := range c.Expect {
		if e.Kind == whittle.FoundField && e.From == "" && e.To == "" {
			cov.NotCompared = append(cov.NotCompared, whittle.Uncompared{Path: cmp.Or(e.Path, "$"), Reason: "declared: " + display.Reason(e)})
		}
	}
	if f.over > 0 {
		cov.NotCompared = append(cov.NotCompared, whittle.Uncompared{
			Path: jsondiff.ManyPaths, Reason: fmt.Sprintf("%d more ways to vary than the %d places that are compared by form", f.over, formPaths),
		})
	}
	cov.Summary = CoverageWords(cov)
	return cov
}

// byValue is how many of the places that were counted are compared by value.
func (f *Forms) byValue() int {
	n := len(f.fields.at)
	for _, p := range f.paths {
		if p.values() && f.fields.at[digest.FNV([]byte(p.Path))] {
			n--
		}
	}
	return max(0, n)
}

// unmatched are the patterns of places that were counted, vary in no known way and were
// never held against anything, sorted.
func (f *Forms) unmatched() (patterns []string) {
	for h, pattern := range f.fields.alone {
		if _, known := f.index[h]; !known {
			patterns = append(patterns, pattern)
		}
	}
	slices.Sort(patterns)
	return patterns
}

// values reports whether it is the value itself that the monolith changes.
func (p *formPath) values() bool {
	for _, way := range p.Varies {
		if way == jsondiff.HowValue || strings.HasPrefix(way, jsondiff.HowType) {
			return true
		}
	}
	return false
}

// unformed says why a place is not even compared by form; empty: it is.
func (p *formPath) unformed() string {
	if p.rule == formAny {
		return "declared as any in the config"
	}
	if p.own {
		return "a state that each server holds by itself, as it seems"
	}
	if top := p.feature[featForm].M.top(); p.values() && p.rule == "" && top.Class == classText && !slices.Contains(p.Varies, jsondiff.WayPresence) && !p.isMember() {
		return "text without a form, of which only type, emptiness and repetition are looked at"
	}
	return ""
}

const fieldsNamed = 3 // fields of a kind that a sentence names

// CoverageWords is a coverage in one sentence.
func CoverageWords(c *whittle.Coverage) string {
	most := ""
	if c.AtLeast {
		most = "at least "
	}
	what := most + fieldsOf(c.ByValue)
	if c.WholeBody {
		what = "the whole body"
	}
	switch c.Cookies {
	case 0:
	case 1:
		what += " and the attributes of 1 cookie"
	default:
		what += fmt.Sprintf(" and the attributes of %d cookies", c.Cookies)
	}
	s := fmt.Sprintf("%s compared by value, %d by form", what, len(c.ByForm))
	if len(c.ByForm) > 1 { // nobody looks at whether they go together
		s += ", each by itself"
	}
	s += firstOf(c.ByForm, "; ", func(f whittle.FormField) string { return f.Path + ": " + f.Form })
	s = fmt.Sprintf("%s, %d not compared", s, len(c.NotCompared))
	return s + firstOf(c.NotCompared, ", ", func(f whittle.Uncompared) string { return f.Path })
}

// firstOf names the first fields of a list, in parentheses, and how many more there are; empty
// where there are none.
func firstOf[T any](list []T, between string, name func(T) string) string {
	var names []string
	for _, f := range list[:min(len(list), fieldsNamed)] {
		names = append(names, name(f))
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if names == nil {
		return ""
	}
	return " (" + strings.Join(names, between) + ")"
}

func fieldsOf(n int) string {
	if n == 1 {
		return "1 field"
	}
	return units.Grouped(n) + " fields"
}

// Bound waits until each place has been compared by form often enough, while a
// deviation is suspected, and where nothing of the body is compared. ok is false where there is nothing to wait for; more
// estimates the exchanges, -1: it cannot be said.
func (f *Forms) Bound(n int) (b whittle.Bound, more int, ok bool) {
	if f == nil {
		return b, 0, false
	}
	b = whittle.Bound{What: boundForm, MarginHigh: 0.02}
	for _, p := range f.paths {
		if p.rule == formAny || p.rule == formValue || f.expected(p.Path) != "" {
			continue
		}
		for k := range p.feature {
			if !p.suspects(k) {
				continue
			}
			t := &p.feature[k]
			what, _, _ := p.featureWords(k)
			b.Estimate = eprocess.Ratio(t.Odd, t.Of)
			b.High = eprocess.ShareBound(t.Odd, t.Of, 0.01)
			b.Summary = fmt.Sprintf("%s %s in %s of %s responses: suspected, not shown", p.Path, what, units.Grouped(t.Odd), units.Grouped(t.Of))
			return b, -1, true
		}
		if l, ok := p.lead(); ok {
			what, _, _ := f.leadWords(p, &l)
			b.Estimate, b.High = math.Abs(l.Mean), 1
			b.Summary = fmt.Sprintf("%s %s: suspected, not shown", p.Path, what)
			return b, -1, true
		}
	}
	left := 0
	for _, p := range f.paths {
		if of := p.feature[featForm].Of; of < formEnough && n-p.Born < formLong && !p.own && p.rule != formAny && p.values() && f.expected(p.Path) == "" {
			need := formEnough - of
			if need > left {
				left = need
				b.High = math.Min(1, 5/float64(of+1))
				b.Summary = fmt.Sprintf("%s has been compared by form in %s responses so far: %s more are needed", p.Path, units.Grouped(of), units.Grouped(need))
			}
		}
	}
	for _, p := range f.paths {
		if f.expected(p.Path) != "" || left < 0 {
			continue
		}
		if w, more, ok := p.waits(f, n); ok && (more < 0 || more > left) {
			b, left = w, more
			b.What = boundForm
		}
	}
	if why := f.hollow(); left == 0 && why != "" {
		b.High = 1
		b.Summary = "no value of the bodies is compared: " + why + ", and there is no other field"
		if f.named {
			b.Summary = "no value of a cookie is compared: " + why + "; compare.headers: {except: [Set-Cookie]} leaves cookies out"
		}
		return b, -1, true
	}
	return b, left, left != 0
}

// hollow says why what nobody declared leaves no value of the body to compare; empty:
// something is compared.
func (f *Forms) hollow() (why string) {
	if f.vary || f.byValue() > 0 {
		return ""
	}
	for _, path := range f.unmatched() {
		why = path + " was not seen in both responses under the same keys"
	}
	for _, p := range f.paths {
		switch not := p.unformed(); {
		case not == "" && p.values():
			return ""
		case not != "" && p.rule == "" && f.expected(p.Path) == "":
			why = p.Path + " is " + not
		}
	}
	return why
}
