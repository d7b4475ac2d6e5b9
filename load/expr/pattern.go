package expr

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// Pattern is a compiled pattern: RE2's, or one that backtracks where RE2 lacks a
// feature, such as look-around. A match of the latter that takes longer than a second has
// found nothing. It is safe for concurrent use.
type Pattern struct {
	linear *regexp.Regexp
	back   *regexp2.Regexp
}

// CompileAnyPattern reads a regular expression with its flags, of JavaScript's or Perl's
// language.
func CompileAnyPattern(src, flags string) (*Pattern, error) {
	rx, err := CompilePattern(src, flags)
	if err == nil {
		return &Pattern{linear: rx}, nil
	}
	back, ok := backtracking(src, flags)
	if !ok {
		return nil, err
	}
	return &Pattern{back: back}, nil
}

// MatchString reports whether the pattern is somewhere in a text.
func (p *Pattern) MatchString(text string) bool {
	if p.linear != nil {
		return p.linear.MatchString(text)
	}
	found, err := p.back.MatchString(text)
	return err == nil && found
}

// Groups is how many groups the pattern has.
func (p *Pattern) Groups() int {
	if p.linear != nil {
		return p.linear.NumSubexp()
	}
	return len(p.back.GetGroupNumbers()) - 1
}

// FindAll lists the first n matches, each as the bounds in bytes of the whole and of its
// groups, −1 for a group that has none.
func (p *Pattern) FindAll(text string, n int) (out [][]int) {
	if p.linear != nil {
		return p.linear.FindAllStringSubmatchIndex(text, n)
	}
	at := byteOffsets(text)
	for m, err := p.back.FindStringMatch(text); err == nil && m != nil; m, err = p.back.FindNextMatch(m) {
		var bounds []int
		for _, number := range p.back.GetGroupNumbers() {
			g := m.GroupByNumber(number)
			if g == nil || len(g.Captures) == 0 {
				bounds = append(bounds, -1, -1)
				continue
			}
			bounds = append(bounds, at(g.Index), at(g.Index+g.Length))
		}
		if out = append(out, bounds); len(out) == n {
			break
		}
	}
	return out
}

// group finds a group by its number or its name, as its place in what FindAll lists; none
// is the whole match.
func (p *Pattern) group(name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	at, err := strconv.Atoi(name)
	switch {
	case p.linear != nil && (err != nil || at > p.Groups()):
		at = slices.Index(p.linear.SubexpNames(), name)
	case p.linear != nil:
	case err != nil:
		at = slices.Index(p.back.GetGroupNames(), name)
	default:
		at = slices.Index(p.back.GetGroupNumbers(), at)
	}
	if at < 0 {
		return 0, fmt.Errorf("the pattern has no group %s", name)
	}
	return at, nil
}

// byteOffsets makes offsets in characters those in bytes.
func byteOffsets(text string) func(int) int {
	if utf8.RuneCountInString(text) == len(text) {
		return func(n int) int { return n }
	}
	offsets := make([]int, 0, len(text)+1)
	for i := range text {
		offsets = append(offsets, i)
	}
	offsets = append(offsets, len(text))
	return func(n int) int { return offsets[min(n, len(offsets)-1)] }
}

// maxMatchTime bounds a match of a pattern that backtracks. One that takes longer has not
// found anything. Tests shorten it.
var maxMatchTime = time.Second

// backtracking compiles a pattern that RE2 has not. False: it is no pattern at all, or
// longer than one may be.
func backtracking(src, flags string) (*regexp2.Regexp, bool) {
	options := regexp2.RegexOptions(regexp2.ECMAScript)
	for _, f := range flags {
		options |= map[rune]regexp2.RegexOptions{'i': regexp2.IgnoreCase, 'm': regexp2.Multiline, 's': regexp2.Singleline}[f]
	}
	rx, err := regexp2.Compile(src, options)
	if err != nil || len(src) > MaxConditionBytes {
		return nil, false
	}
	rx.MatchTimeout = maxMatchTime
	return rx, true
}

// CompilePattern reads a JavaScript regular expression with its flags, as far
// as RE2 has the same: no look-around, no back-references.
func CompilePattern(src, flags string) (*regexp.Regexp, error) {
	if len(src) > MaxConditionBytes {
		return nil, fmt.Errorf("a pattern longer than %d bytes", MaxConditionBytes)
	}
	inline := ""
	for _, f := range flags {
		switch f {
		case 'i', 'm', 's':
			inline += string(f)
		case 'g', 'u', 'd', 'v':
			// The first match is taken, and text is Unicode, in any case.
		default:
			return nil, fmt.Errorf("the flag %q is not known", f)
		}
	}
	if inline != "" {
		src = "(?" + inline + ")" + src
	}
	rx, err := regexp.Compile(src)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not understood (look-around and back-references are not supported): %w", err)
	}
	return rx, nil
}
