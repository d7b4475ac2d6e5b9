package redact

import (
	"bytes"
	"regexp"
	"slices"
)

// span is a piece of a text, by its bytes.
type span struct{ start, end int }

// patterns replaces what the rules' patterns match.
func (w *work) patterns(b []byte) (_ []byte, found bool) {
	if len(w.r.patterns) == 0 {
		return b, false
	}
	return w.r.covered(b, w.r.matched(b), len(b), len(b))
}

// matches reports whether a pattern matches.
func (r *Redactor) matches(b []byte) bool {
	return slices.ContainsFunc(r.patterns, func(p *regexp.Regexp) bool { return p.Match(b) })
}

// matched gives what of a text the patterns say is secret: for one pattern after
// the other, in the text's order.
func (r *Redactor) matched(b []byte) (all []span) {
	for _, p := range r.patterns {
		for _, m := range p.FindAllSubmatchIndex(b, -1) {
			if len(m) > 2 {
				m = m[2:]
			}
			if m[0] < m[1] {
				all = append(all, span{m[0], m[1]})
			}
		}
	}
	return all
}

// covered puts tokens in the place of spans. Those that overlap become one, and a
// token that one of them touches belongs to it; what lies in a token stays, or a
// text that is redacted twice would not stay the same. From escapes on b is
// percent-encoded, and from query on "+" is a space in it; a token is that of
// what a span stands for.
func (r *Redactor) covered(b []byte, spans []span, escapes, query int) (_ []byte, found bool) {
	if len(spans) == 0 {
		return b, false
	}
	for i := 0; ; {
		n := bytes.Index(b[i:], []byte(tokenPrefix))
		if n < 0 {
			break
		}
		i += n
		if end := min(len(b), i+len(tokenPrefix)+tokenDigits); isToken(b[i:end]) {
			spans = append(spans, span{i, end})
		}
		i += len(tokenPrefix)
	}
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	var out []byte
	from := 0
	for len(spans) > 0 {
		s := spans[0]
		for spans = spans[1:]; len(spans) > 0 && spans[0].start < s.end; spans = spans[1:] {
			s.end = max(s.end, spans[0].end)
		}
		secret := b[s.start:s.end]
		if isToken(secret) {
			continue
		}
		if s.start >= escapes {
			secret = unpercent(nil, secret, s.start >= query)
		}
		out = r.appendToken(append(out, b[from:s.start]...), secret)
		from = s.end
	}
	if from == 0 {
		return b, false
	}
	return append(out, b[from:]...), true
}

// mostEncoded is how often a target or a form is decoded in search of what a
// pattern matches: a URL in a query is encoded twice.
const mostEncoded = 2

// encoded replaces what the rules' patterns match in a target or a form as a
// whole, before it is cut into segments and fields: as it stands, and as it
// reads decoded, so that neither an encoded letter nor an encoded slash hides
// anything. query is where it begins that "+" is a space. What remains is as
// valid as it was: no escape is torn, and a separator at which a match begins or
// ends stays.
func (w *work) encoded(s []byte, query int) (_ []byte, found bool) {
	if len(w.r.patterns) == 0 {
		return s, false
	}
	var all []span
	var texts [][]byte // how s reads, decoded once more each
	for text, plus := s, query; ; {
		spans := trimmed(text, w.r.matched(text))
		if len(texts) == 0 {
			spans = whole(s, spans)
		}
		for _, before := range slices.Backward(texts) {
			place(before, spans)
		}
		all = append(all, spans...)
		if len(texts) == mostEncoded || bytes.IndexByte(text, '%') < 0 && bytes.IndexByte(text[plus:], '+') < 0 {
			break
		}
		texts = append(texts, text)
		path := unpercent(nil, text[:plus], false)
		text, plus = append(path, unpercent(nil, text[plus:], true)...), len(path)
	}
	return w.r.covered(s, all, 0, query)
}

// trimmed gives spans without the separators at their ends.
func trimmed(b []byte, spans []span) []span {
	kept := spans[:0]
	for _, s := range spans {
		for s.start < s.end && bytes.IndexByte([]byte("/?&#;="), b[s.start]) >= 0 {
			s.start++
		}
		for s.start < s.end && bytes.IndexByte([]byte("/?&#;"), b[s.end-1]) >= 0 {
			s.end--
		}
		if s.start < s.end {
			kept = append(kept, s)
		}
	}
	return kept
}

// escapeAt is the length of the percent-encoded byte that b has at i: 1 for one
// that is not encoded.
func escapeAt(b []byte, i int) int {
	if b[i] == '%' && i+2 < len(b) && unhex(b[i+1]) >= 0 && unhex(b[i+2]) >= 0 {
		return 3
	}
	return 1
}

// whole gives spans that tear no escape: one that begins within an escape is
// about its digits, which are nobody's, and one that ends there goes on to its
// end.
func whole(b []byte, spans []span) []span {
	within := func(i int) int { // how many bytes of an escape are before i
		for n := 1; n <= 2 && n <= i; n++ {
			if escapeAt(b, i-n) > 1 {
				return n
			}
		}
		return 0
	}
	kept := spans[:0]
	for _, s := range spans {
		if within(s.start) > 0 {
			continue
		}
		if n := within(s.end); n > 0 {
			s.end += 3 - n
		}
		kept = append(kept, s)
	}
	return kept
}

// place turns spans of what b stands for into spans of b.
func place(b []byte, spans []span) {
	i, n := 0, 0 // b[:i] stands for n bytes
	to := func(at int) int {
		if at < n { // of the next pattern
			i, n = 0, 0
		}
		for ; n < at; n++ {
			i += escapeAt(b, i)
		}
		return i
	}
	for k, s := range spans {
		spans[k] = span{to(s.start), to(s.end)}
	}
}
