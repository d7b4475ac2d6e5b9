package compare

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/internal/units"
)

// placeOfFinding is where a finding lies, as series.places has it.
func placeOfFinding(f *whittle.Finding) string {
	switch f.Kind {
	case whittle.FoundHeader:
		return "header " + f.Path
	case whittle.FoundBody, whittle.FoundField:
		return f.Path
	}
	return string(f.Kind)
}

// findingAt is a finding of a place, as placeOfFinding reads it.
func findingAt(place string, body whittle.FindingKind) whittle.Finding {
	name, inHeader := strings.CutPrefix(place, "header ")
	switch {
	case inHeader:
		return whittle.Finding{Kind: whittle.FoundHeader, Path: name}
	case headOf(whittle.FindingKind(place)) >= 0:
		return whittle.Finding{Kind: whittle.FindingKind(place)}
	}
	return whittle.Finding{Kind: body, Path: place}
}

// annotate adds the results of rechecks to a finding, and decides it where they prove it.
func (t *rechecks) annotate(f *whittle.Finding, order int) {
	p := t.find(placeOfFinding(f))
	if f.Expected != "" || p == nil || p.Seen[order].Times == 0 {
		return
	}
	a := p.Seen[order].Asked
	f.Asked = &a
	if a.Noise == 0 { // rechecks have repeated it to the monolith
		f.Cause = strings.TrimPrefix(strings.TrimPrefix(f.Cause, noRepeats), "; ")
	}
	for _, shown := range append(t.proofs(p, order), proof{count: a.Reproducible, by: &t.Reproduced.Bets}) {
		if shown.count > 0 {
			f.EValue = max(f.EValue, shown.by.EValue())
			if at := shown.by.At; at > 0 && (!f.Decided || at < f.DecidedAt) {
				f.Decided, f.DecidedAt = true, at
			}
		}
	}
	f.Summary += "; " + askedWords(&a)
	if !f.Decided && a.Reproducible > 1 && a.Reproducible*2 >= a.Times {
		f.Summary += ", of which one in half a minute counts"
	}
}

// askedWords says what rechecks showed.
func askedWords(a *whittle.Asked) string {
	s := fmt.Sprintf("asked again %s: ", timesOf(a.Times))
	switch {
	case a.AnotherRequest > 0 && a.AnotherRequest*2 >= a.Times:
		return s + fmt.Sprintf("belongs to another request in %d", a.AnotherRequest)
	case a.Reproducible > 0 && a.Reproducible*2 >= a.Times:
		return s + fmt.Sprintf("reproducible in %d", a.Reproducible)
	case a.Stale > 0 && a.Stale*2 >= a.Times:
		return s + fmt.Sprintf("stale in %d, the candidate catches up within %s", a.Stale, time.Duration(a.LagMs)*time.Millisecond)
	case a.Noise*2 >= a.Times:
		return s + fmt.Sprintf("the monolith itself changes in %d", a.Noise)
	}
	return s + fmt.Sprintf("intermittent, in %d the candidate alone was odd", a.Intermittent+a.Stale)
}

func timesOf(n int) string {
	if n == 1 {
		return "once"
	}
	return units.Grouped(n) + " times"
}

// proof is what rechecks have shown of a place beyond its noise: in how many, by which test, and in words.
type proof struct {
	count int
	by    *eprocess.Bets
	words string
}

// proofs are the evidence on a place in one order; 1 is that of users.
func (t *rechecks) proofs(p *recheckPlace, order int) []proof {
	seen := &p.Seen[order]
	alone := proof{seen.Intermittent + seen.Stale, &t.Second.Bets, "is another one on the candidate where the monolith stays the same"}
	list := []proof{alone, {seen.Kept, &t.Kept.Bets, "stays another one on the candidate, which no change of the monolith's own explains"}}
	if order == 1 {
		list[0].by = &t.First.Bets
		alone.by = &t.Lopsided.Bets
		list = append(list, alone)
	}
	return list
}

func (s *proof) finding(p *recheckPlace, order int, body whittle.FindingKind) whittle.Finding {
	a := p.Seen[order].Asked
	f := findingAt(p.Place, body)
	f.Count, f.Of, f.Decided, f.DecidedAt, f.EValue, f.Asked = s.count, a.Times, true, s.by.At, s.by.EValue(), &a
	f.Summary = fmt.Sprintf("%s %s; %s", cmp.Or(p.Place, "the body"), s.words, askedWords(&a))
	if order == 1 {
		f.Order = whittle.AskedFirst
		f.Summary += "; only when the candidate is asked first, as users ask it"
	}
	return f
}
