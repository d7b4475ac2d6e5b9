package header

import (
	"fmt"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/form"
)

// CookiesMost bounds the cookies of which the values are compared, by name.
const CookiesMost = 16

// values compares by form, as Forms does with fields of JSON, what is made anew for each
// response: the values of cookies, each name from the first exchange that sets it, and what
// the monolith changes by itself in other headers, and in pieces of them. The value of a
// cookie that is being removed does not count. None is kept or shown.
type values struct {
	*form.Forms
	prefix string            // of each place's path, before the name: "Set-Cookie "
	places map[string]bool   // of cookies by path, of headers by key
	paths  map[string]string // of the first cookies, by name
	more   bool              // there were further ones
}

func newValues(prefix string, show *display.View) *values {
	v := &values{prefix: prefix, places: map[string]bool{}, paths: map[string]string{}}
	v.Forms = form.NewNamed(show, prefix == "")
	return v
}

// declare takes what the config says of all values of cookies.
func (v *values) declare(c *whittle.Comparison) {
	for _, e := range c.Expect {
		if e.Kind == whittle.FoundHeader && (e.Path == "" || strings.EqualFold(e.Path, SetCookie)) && e.From == "" && e.To == "" {
			v.Declare(display.Reason(e))
		}
	}
}

// seeCookies takes an exchange in which the status is the same. again is the monolith's second
// response; nil: there is none.
func (h *Headers) seeCookies(x *whittle.Exchange, again *whittle.Response, at Level) {
	if len(x.Monolith.Header[SetCookie])+len(x.Candidate.Header[SetCookie]) == 0 || !h.c.ComparesHeader(SetCookie) {
		return
	}
	v := h.cookies
	v.Timeless = h.chosen
	kept := [3][]sentCookie{keptCookies(&x.Monolith, x), keptCookies(&x.Candidate, x)}
	if again != nil {
		kept[form.Repeat] = keptCookies(again, x)
	}
	var names []string
	for _, c := range slices.Concat(kept[form.Monolith], kept[form.Candidate]) {
		names = append(names, c.name)
	}
	slices.Sort(names) // an order that does not depend on who has it
	for _, name := range slices.Compact(names) {
		if path := h.cookiePath(name); !v.places[path] && len(v.places) < CookiesMost {
			v.places[path] = true
			v.Name(path, at.N)
		} else {
			v.more = v.more || !v.places[path]
		}
	}
	v.Begin()
	for side := range kept {
		for _, c := range kept[side] {
			v.Give(side, h.cookiePath(c.name), []byte(c.value), x)
		}
	}
	v.Settle(x, again != nil, at.Alpha*valuesPart, at.N)
}

// cookiePath is the place of a cookie's value.
func (h *Headers) cookiePath(name string) string {
	path, known := h.cookies.paths[name]
	if !known {
		path = h.cookies.prefix + display.Snippet([]byte(h.show.Kept(nil, name)), display.ValueShown)
		if len(h.cookies.paths) < CookiesMost {
			h.cookies.paths[name] = path
		}
	}
	return path
}

// keptCookies are the cookies of a response that are not removed.
func keptCookies(a *whittle.Response, x *whittle.Exchange) []sentCookie {
	return slices.DeleteFunc(cookiesOf(a.Header, x), func(c sentCookie) bool { return c.life == removed })
}

// seeValues takes an exchange in which the status is the same.
func (h *Headers) seeValues(x *whittle.Exchange, again *whittle.Response, at Level) {
	v := h.values
	for i := range h.Places {
		p := &h.Places[i]
		switch {
		case v.places[p.key()] || !h.noisy(p) || p.Name == OtherHeaders || h.isOwn(p.Name):
			continue
		case p.Way == there:
			v.NamePresence(p.Name, at.N)
		case p.Way == valued && h.hasForm(p.Name):
			v.Name(p.Name, at.N)
		default:
			continue
		}
		v.places[p.key()] = true
	}
	if len(v.places) == 0 {
		return
	}
	v.Timeless = h.chosen
	v.Begin()
	h.give(form.Monolith, x.Monolith.Header, x)
	h.give(form.Candidate, x.Candidate.Header, x)
	if again != nil {
		h.give(form.Repeat, again.Header, x)
	}
	v.Settle(x, again != nil, at.Alpha*valuesPart, at.N)
}

// hasForm reports whether a header's value is compared by form: not of what is compared by
// whether it is there, of cookies, of what has pieces, and of what the config declares.
func (h *Headers) hasForm(name string) bool {
	whole := wholeOf(name)
	switch {
	case whole == SetCookie, whittle.ComparedByPresence(whole), name == whole && !h.whole[name]:
		return false
	}
	return !slices.ContainsFunc(h.expect, func(e headerExpectation) bool { return e.Path == "" || strings.EqualFold(e.Path, whole) })
}

// give takes what one side says at the places, and in pieces of them.
func (h *Headers) give(side int, header whittle.Header, x *whittle.Exchange) {
	var list []form.Piece
	of := ""
	for _, name := range h.values.Places() {
		whole := wholeOf(name)
		if len(header[whole]) == 0 {
			continue
		}
		said := strings.TrimSpace(strings.Join(header[whole], ", "))
		if whole == name {
			if !h.hasForm(name) {
				said = "there" // no more is compared
			}
			h.values.Give(side, name, []byte(said), x)
			continue
		}
		if of != whole {
			list, _ = form.Pieces([]byte(said))
			of = whole
		}
		for _, piece := range list {
			if name == whole+" ("+piece.Name+")" {
				h.values.Give(side, name, []byte(piece.Text), x)
			}
		}
	}
}

// findings are those of headers.
func (v *values) findings() []whittle.Finding {
	list := v.Findings()
	for i := range list {
		f := &list[i]
		f.Kind, f.Summary = whittle.FoundHeader, "header "+f.Summary
		if v.prefix == "" && f.Cause != "" { // a form is declared for fields of JSON alone
			f.Cause = "if it is each side's own, " + exceptWords(f.Path) + "; if not, the candidate's is wrong"
		}
	}
	return list
}

// Cover adds to what a verdict says that it stands on: of each cookie the attributes
// are compared by value, but for lifetimes that the monolith changes by itself, and
// the value by form.
func (h *Headers) Cover(c *whittle.Coverage) {
	h.values.Cover(c, "header ")
	for i, seen := range h.partly {
		if seen {
			c.Not("header "+partly[i].name, partly[i].reason)
		}
	}
	if c.Cookies = len(h.cookies.Places()); c.Cookies == 0 {
		return
	}
	before := len(c.ByForm)
	h.cookies.Cover(c, "")
	for _, f := range c.ByForm[before:] {
		if f.Class == "jwt" {
			c.Not(f.Path+" (claims)", "of a token in a cookie the form is compared, not what stands in it")
		}
	}
	if h.cookies.more {
		c.Not(SetCookie+" *", fmt.Sprintf("the values of more cookies than the %d that are compared by form", CookiesMost))
	}
	if h.Noise[key(SetCookie, valued)] {
		c.Not(SetCookie, "the values of attributes, which the monolith changes by itself: only which ones there are is compared")
	}
}

// FormBounds are what EQUIVALENT waits for until cookies and headers are compared by form.
// more estimates the exchanges, -1: it cannot be said.
func (h *Headers) FormBounds(n int) (list []whittle.Bound, more int) {
	for _, v := range []*values{h.cookies, h.values} {
		b, left, ok := v.Bound(n)
		if !ok {
			continue
		}
		if b.ID, b.What = "cookie form", "cookie form"; v == h.values {
			b.ID, b.What, b.Summary = "header form", "header form", "header "+b.Summary
		}
		if list = append(list, b); more >= 0 && (left < 0 || left > more) {
			more = left
		}
	}
	return list, more
}
