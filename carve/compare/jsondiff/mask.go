package jsondiff

import (
	"bytes"
	"regexp"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondoc"
)

// MaxMasks bounds the patterns of a comparison.
const MaxMasks = 16

// masked stands in a text for what is not compared.
const masked = "‹…›"

// mask leaves out of texts what patterns match: their groups, or all of the match where
// they have none. JSON is compared as it is where json is set.
type mask struct {
	Differ
	patterns []*regexp.Regexp
	json     bool
	doc      jsondoc.Document
}

// Masked is a Differ to which the parts of texts that match a pattern of
// c.IgnoreText are the same. A wrong pattern is a *whittle.Error with Field
// compare.ignore_text.
func Masked(d Differ, c *whittle.Comparison) (Differ, error) {
	if len(c.IgnoreText) == 0 {
		return d, nil
	}
	if len(c.IgnoreText) > MaxMasks {
		return nil, whittle.Errorf(whittle.Invalid, "%d patterns are more than %d", len(c.IgnoreText), MaxMasks).
			WithField("compare.ignore_text").WithHint("join some with |")
	}
	m := &mask{Differ: d, json: c.Kind == whittle.JSON}
	for i, pattern := range c.IgnoreText {
		re, err := MaskPattern(pattern)
		if err != nil {
			return nil, whittle.Errorf(whittle.Invalid, "pattern %d: %w", i, err).WithField("compare.ignore_text")
		}
		m.patterns = append(m.patterns, re)
	}
	return m, nil
}

// MaskPattern compiles a pattern of RE2's syntax that says what is not compared. One that
// matches the empty text says nothing.
func MaskPattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > display.BodyShown {
		return nil, whittle.Errorf(whittle.Invalid, "a pattern of %d bytes is longer than %d", len(pattern), display.BodyShown)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "%q is no pattern: %s", pattern, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if re.MatchString("") {
		return nil, whittle.Errorf(whittle.Invalid, "%q matches the empty text, so it names nothing to be left out", pattern)
	}
	return re, nil
}

// Diff implements Differ.
func (m *mask) Diff(monolith, candidate []byte) []Difference {
	if bytes.Equal(monolith, candidate) {
		return nil
	}
	monolith, candidate = m.both(monolith, candidate)
	return m.Differ.Diff(monolith, candidate)
}

// Spot implements Differ.
func (m *mask) Spot(d *Difference, monolith, candidate []byte) display.Spot {
	monolith, candidate = m.both(monolith, candidate)
	return m.Differ.Spot(d, monolith, candidate)
}

// Values implements Differ.
func (m *mask) Values(d *Difference, monolith, candidate []byte) (from, to []byte) {
	monolith, candidate = m.both(monolith, candidate)
	return m.Differ.Values(d, monolith, candidate)
}

// both are two bodies as they are compared.
func (m *mask) both(monolith, candidate []byte) (a, b []byte) {
	return m.without(monolith), m.without(candidate)
}

func (m *mask) without(body []byte) []byte {
	if m.json && m.doc.Scan(body) != jsondoc.NotJSON {
		return body
	}
	for _, re := range m.patterns {
		body = without(body, re)
	}
	return body
}

// without is a body in which the groups of each match, or all of it, are masked.
func without(body []byte, re *regexp.Regexp) []byte {
	var out []byte
	copied := 0
	for _, at := range re.FindAllSubmatchIndex(body, -1) {
		if len(at) > 2 {
			at = at[2:]
		}
		for ; len(at) > 0; at = at[2:] {
			if at[0] < copied || at[0] == at[1] { // a group within another one, or none
				continue
			}
			out = append(append(out, body[copied:at[0]]...), masked...)
			copied = at[1]
		}
	}
	if copied == 0 {
		return body
	}
	return append(out, body[copied:]...)
}
