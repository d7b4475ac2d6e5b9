package compare

import (
	"slices"
	"strconv"
	"strings"

	"whittle"
)

// Bounds of what is told of headers.
const (
	headerChangesMost  = 3 * whittle.MaxHeaders
	headerVariantsMost = 2 // changes of one header told apart; the rest is one more
	headerShown        = 120
	otherValues        = "other values"
	noHeader           = "missing"
)

// headers holds those headers of the two answers against each other that are
// compared. It is a head over all of them together, whose bets are on one header
// of an exchange: the first that differs, of those that the monolith was not
// seen to change by itself if there is one. The choice is of what came before and
// of which headers differ, so it is the same when the answers change places.
//
// Where the monolith was asked twice, what must be rejected besides is that the
// candidate differs from its first answer in no more headers than its second
// does. Both counts have one law where the two services have, so a bet on which
// is the larger is fair, and a header that always varies hides no other.
type headers struct {
	head
	// Noisy are the headers that the monolith changed by itself.
	Noisy []string `json:"noisy"`

	names  []string
	expect []whittle.Expectation
}

func newHeaders(c whittle.Comparison) headers {
	return headers{head: newHead(), names: c.Headers[:min(len(c.Headers), whittle.MaxHeaders)], expect: c.Expect}
}

// see takes one exchange in which the status is the same, and reports whether a
// header differs undeclared.
func (h *headers) see(x *whittle.Exchange, j *Judge, shape uint64) bool {
	again := x.Repeat
	if again != nil && (again.Failure != whittle.NoFailure || again.Status != x.Monolith.Status) {
		again = nil
	}
	if again == nil && h.same(x.Monolith.Header, x.Candidate.Header) {
		h.quiet(j.limit(), j.alpha, j.compared)
		return false
	}
	var list []headPair
	var varied []string
	opens, own, bet := 0, 0, -1
	for _, name := range h.names {
		from := headerWord(name, x.Monolith.Header)
		if to := headerWord(name, x.Candidate.Header); from != to {
			p := h.pair(name, from, to, j.show)
			p.shape, p.exchange = shape, x
			if p.reason == "" {
				opens++
				if bet < 0 || h.noisy(list[bet].path) && !h.noisy(name) {
					bet = len(list)
				}
			}
			list = append(list, p)
		}
		if again == nil {
			continue
		}
		if second := headerWord(name, again.Header); second != from {
			varied = append(varied, name)
			if p := h.pair(name, from, second, j.show); p.reason == "" {
				own++
			}
		}
	}
	h.N++
	for i := range list {
		h.tell(&list[i])
	}
	if opens > 0 {
		h.Count++
		h.lean(&list[bet], j.alpha, j.compared)
	}
	h.Share.see(opens > 0, j.limit(), j.alpha, j.compared)
	if again != nil {
		h.SelfCount += int(oneIf(own > 0))
		h.Self.bet(float64(sign(int32(opens-own))), j.alpha, j.compared)
	}
	for _, name := range varied {
		if !h.noisy(name) {
			h.Noisy = append(h.Noisy, name)
		}
	}
	return opens > 0
}

func (h *headers) noisy(name string) bool { return slices.Contains(h.Noisy, name) }

// same is the quick look, which most exchanges pass.
func (h *headers) same(a, b whittle.Header) bool {
	for _, name := range h.names {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return true
}

// pair is one header's change in words fit to be shown.
func (h *headers) pair(name, from, to string, show *display) headPair {
	p := headPair{path: name, from: show.header(name, from), to: show.header(name, to)}
	if p.from == p.to { // the difference is not to be shown, or too far behind
		p.from, p.to = p.from+" (one)", p.to+" (another)"
		if from > to {
			p.from, p.to = p.to, p.from
		}
	}
	p.reason = reasonFor(h.expect, whittle.FoundHeader, name, p.from, p.to)
	return p
}

// tell keeps a change, as one of other values where the header has many.
func (h *headers) tell(p *headPair) {
	told, known := 0, false
	for i := range h.Changes {
		c := &h.Changes[i]
		if c.Path == p.path && c.Expected == p.reason {
			told++
			known = known || c.From == p.from && c.To == p.to
		}
	}
	one := *p
	if !known && told >= headerVariantsMost {
		one.from, one.to = otherValues, otherValues
	}
	h.keep(&one, headerChangesMost, 1)
}

// findings are those of the head, each with what to do where it cannot be told
// from the monolith's own changes.
func (h *headers) findings() []whittle.Finding {
	list := h.head.findings(whittle.FoundHeader, "header")
	for i := range list {
		if f := &list[i]; f.Expected == "" && h.noisy(f.Path) {
			f.Cause = "the monolith changes it by itself: declare it in compare.expect, or leave it out of compare.headers"
		}
	}
	return list
}

func (h *headers) valid() bool {
	return h.head.valid(headerChangesMost) && len(h.Noisy) <= whittle.MaxHeaders
}

// headerWord is what a header says, without what no client reads a meaning into:
// the order and case of directives, the value and age of a cookie.
func headerWord(name string, h whittle.Header) string {
	values := h[name]
	if len(values) == 0 {
		return noHeader
	}
	var out []string
	switch name {
	case "Set-Cookie":
		for _, v := range values {
			out = append(out, cookieWord(v))
		}
		slices.Sort(out)
	case "Cache-Control", "Content-Language", "Vary", "Allow", "Access-Control-Expose-Headers", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods":
		for _, v := range values {
			for part := range strings.SplitSeq(v, ",") {
				if part = strings.ToLower(strings.TrimSpace(part)); part != "" {
					out = append(out, part)
				}
			}
		}
		slices.Sort(out)
	default:
		for _, v := range values {
			out = append(out, strings.TrimSpace(v))
		}
	}
	if word := strings.Join(out, ", "); word != "" {
		return word
	}
	return "empty"
}

// cookieWord is a cookie's name, its attributes, and whether it is kept beyond the
// session or removed.
func cookieWord(v string) string {
	first, rest, _ := strings.Cut(v, ";")
	name, _, _ := strings.Cut(first, "=")
	var attributes []string
	lasts, age := "", ""
	for part := range strings.SplitSeq(rest, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		value = strings.TrimSpace(value)
		switch key = strings.ToLower(strings.TrimSpace(key)); key {
		case "":
		case "max-age":
			age = "kept"
			if n, err := strconv.Atoi(value); err == nil && n <= 0 {
				age = "removed"
			}
		case "expires":
			lasts = "kept"
			if strings.Contains(value, "1970") {
				lasts = "removed"
			}
		case "path":
			attributes = append(attributes, key+"="+value)
		default:
			if value != "" {
				key += "=" + strings.ToLower(value)
			}
			attributes = append(attributes, key)
		}
	}
	if age != "" { // it goes before Expires
		lasts = age
	}
	if lasts != "" {
		attributes = append(attributes, lasts)
	}
	slices.Sort(attributes)
	return strings.Join(append([]string{strings.TrimSpace(name)}, attributes...), "; ")
}

// header is the word of a header fit to be shown. Of a cookie it has no value.
func (d *display) header(name, word string) string {
	if d != nil && d.redactor != nil && name != "Set-Cookie" && word != noHeader && word != otherValues {
		a := whittle.Answer{Header: whittle.Header{name: {word}}}
		d.redactor.Answer(&a)
		word = a.Header.Get(name)
	}
	return snippet([]byte(word), headerShown)
}
