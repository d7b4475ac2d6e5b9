package compare

import (
	"fmt"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/cause"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/header"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/units"
)

// Noise lists what the monolith was seen to change by itself, which therefore is no difference: "$.id
// (value)", "$.items (order)", sorted. Nil where the kind of comparison learns none.
func (j *Judge) Noise() []string {
	if m := j.mirrored.match; m != nil {
		return m.noisyPlaces()
	}
	return nil
}

func (m *match) noisyPlaces() []string {
	list := make([]string, 0, len(m.noise.Learnt))
	for k := range m.noise.Learnt {
		list = append(list, k.Path+" ("+k.Way+")")
	}
	slices.Sort(list)
	return list
}

// NoisyHeaders lists the compared headers that the monolith was seen to change by itself. Where noise is
// learned, a difference of the kind in which they vary counts only beyond a bound; elsewhere it counts
// like any other.
func (j *Judge) NoisyHeaders() []string { return j.mirrored.headers.noisy() }

func (m *match) finding(k *mark) whittle.Finding {
	f := whittle.Finding{
		Kind: m.kind, Path: k.Path, Count: k.Count, Of: m.n, Samples: slices.Clone(k.Samples),
		Cause: joined(m.cause(k), m.guess(k)),
	}
	if top := k.top(); top.Count > 0 {
		f.Monolith, f.Candidate = top.From, top.To
	}
	if k.Expect >= 0 {
		f.Expected = display.Reason(m.c.Expect[k.Expect])
	} else {
		f.Decided, f.DecidedAt = k.decided(), k.decidedAt()
		f.EValue = k.eValue(m.learn)
	}
	f.Summary = m.sentence(k)
	return f
}

// sentence says what differs, how often, and how.
func (m *match) sentence(k *mark) string {
	where := m.pathWords(k.Path)
	var b strings.Builder
	if types, ok := jsondiff.TypesOf(k.How); ok {
		fmt.Fprintf(&b, "%s has another type (%s)", where, strings.Replace(types, "/", " and ", 1))
	} else if words, ok := waysInWords[k.How]; ok {
		fmt.Fprintf(&b, words, where)
	} else {
		fmt.Fprintf(&b, "%s differs (%s)", where, k.How)
	}
	fmt.Fprintf(&b, " in %s of %s responses", units.Grouped(k.Count), units.Grouped(m.n))
	if top := k.top(); top.Count > 1 {
		fmt.Fprintf(&b, ", %s times %s → %s", units.Grouped(top.Count), top.From, top.To)
	}
	if k.At != "" {
		fmt.Fprintf(&b, "; the last time first at %s", k.At)
	}
	return b.String()
}

// pathWords name a place.
func (m *match) pathWords(path string) string {
	switch {
	case m.kind == whittle.FoundHeader:
		return headerWords(path)
	case path == jsondiff.ManyPaths:
		return "other paths"
	}
	return path
}

var waysInWords = map[string]string{
	jsondiff.HowBytes:    "the bodies%s differ",
	jsondiff.HowValue:    "%s has another value",
	howForm:              "%s has another form",
	jsondiff.WayPresence: "%s is set by one side only",
	jsondiff.HowMissing:  "%s is missing from the candidate's response",
	jsondiff.HowExtra:    "%s is in the candidate's response only",
	jsondiff.HowLength:   "%s has another number of elements",
	jsondiff.HowOrder:    "%s has the same elements in another order",
	jsondiff.HowSyntax:   "%s differs, and is not JSON on one side or both",
	jsondiff.HowLimit:    "%s is too deep or too large to be compared in full",
	jsondiff.HowMore:     "%s differ, beyond those that are distinguished",
	jsondiff.HowExpected: "%s differ as declared",
}

// joined is two sentences of which either may be empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// oneForAll is said where each side always gives one value.
const oneForAll = "each side says one and the same in every response, as a host name, a version or the time of its start: if it is each server's own, %s; if not, the candidate's is wrong"

// guess is why the candidate may differ; empty: unknown.
func (m *match) guess(k *mark) string {
	words := k.why.Words()
	if m.kind == whittle.FoundHeader && header.IsPolicy(header.NameOf(k.Path)) {
		return words
	}
	if words == "" && k.Count > m.n-k.Born && k.Self == 0 && k.why.IsOne() && !m.isUnsure(k) {
		words = fmt.Sprintf(oneForAll, m.settles(k.Path))
	}
	return words
}

// noRepeats is said of a difference that was never compared with the monolith's own changes.
const noRepeats = "no request has been repeated to the monolith, so it may be noise: if it is, declare it in compare.expect"

func (m *match) cause(k *mark) string {
	switch {
	case m.learn && k.Path == jsondiff.ManyPaths:
		return "more places differ than are distinguished, so nothing is learned of them: ignore those that the monolith changes by itself, as $.prices.*.at"
	case k.How == jsondiff.HowBytes && k.Self > 0:
		return fmt.Sprintf("the monolith's own response changed in %s of %s repeats, so no candidate can give the same bytes: use json or statistical, or name what changes in compare.ignore_text",
			units.Grouped(k.Self), units.Grouped(m.repeats))
	case k.How == jsondiff.HowSyntax && k.Self > 0 && !m.direct:
		return fmt.Sprintf("the monolith's own response changed in %s of %s repeats, and what is not JSON is compared as a whole: name what changes in compare.ignore_text",
			units.Grouped(k.Self), units.Grouped(m.repeats))
	case m.isUnsure(k):
		return m.unsureWords(k)
	case m.learn && k.Self > 0:
		return fmt.Sprintf("the monolith itself changes it, in %s of %s repeats: the candidate does so more often", units.Grouped(k.Self), units.Grouped(m.repeats))
	case m.learn && m.repeats == 0:
		return noRepeats
	}
	return ""
}

// seeCauses counts which causes fit the present exchange at a mark.
func (m *match) seeCauses(k *mark, d *jsondiff.Difference, x *whittle.Exchange) {
	if k.Path == jsondiff.ManyPaths || !k.why.Wants() {
		return
	}
	from, to := m.differ.Values(d, x.Monolith.Body, x.Candidate.Body)
	list := cause.Of(d, from, to)
	if kind, ok := jsondoc.KindOf(to); ok && kind != jsondoc.Array && kind != jsondoc.Object && from != nil && m.kind == whittle.FoundField {
		list = append(list, cause.OneValue(cause.Hash(to)))
	}
	if m.others != nil {
		if c, known := m.others.Whose(x); known {
			list = append(list, c)
		}
	}
	k.why.Add(list, cause.Hash(from)^digest.Mix(cause.Hash(to)))
}
