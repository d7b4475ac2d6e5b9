package form

import (
	"cmp"
	"fmt"
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

// words say what the monolith's values at a place are: "a new UUID each time".
func (p *formPath) words() string {
	var list []string
	if f := p.formWords(); f != "" {
		list = append(list, f)
	}
	for _, way := range p.Varies {
		switch way {
		case jsondiff.WayPresence:
			t := &p.feature[featPresence].M
			list = append(list, fmt.Sprintf("there in %s of responses", display.Percent(eprocess.Ratio(t.count(1), t.N))))
		case jsondiff.HowOrder:
			list = append(list, "the same elements in any order")
		case jsondiff.HowLength:
			list = append(list, "a varying number of elements")
		}
	}
	if len(list) == 0 {
		return "not seen since it was learned"
	}
	return strings.Join(list, "; ")
}

// formWords are those of the value itself.
func (p *formPath) formWords() string {
	top := p.feature[featForm].M.top()
	if top.Count == 0 || top.Class == classArray || top.Class == classObject {
		return ""
	}
	s := p.usualForms()
	again := &p.feature[featRepeat].M
	switch {
	case top.Class == classTime:
		if w, ok := p.distance(); ok {
			s += ", " + w
		}
	case p.rising():
		s += ", rising, at whatever pace"
	case top.Class == classWord && len(p.Words) <= wordsMost && p.Worded > 0:
		if s = p.oneOfWords(); len(p.Words) > 1 {
			s += p.oftenWords()
		}
	case top.Class == classBool:
		s += p.oftenWords()
	case again.N > 0 && float64(again.count(1)) <= 0.02*float64(again.N):
		if rest, ok := strings.CutPrefix(strings.Replace(s, "an ", "a ", 1), "a "); ok {
			s = "a new " + rest + " each time"
		} else {
			s += ", new each time"
		}
	}
	s += p.alikeWords()
	if t := &p.feature[featMember]; p.isMember() {
		s += ", out of a set of " + strconv.Itoa(len(p.members.of))
		if !p.amount {
			s += p.oftenWords()
		}
	} else if t.C.N > 0 && 2*t.M.count(0) > t.M.N && !p.members.more {
		s += ", out of a set of each side's own"
	}
	if i := slices.IndexFunc(p.partners, (*partner).ready); i >= 0 {
		s += ", the one that goes with " + p.partners[i].name
	}
	if e := p.feature[featEcho].M.top(); e.Words != "" {
		s += ", equal to " + e.Words
	}
	return s
}

// usualForms names the forms that are not rare, the most frequent one first.
func (p *formPath) usualForms() string {
	t := &p.feature[featForm].M
	rows := slices.Clone(t.Rows)
	slices.SortStableFunc(rows, func(a, b row) int { return b.Count - a.Count })
	var names []string
	for _, r := range rows[:min(3, len(rows))] {
		if 10*r.Count >= t.N {
			names = append(names, r.Words)
		}
	}
	return strings.Join(names, " or ")
}

// distance says how far the monolith's times are from the request; ok is false where
// that is not known, and of dates without a time.
func (p *formPath) distance() (s string, ok bool) {
	if len(p.Offsets) == 0 || p.feature[featForm].M.top().Words == (form{class: classTime, detail: writtenDate}).String() {
		return "", false
	}
	return offsetWords(p.usualOffset()), true
}

func (p *formPath) oneOfWords() string {
	if len(p.Words) == 1 {
		return "one word, always the same in first responses"
	}
	return fmt.Sprintf("one of %d words", len(p.Words))
}

func (p *formPath) usualOffset() time.Duration {
	return time.Duration(middle(p.Offsets)) * time.Millisecond
}

// offsetWords say how far a time is from the request's.
func offsetWords(d time.Duration) string {
	way := "ahead"
	if d < 0 {
		way, d = "behind", -d
	}
	if d < timeSlack*time.Millisecond {
		return "now"
	}
	return roughly(d) + " " + way
}

// roughly is a duration in one unit.
func roughly(d time.Duration) string {
	in := func(unit time.Duration, name string) string {
		v := strconv.FormatFloat(float64(d)/float64(unit), 'f', 1, 64)
		return strings.TrimSuffix(v, ".0") + " " + name
	}
	switch {
	case d < 2*time.Minute:
		return in(time.Second, "s")
	case d < 2*time.Hour:
		return in(time.Minute, "min")
	case d < 48*time.Hour:
		return in(time.Hour, "h")
	case d < 2*8766*time.Hour:
		return in(24*time.Hour, "d")
	}
	return in(8766*time.Hour, "years")
}

func digitsWords(n int) string {
	if n == 1 {
		return "1 digit"
	}
	return strconv.Itoa(n) + " digits"
}

// sizeWords name a class of sizes.
func sizeWords(f form, size int) string {
	switch {
	case f.class == classArray && size <= 64:
		return jsondiff.Elements(size)
	case f.class == classArray:
		return "more elements"
	case f.class == classTime:
		return digitsWords(size) + " after the second"
	case f.class == classInteger, f.class == classDecimal:
		if size < 100 {
			return "below 0, with " + digitsWords(100-size)
		}
		return "a number of " + digitsWords(size-99)
	case size <= 64:
		return strconv.Itoa(size) + " characters"
	case size >= 1000:
		return "up to " + strconv.Itoa(1<<(size-1000)) + " characters"
	}
	shift := (size - 100) / 8
	return "about " + strconv.Itoa((8+(size-100)%8)<<shift) + " characters"
}

// featureOrder is the order in which features are spoken of: what says most first.
var featureOrder = [features]int{
	featForm, featPresence, featWord, featEcho, featPair, featTime, featRepeat, featMember, featTwice, featSorted, featStill, featFall, featSize, featRange, featChars,
}

// featureWords say how the candidate deviates and what the monolith does.
func (p *formPath) featureWords(k int) (what, candidate, monolith string) {
	f := &p.feature[k]
	usual := f.M.top().Words
	switch k {
	case featForm:
		if p.rule != "" {
			usual = "declared as " + p.rule
		}
		if p.isPrefix() {
			return "has another prefix", f.Words, usual
		}
		return "has another form", f.Words, usual
	case featPresence:
		return "is " + f.Words + " where the monolith seldom has it so", f.Words, usual
	case featWord:
		if !p.isWord() {
			return "has other words around what varies in it", "words that the monolith has there never or seldom", "the monolith's"
		}
		return "is a word that the monolith never said", "another word", p.oneOfWords()
	case featEcho:
		return "stands somewhere else too, or no longer does", echoWords(f.Words), echoWords(usual)
	case featTime:
		if f.Words == staleWord {
			return "is a time older than the response's own Date allows", roughly(time.Duration(p.Lag)*time.Millisecond) + " older", "as far from its Date as ever"
		}
		return "is a time at another distance from the request", offsetWords(time.Duration(p.Off) * time.Millisecond), offsetWords(p.usualOffset())
	case featTwice:
		return "has " + f.Words + " where the monolith's has none", f.Words, usual
	case featMember:
		return "is one that the monolith has never said", "another value", fmt.Sprintf("one of %d", len(p.members.of))
	}
	said := otherWords[k]
	return said.what, cmp.Or(said.candidate, f.Words), cmp.Or(said.monolith, usual)
}

// otherWords are featureWords of those that say one and the same of every place; empty: what
// the feature has counted.
var otherWords = [features]struct{ what, candidate, monolith string }{
	featRepeat: {"repeats an earlier value", "an earlier value", "a new value"},
	featFall:   {"falls where the monolith's rises", "below earlier ones", "rising"},
	featSorted: {what: "is in another order"},
	featStill:  {"stands still", "one and the same number", "another one each time"},
	featPair:   {"goes with another value than the monolith's", "", "the value that goes with it"},
	featRange:  {"lies beyond all of the monolith's", "", "as usual"},
	featChars:  {"is made of other characters than the monolith's", "", "as usual"},
	featSize:   {what: "has another size"},
}

// isPrefix reports whether the candidate's unusual form differs in what stands before an id
// alone.
func (p *formPath) isPrefix() bool {
	f := &p.feature[featForm]
	return p.rule == "" && f.Odd > 0 && f.Words == f.M.top().Words
}

func echoWords(s string) string {
	if s == "" {
		return "equal to nothing else"
	}
	return "equal to " + s
}

// Findings lists the places at which the candidate's form is another, decided ones
// first.
func (f *Forms) Findings() []whittle.Finding {
	if f == nil {
		return nil
	}
	var list []whittle.Finding
	for _, p := range f.paths {
		if x, ok := f.finding(p); ok {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b whittle.Finding) int {
		return int(eprocess.Indicator(b.Decided) - eprocess.Indicator(a.Decided))
	})
	return list[:min(len(list), display.MaxShown)]
}

// finding is what is known against one place; ok is false where it is nothing.
func (f *Forms) finding(p *formPath) (x whittle.Finding, ok bool) {
	x = whittle.Finding{Kind: whittle.FoundForm, Path: p.Path, Expected: f.expected(p.Path)}
	var also []string
	l, led := p.lead()
	if ok = led; led {
		what, candidate, monolith := f.leadWords(p, &l)
		x.Summary = p.Path + " " + what
		x.Monolith, x.Candidate, x.Count, x.Of = monolith, candidate, l.Count(), l.N
	}
	for _, k := range featureOrder {
		t := &p.feature[k]
		decided := p.decidedAt(k) > 0
		if !decided && (x.Decided || !p.suspects(k)) {
			continue
		}
		what, candidate, monolith := p.featureWords(k)
		if ok && x.Decided == decided {
			also = append(also, what)
			continue
		}
		ok = true
		x.Summary = fmt.Sprintf("%s %s in %s of %s responses: %s instead of %s", p.Path, what, units.Grouped(t.Odd), units.Grouped(t.Of), candidate, monolith)
		x.Monolith, x.Candidate, x.Count, x.Of = monolith, candidate, t.Odd, t.Of
		x.Decided, x.DecidedAt, x.EValue = decided, t.Bets.At, t.Bets.EValue()
		if k == featWord && t.Of >= wordsOwn && t.Odd == t.Of && p.feature[featForm].M.top().Class == classWord {
			x.Cause = "the candidate never says one of the monolith's words: if they name each side's own instances, write compare.form: {" + p.Path + ": any}; if not, the candidate's are wrong"
		}
	}
	if t := &p.feature[featForm]; ok && p.isPrefix() && t.Odd == t.Of && t.Of >= wordsOwn {
		x.Cause = "the candidate never gives one of the monolith's prefixes: if they name each side's own instances, write compare.form: {" + p.Path + ": any}; if not, the candidate's is wrong"
	}
	x.Cause = cmp.Or(x.Cause, p.ownCause(x.Decided))
	if led && !x.Decided {
		x.Cause = cmp.Or(x.Cause, p.leadCause(&l))
	}
	if len(also) > 0 {
		x.Summary += "; it also " + strings.Join(also, ", and ")
	}
	if x.Expected != "" {
		x.Decided, x.DecidedAt, x.EValue = false, 0, 0
	}
	x.Samples = append(x.Samples, p.Samples...)
	return x, ok
}

// ownCause says what a number may be that stands still, or lies elsewhere.
func (p *formPath) ownCause(decided bool) string {
	class := classNames[p.feature[featForm].M.top().Class]
	switch {
	case p.decidedAt(featPair) > 0:
		return "if each server draws it by itself and keeps it, write compare.form: {" + p.Path + ": any}; if not, the candidate gives another's"
	case p.decidedAt(featStill) > 0:
		return "if each server says what it has of itself, write compare.form: {" + p.Path + ": any}; if not, the candidate's is wrong"
	case !decided && p.suspects(featChars):
		return "nothing tells wrong ids from those of which each server counts a part: if they are such, write compare.form: {" + p.Path + ": " + class + "}; if not, the candidate's are wrong"
	case !decided && p.suspects(featRange):
		return "nothing tells a wrong number from one that each server measures of itself: if it is one, write compare.form: {" + p.Path + ": " + class + "}; if not, the candidate's are wrong"
	}
	return ""
}

// decidedAt is the exchange at which a feature was shown to differ; 0: it is not.
func (p *formPath) decidedAt(k int) int {
	t := &p.feature[k]
	if t.Odd == 0 || provesNothing(k) || k == featStill && !p.still.Long || k == featMember && !p.sharesMembers() ||
		p.isWatched(k) && !p.watched[k].Long {
		return 0
	}
	return t.decidedAt(p.unusual(k))
}

// provesNothing reports whether a feature keeps EQUIVALENT from being said and no more, for
// it breaks where each server has a state of its own that moves.
func provesNothing(k int) bool { return k == featRange || k == featChars }

// suspects reports whether a feature is suspected to differ, and not shown.
func (p *formPath) suspects(k int) bool {
	t, least := &p.feature[k], float64(formSuspect)
	if provesNothing(k) {
		least = rangeSuspect
	}
	return t.Odd > 0 && t.Bets.Now >= least && p.decidedAt(k) == 0 && (k == featChars || !t.bySecond(p.unusual(k))) &&
		(!provesNothing(k) || p.rule == "") && (k != featMember || p.sharesMembers())
}

// decidedAt is the exchange at which the feature was shown to differ; 0: it is not.
func (f *feature) decidedAt(h func(*table, category) float64) int {
	if f.Bets.At == 0 || f.bySecond(h) {
		return 0
	}
	return f.Bets.At
}

// expected is the reason of the declaration that covers a place; empty: none.
func (f *Forms) expected(pattern string) string {
	if len(f.expect) == 0 {
		return f.declared
	}
	return cmp.Or(f.declared, f.expect.Reason(trailOf(pattern)))
}
