package jsondiff

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// What Patterns looks at, and proposes, at most.
const (
	suggestRead   = 1 << 20 // bytes of a text
	suggestMost   = 6       // patterns
	suggestPrefix = 40      // bytes before what changes
)

var (
	digits    = regexp.MustCompile(`[0-9]+`)
	blanks    = regexp.MustCompile(`[ \t]+`)
	allDigits = regexp.MustCompile(`^[0-9]+$`)
	name      = regexp.MustCompile(`[A-Za-z]{2}`)
)

// Patterns proposes entries of compare.ignore_text, apart from those that d has, for two
// texts that mean the same, such as a page that was asked for twice: each names a word
// that changed by what stands before it in its line. whole reports whether the texts are
// the same with them. may says whether a pattern may be shown, since what stands before
// a word may be secret.
func Patterns(d Differ, a, b []byte, may func(pattern string) bool) (list []string, whole bool) {
	if m, ok := d.(*mask); ok {
		a, b = m.both(a, b)
	}
	if len(a) > suggestRead || len(b) > suggestRead || !utf8.Valid(a) || !utf8.Valid(b) {
		return nil, false
	}
	for len(list) < suggestMost && !bytes.Equal(a, b) {
		prefix, group := changedWord(a, b)
		if prefix == nil {
			return list, false
		}
		pattern := blanks.ReplaceAllString(digits.ReplaceAllString(regexp.QuoteMeta(string(prefix)), `\d+`), `\s+`) + group
		re, err := MaskPattern(pattern)
		if err != nil || !may(pattern) {
			return list, false
		}
		nextA, nextB := without(a, re), without(b, re)
		if bytes.Equal(nextA, a) || bytes.Equal(nextB, b) {
			return list, false
		}
		list, a, b = append(list, pattern), nextA, nextB
	}
	return list, bytes.Equal(a, b)
}

// changedWord is what stands before the first word that differs, and the group of a
// pattern that takes the word on either side. prefix is nil where there is no word on one
// side, or nothing before it to know it by.
func changedWord(a, b []byte) (prefix []byte, group string) {
	at := FirstDifference(a, b)
	start := at
	for start > 0 && inToken(a[start-1]) {
		start--
	}
	wordA, wordB := word(a, start), word(b, start)
	if len(wordA) == 0 || len(wordB) == 0 {
		return nil, ""
	}
	prefix = bytes.TrimLeft(prefixOf(a[:start]), " \t\r\"'>")
	if !name.Match(prefix) {
		return nil, ""
	}
	quote := string(prefix[len(prefix)-1:])
	behind := func(s, word []byte) bool { return bytes.HasPrefix(s[start+len(word):], []byte(quote)) }
	switch {
	case strings.Contains(`"'`, quote) && behind(a, wordA) && behind(b, wordB):
		return prefix, "([^" + quote + "]*)"
	case allDigits.Match(wordA) && allDigits.Match(wordB):
		return prefix, `(\d+)`
	}
	return prefix, `([\w+/=.:%~-]+)`
}

// prefixOf is the end of what stands before a word: of its line, behind what is masked
// already, from the beginning of a word or tag.
func prefixOf(before []byte) []byte {
	before = before[1+bytes.LastIndexByte(before, '\n'):]
	if i := bytes.LastIndex(before, []byte(masked)); i >= 0 {
		before = before[i+len(masked):]
	}
	if i := bytes.LastIndexByte(before, '<'); i >= 0 && len(before)-i <= suggestPrefix && name.Match(before[i:]) {
		return before[i:]
	}
	if len(before) <= suggestPrefix {
		return before
	}
	before = before[len(before)-suggestPrefix:]
	if i := bytes.IndexAny(before, " \t<>;,{"); i >= 0 {
		return before[i:]
	}
	return nil
}

func word(s []byte, from int) []byte {
	end := from
	for end < len(s) && inToken(s[end]) {
		end++
	}
	return s[min(from, len(s)):end]
}

// inToken reports whether a byte is one that a pattern of tokens takes: of a key, a number or
// a time of day.
func inToken(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || bytes.IndexByte([]byte("_+/=.:%~-"), c) >= 0
}
