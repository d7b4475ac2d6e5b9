package jsondiff

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondoc"
)

// MaxMasks bounds the patterns of a comparison in the config.
const MaxMasks = 16

// blank replaces what is not compared in a text.
const blank = "‹…›"

// masksOf compiles the patterns that a comparison leaves out of texts. A wrong one is a *whittle.Error
// with Field compare.ignore_text.
func masksOf(patterns []string) (list []*regexp.Regexp, err error) {
	for i, pattern := range patterns {
		re, err := MaskPattern(pattern)
		if err != nil {
			return nil, whittle.Errorf(whittle.Invalid, "pattern %d: %w", i, err).WithField("compare.ignore_text")
		}
		list = append(list, re)
	}
	return list, nil
}

// MaskPattern compiles a pattern of RE2's syntax for text that is not compared. A pattern that matches
// the empty text is wrong.
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

// masked is a body as it is compared. In a text, each match's groups become blank, or the whole match if
// it has none. JSON stays.
func (j *Differ) masked(body []byte) []byte {
	if len(j.masks) == 0 || !j.whole && j.probe.Scan(body) != jsondoc.NotJSON {
		return body
	}
	for _, re := range j.masks {
		body = without(body, re)
	}
	return body
}

// without is a body with each match masked: its groups, or all of it.
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
			out = append(append(out, body[copied:at[0]]...), blank...)
			copied = at[1]
		}
	}
	if copied == 0 {
		return body
	}
	return append(out, body[copied:]...)
}

// texts compares two bodies byte by byte.
func (j *Differ) texts(how string, monolith, candidate []byte) {
	if bytes.Equal(monolith, candidate) {
		return
	}
	if j.Quiet && len(j.expect) == 0 {
		j.report(how, monolith, candidate, "", "")
		return
	}
	at := firstDifference(monolith, candidate)
	from, to := fmt.Sprintf("%d bytes", len(monolith)), fmt.Sprintf("%d bytes", len(candidate))
	line, column := 1+bytes.Count(monolith[:at], []byte{'\n'}), at-bytes.LastIndexByte(monolith[:at], '\n')
	where := fmt.Sprintf("byte %d, line %d, column %d", at, line, column)
	if a, b, ok := j.Show.Bodies(monolith, candidate); ok {
		at = firstDifference(a, b)
		from, to = cmp.Or(windowAt(a, at), "empty"), cmp.Or(windowAt(b, at), "empty")
	}
	j.report(how, monolith, candidate, from, to)
	for i := range j.out {
		j.out[i].At = where
	}
}

// windowAt shows the surroundings of a place.
func windowAt(b []byte, at int) string {
	low, high := max(0, at-display.ValueShown/2), min(len(b), at+display.ValueShown/2)
	s := display.Visible(b[low:high], display.BodyShown)
	if low > 0 {
		s = "…" + s
	}
	if high < len(b) {
		s += "…"
	}
	return s
}

// firstDifference is the length of the common prefix.
func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
