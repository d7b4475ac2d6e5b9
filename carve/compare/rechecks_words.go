package compare

import (
	"fmt"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
)

// isBodyPlace distinguishes places of a body from status, content type, failure and
// headers.
func isBodyPlace(p string) bool {
	switch whittle.FindingKind(p) {
	case whittle.FoundStatus, whittle.FoundContentType, whittle.FoundFailure:
		return false
	}
	return !isHeaderPlace(p)
}

func isHeaderPlace(p string) bool { return strings.HasPrefix(p, headerPlace) }

// headerPlace is before a header's name in a place.
const headerPlace = "header "

// placeOfFinding is where a finding lies, as series.places has it.
func placeOfFinding(f *whittle.Finding) (string, bool) {
	switch f.Kind {
	case whittle.FoundStatus, whittle.FoundContentType, whittle.FoundFailure:
		return string(f.Kind), true
	case whittle.FoundHeader:
		return headerPlace + f.Path, true
	case whittle.FoundBody, whittle.FoundField:
		return f.Path, true
	}
	return "", false
}

// annotate adds to a finding what asking again has shown of it, and decides it where
// that is proof.
func (t *rechecks) annotate(f *whittle.Finding, order int) {
	t.claimLate()
	place, ok := placeOfFinding(f)
	p := t.find(place)
	if !ok || f.Expected != "" || p == nil || p.in(order).Times == 0 {
		return
	}
	a := *p.in(order)
	f.Asked = &a
	if a.Noise == 0 { // asking again has repeated it to the monolith
		f.Cause = strings.TrimPrefix(strings.TrimPrefix(f.Cause, noRepeats), "; ")
	}
	for _, shown := range append(t.proofs(p, order), proof{count: a.Reproducible + a.AnotherKept, by: &t.Reproduced}) {
		if shown.count > 0 {
			f.EValue = max(f.EValue, shown.by.EValue())
			if shown.by.At > 0 && (!f.Decided || shown.by.At < f.DecidedAt) {
				f.Decided, f.DecidedAt = true, shown.by.At
			}
		}
	}
	f.Summary += "; " + askedWords(&a)
	if !f.Decided && a.Reproducible > 1 && a.Reproducible*2 >= a.Times {
		f.Summary += ", of which one in half a minute counts"
	}
}

// findingAt is a finding of a place, as placeOfFinding reads it.
func findingAt(place string, body whittle.FindingKind) whittle.Finding {
	switch {
	case isHeaderPlace(place):
		return whittle.Finding{Kind: whittle.FoundHeader, Path: place[len(headerPlace):]}
	case !isBodyPlace(place):
		return whittle.Finding{Kind: whittle.FindingKind(place)}
	}
	return whittle.Finding{Kind: body, Path: place}
}

// askedWords says what asking again showed.
func askedWords(a *whittle.Asked) string {
	s := fmt.Sprintf("asked again %s: ", timesOf(a.Times))
	switch {
	case a.AnotherRequest > 0 && a.AnotherRequest*2 >= a.Times:
		return s + fmt.Sprintf("belongs to another request in %d%s", a.AnotherRequest, keptWords(a))
	case a.Reproducible > 0 && a.Reproducible*2 >= a.Times:
		return s + fmt.Sprintf("reproducible in %d", a.Reproducible)
	case a.Stale > 0 && a.Stale*2 >= a.Times:
		return s + fmt.Sprintf("stale in %d, the candidate catches up within %s", a.Stale, time.Duration(a.LagMs)*time.Millisecond)
	case a.Noise*2 >= a.Times:
		return s + fmt.Sprintf("the monolith itself changes in %d", a.Noise)
	}
	return s + fmt.Sprintf("intermittent, in %d the candidate alone was odd", a.Intermittent+a.Stale)
}

// keptWords says whether the candidate keeps to another request's response.
func keptWords(a *whittle.Asked) string {
	switch a.AnotherKept {
	case 0:
		return ", and is right when it is asked again"
	case a.AnotherRequest:
		return ", and stays so"
	}
	return fmt.Sprintf(", and stays so in %d", a.AnotherKept)
}

func timesOf(n int) string {
	if n == 1 {
		return "once"
	}
	return units.Grouped(n) + " times"
}
