package form

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/noise"
	"whittle/internal/jsonpath"
	"whittle/internal/units"
)

// boundForm is the name of the bound that waits for places compared by form.
const boundForm = "form"

// Before EQUIVALENT a place must have been compared by form in formEnough responses, or formLong
// exchanges must have passed, in which a value that stays the same would have shown.
const (
	formEnough = 40   // responses
	formLong   = 1000 // exchanges
)

// Cover adds to a coverage what is compared by form after n exchanges, and what is not.
func (f *Forms) Cover(c *whittle.Coverage, n int) {
	for _, p := range f.paths {
		if why := p.unformed(); why != "" {
			c.Not(p.name, why)
			continue
		}
		c.ByForm = append(c.ByForm, whittle.FormField{
			Path: p.name, Form: p.words(), Declared: p.rule != "", Compared: p.Feature[featForm].Of, Class: cmp.Or(p.rule, p.top().inConfig()),
		})
		if p.values() {
			p.left(func(what, why string) { c.Not(p.name+" ("+what+")", why) })
		}
		open, _ := p.Alike.Open(p.isRanged(), alikeAlpha)
		if _, waits := f.waits(p, n); open != nil && !waits && p.rule == "" {
			c.Not(p.name+" (draw)", "too few values came to say that both sides draw alike")
		}
	}
	if f.over > 0 {
		c.Not(jsondiff.ManyPaths, fmt.Sprintf("%d more ways to vary than the %d places that are compared by form", f.over, most))
	}
}

// ByValue is how many places of bodies are compared by value. more says that further ones were not
// counted, whole that bodies are compared as one.
func (f *Forms) ByValue() (n int, more, whole bool) {
	n = len(f.fields)
	for _, p := range f.paths {
		if p.values() && f.fields[digest.FNV([]byte(p.Path))] {
			n--
		}
	}
	return n, len(f.fields) == fieldsMost, n == 1 && len(f.fields) == 1 && f.fields[rootHash]
}

// values reports whether the monolith changes the value itself.
func (p *formPath) values() bool {
	return slices.ContainsFunc(p.Varies, func(way string) bool { return way == jsondiff.HowValue || strings.HasPrefix(way, jsondiff.HowType) })
}

// unformed says why a place is not even compared by form; empty where it is.
func (p *formPath) unformed() string {
	switch {
	case p.rule == formAny:
		return "declared as any in the config"
	case p.isOwn():
		return "a state that each server holds by itself, as it seems"
	case p.isAnothers():
		return "the request's, as the monolith repeats it, and not the same on both sides"
	case p.Cookie && p.isMember() && !p.isCompared():
		return "out of a set, of which it is not compared which one goes with the request"
	case !p.values() && strings.HasSuffix(p.Path, "*") && p.varies(jsondiff.WayPresence):
		return "members whose names vary, of which those that one side alone has are not compared"
	case !p.values() || p.rule != "":
		return ""
	case p.Held.N >= formEnough && p.isHeld():
		return "a value that the monolith holds for a while, of which no more is known than how often both differ"
	case p.top() == classText && !p.isMember() && !p.varies(jsondiff.WayPresence):
		if !p.isNew() {
			return "text without a form: its type, emptiness and fixed words are compared"
		}
		return "text without a form: its type, emptiness, repetition and fixed words are compared"
	}
	return ""
}

// left adds what a form does not say: how large a changing number is, how a list is ordered, and which
// value of a set comes.
func (p *formPath) left(add func(what, why string)) {
	switch {
	case p.rule != "":
	case p.isMeasured() && !p.isRanged():
		add("size", "a number that rises or falls, with time or by asking, may be another one on each server")
	case p.isMeasured():
		add("spread", "of numbers that vary it is compared which side's is the larger and how often one comes again, not how they are spread: kind statistical does")
	case p.isNew() && p.top().hasMembers():
		add("alphabet", "of an id that is new each time it is not compared which characters it is drawn from")
	case p.isSet() && !p.isCompared():
		add("which", "of values out of a set it is compared how often each comes, not which goes with what")
	case !p.isNew() && !p.isSet() && !p.ofNow() && (p.top().hasMembers() || p.top() == classTime || p.top() == classJWT):
		add("repetition", "of values that come again at times it is not compared how often they do")
	}
	switch top := p.top(); {
	case p.rule != "":
	case top == classJWT:
		add("claims", "of a token the form is compared, not what stands in it")
	case top == classText && !p.isMember():
		add("ids and numbers", "within a text that varies they are not compared")
	}
	if strings.Contains(p.Path, "*") {
		add("order", "of elements that vary, their order and whether one comes twice are not compared")
	}
}

// Bound waits while a deviation is suspected, until each place was compared often enough, and where
// nothing of the body is compared. ok is false where it waits for nothing.
func (f *Forms) Bound(n int) (b whittle.Bound, ok bool) {
	for _, p := range f.paths {
		if p.rule == formAny || p.rule == formValue || f.expected(p) != "" {
			continue
		}
		of, open := f.boundOf(p, n)
		if open && (!ok || b.More >= 0 && (of.More < 0 || of.More > b.More)) {
			b, ok = of, true
		}
	}
	if why := f.hollow(); !ok && why != "" {
		return whittle.Bound{What: boundForm, MarginHigh: noise.Slack, High: 1, Summary: why, More: -1}, true
	}
	return b, ok
}

func (f *Forms) boundOf(p *formPath, n int) (b whittle.Bound, ok bool) {
	b = whittle.Bound{What: boundForm, MarginHigh: noise.Slack}
	if x, ok := f.finding(p); ok && !x.Decided {
		b.Estimate, b.High = eprocess.Ratio(x.Count, x.Of), eprocess.Share{N: x.Of, Differing: x.Count}.High(alikeAlpha)
		b.Summary = x.Summary + ": suspected, not shown"
		b.More = -1
		return b, true
	}
	of := p.Feature[featForm].Of
	if b.More = formEnough - of; b.More > 0 && !p.isOwn() && n-p.Born < formLong && p.values() {
		b.High = math.Min(1, 5/float64(of+1))
		b.Summary = fmt.Sprintf("%s has been compared by form in %s responses so far: %s more are needed", p.name, units.Grouped(of), units.Grouped(b.More))
		return b, true
	}
	return f.waits(p, n)
}

// hollow says why no undeclared value of the body, or of cookies, is left to compare; empty: one is.
func (f *Forms) hollow() (why string) {
	if n, _, _ := f.ByValue(); n > 0 {
		return ""
	}
	if i := slices.IndexFunc(f.paths, (*formPath).isAnothers); i >= 0 && f.Declared == "" {
		return "the two sides' values of " + f.paths[i].name + " differ; compare.headers: {except: [Set-Cookie]} leaves cookies out"
	}
	for _, p := range f.paths {
		switch not := p.unformed(); {
		case f.Named != nil && !p.Cookie: // it says nothing of cookies
		case not == "" && p.values():
			return ""
		case not != "" && p.rule == "" && f.expected(p) == "":
			why = p.name + " is " + not
		}
	}
	switch {
	case why == "":
		return ""
	case f.Named != nil:
		return "no value of a cookie is compared: " + why + "; compare.headers: {except: [Set-Cookie]} leaves cookies out"
	}
	return "no value of the bodies is compared: " + why + ", and there is no other field"
}

// rootHash is the place of a body compared as a whole.
var rootHash = digest.FNV([]byte(root))

// fieldsMost is how many places of values are counted at most.
const fieldsMost = most * few

// countFields counts the places where the monolith's and the candidate's responses both had values under
// the same keys. It looks at the first exchanges and one in 256 of the others, so counting takes no
// measurable time. A body that is not JSON is compared as a whole and counts as one.
func (f *Forms) countFields(monolith, candidate []byte, n int) {
	if n > 16 && n%256 > 0 {
		return
	}
	w, both := &f.walk, map[uint64]bool{}
	if w.doc.Scan(candidate) == jsondoc.Scanned {
		w.leaves(func(_ uint32, _ []byte, keys uint64) { both[keys] = true })
	}
	if w.doc.Scan(monolith) != jsondoc.Scanned {
		if len(monolith) > 0 {
			f.fields[rootHash] = true
		}
		return
	}
	w.leaves(func(_ uint32, at []byte, keys uint64) {
		h := digest.FNV(at)
		if both[keys] && len(f.fields) < fieldsMost && !f.fields[h] && (len(f.ignore) == 0 || !jsonpath.AnyCovers(f.ignore, TrailOf(string(at)))) {
			f.fields[h] = true
		}
	})
}
