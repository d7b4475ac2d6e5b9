package form

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
	"whittle/internal/units"
)

// words describe the monolith's values at a place: "a UUID v4, new each time".
func (p *formPath) words() string {
	var list []string
	if top := p.Feature[featForm].top(); top.Count > 0 && top.Class != classArray && top.Class != classObject {
		s := top.Words
		if 10*top.Count < 9*p.Feature[featForm].N {
			s += " or another form"
		}
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

// sizeWords name a size.
func sizeWords(class formClass, size int) string {
	least := ""
	if size == most {
		least = "at least "
	}
	if class == classArray {
		return least + jsondiff.Elements(size)
	}
	return least + strconv.Itoa(size) + " characters"
}

// featureWords say how a candidate deviates at each derived place.
var featureWords = [features]string{
	"has another form", "is a word that the monolith never said", "is a time at another distance from the request",
	"repeats an earlier value", "repeats the end of an earlier id", "has another size",
}

// finding is the strongest evidence against the candidate at a place: first what was decided, then what
// is suspected of its form, then draws that are not alike. ok is false where there is none.
func (f *Forms) finding(p *formPath) (x whittle.Finding, ok bool) {
	worst, at := -1, 0
	for k := range p.Feature {
		if shown := p.decidedAt(k); shown > 0 && at == 0 || worst < 0 && p.isSuspected(k) {
			worst, at = k, shown
		}
	}
	x = whittle.Finding{Kind: whittle.FoundForm, Path: p.Path, Expected: f.expected(p), Samples: slices.Clone(p.Samples)}
	if worst >= 0 {
		p.deviates(worst, &x)
	} else if l := p.lead(); l != nil {
		p.leads(l, &x)
	} else {
		return x, false
	}
	if x.Expected == "" && worst >= 0 {
		x.Decided, x.DecidedAt, x.EValue = at > 0, at, p.Feature[worst].Bets.EValue()
	}
	return x, true
}

// deviates says how the candidate deviates at a derived place, and what the monolith does.
func (p *formPath) deviates(k int, x *whittle.Finding) {
	f := &p.Feature[k]
	x.Candidate, x.Monolith, x.Count, x.Of = topOf(f.Odds).Words, f.top().Words, f.Odd, f.Of
	what, named := featureWords[k], k == featWord // by words or prefixes
	switch {
	case k == featForm && p.rule != "":
		x.Monolith = "declared as " + p.rule
	case k == featForm && p.isNoProof(k):
		what, named = "differs in more than its ids and numbers", true
	case k == featForm && x.Candidate == x.Monolith: // all but the prefix of an id
		what, named = "has another prefix", true
	case k == featWord:
		x.Candidate, x.Monolith = "another word", fmt.Sprintf("one of %d", len(f.Rows))
	}
	x.Summary = fmt.Sprintf("%s %s in %s of %s responses: %s instead of %s", p.name, what, units.Grouped(f.Odd), units.Grouped(f.Of), x.Candidate, x.Monolith)
	if named && f.Of >= formEnough && f.Odd == f.Of {
		x.Cause = "the candidate never gives one of the monolith's: if each side names its own instances, write compare.form: {" +
			p.Path + ": any}; if not, the candidate's are wrong"
	}
	if why := noProofs[k]; why != "" && p.isNoProof(k) {
		x.Cause = "no proof of a fault: if " + why + ", write compare.form: {" + p.Path + ": " + cmp.Or(p.top().inConfig(), formAny) +
			"}; if not, the candidate's are wrong"
	}
}

// noProofs are why equal services may deviate likewise.
var noProofs = [features]string{featTime: "a clock makes it that is not the one of the Date", featEnd: "it is a part of each server's own"}

// Findings lists the places at which the candidate's form differs, decided ones first.
func (f *Forms) Findings() []whittle.Finding {
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

// expected is the reason of the declaration that covers a place; empty where none does.
func (f *Forms) expected(p *formPath) string {
	if p.Cookie {
		return f.Declared
	}
	return ""
}
