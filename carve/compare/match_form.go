package compare

import (
	"whittle"
	"whittle/carve/compare/jsondiff"
)

// How a match splits its error rate: over differences anywhere, at single places,
// and of the form of what varies.
const (
	wholePart = 0.4
	marksPart = 0.4
	formsPart = 0.2
)

// covered is what an EQUIVALENT stands on, in a sentence's end.
func covered(v *whittle.Verdict) string {
	if v.Coverage == nil {
		return ""
	}
	return "; " + v.Coverage.Summary
}

// seeForms has the form of what varies compared in the present exchange.
func (m *match) seeForms(x *whittle.Exchange, repeated bool) {
	if m.forms == nil {
		return
	}
	m.forms.Timeless = m.chosen
	var again []byte
	if repeated {
		again = x.Repeat.Body
	}
	m.forms.Learn(m.noise.Learnt, m.n)
	m.forms.See(x, again, m.alpha*formsPart, m.n)
}

// coverage is what is compared by value, by form, and not at all.
func (m *match) coverage() *whittle.Coverage {
	if m.forms != nil {
		return m.spelt(m.ignoring(m.forms.Coverage(&m.c)))
	}
	return m.ignoring(&whittle.Coverage{ByValue: 1, WholeBody: true, ByForm: []whittle.FormField{}, NotCompared: []whittle.Uncompared{}, Summary: "the whole body compared by value"})
}

// ignoring adds what the config takes out of bodies that are compared as a whole.
func (m *match) ignoring(c *whittle.Coverage) *whittle.Coverage {
	if !c.WholeBody || len(m.c.IgnoreText) == 0 {
		return c
	}
	for _, pattern := range m.c.IgnoreText {
		c.NotCompared = append(c.NotCompared, whittle.Uncompared{Path: pattern, Reason: "text that matches is ignored in the config"})
	}
	return c
}

// diffSpelt is diff that takes note of how numbers are written.
func (m *match) diffSpelt(monolith, candidate []byte) []jsondiff.Difference {
	if k, ok := m.plain.(*jsondiff.JSON); ok {
		k.Spelling = &m.spelling
		defer func() { k.Spelling = nil }()
	}
	return m.diff(monolith, candidate)
}

// spelt adds the numbers that are the same and written otherwise.
func (m *match) spelt(c *whittle.Coverage) *whittle.Coverage {
	for _, path := range m.spelling.Places() {
		a, b := m.spelling.Example(path)
		c.NotCompared = append(c.NotCompared, whittle.Uncompared{Path: path + " as written", Reason: "a number is compared by its value, not by how it is written: " + a + " and " + b})
	}
	return c
}
