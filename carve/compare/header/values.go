package header

import (
	"fmt"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
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
	places  map[string]bool   // of cookies by path, of headers by key
	cookies map[string]string // paths of the first ones, by name
	more    bool              // there were further ones
}

func newValues(c *whittle.Comparison, show *display.View) *values {
	v := &values{Forms: form.NewNamed(show), places: map[string]bool{}, cookies: map[string]string{}}
	for _, e := range c.Expect {
		if e.Kind == whittle.FoundHeader && (e.Path == "" || strings.EqualFold(e.Path, SetCookie)) && e.From == "" && e.To == "" {
			v.Declare(display.Reason(e))
		}
	}
	return v
}

// seeValues takes an exchange in which the status is the same. again is the monolith's second
// response; nil: there is none.
func (h *Headers) seeValues(x *whittle.Exchange, again *whittle.Response, at Level) {
	v := h.values
	h.nameHeaders(at.N)
	var cookies [3][]sentCookie
	for side, a := range [3]*whittle.Response{&x.Monolith, &x.Candidate, again} {
		if a != nil && h.c.ComparesHeader(SetCookie) {
			cookies[side] = keptCookies(a, x)
		}
	}
	h.nameCookies(slices.Concat(cookies[form.Monolith], cookies[form.Candidate]), at.N)
	if len(v.places) == 0 {
		return
	}
	v.Timeless = h.chosen
	v.Begin()
	for side, a := range [3]*whittle.Response{&x.Monolith, &x.Candidate, again} {
		if a != nil {
			h.give(side, a.Header)
		}
		for _, c := range cookies[side] {
			v.Give(side, h.cookiePath(c.name), []byte(c.value))
		}
	}
	v.Settle(x, again != nil, at.Alpha*valuesPart, at.N)
}

// nameCookies makes a place of each cookie that has none, in an order that does not depend on
// who has it.
func (h *Headers) nameCookies(list []sentCookie, n int) {
	slices.SortFunc(list, func(a, b sentCookie) int { return strings.Compare(a.name, b.name) })
	v := h.values
	for i := range list {
		if path := h.cookiePath(list[i].name); !v.places[path] && v.cookies[list[i].name] != "" {
			v.places[path] = true
			v.NameFresh(path, n)
		} else {
			v.more = v.more || !v.places[path]
		}
	}
}

// nameHeaders makes a place of each header, or piece of one, that turned out to vary.
func (h *Headers) nameHeaders(n int) {
	v := h.values
	for i := range h.Places {
		p := &h.Places[i]
		switch {
		case v.places[p.key()] || !h.noisy(p) || p.Name == OtherHeaders || h.isOwn(p.Name):
			continue
		case p.Way == there:
			v.NamePresence(p.Name, n)
		case p.Way == valued && h.hasForm(p.Name):
			v.Name(p.Name, n)
		default:
			continue
		}
		v.places[p.key()] = true
	}
}

// cookiePath is the place of a cookie's value.
func (h *Headers) cookiePath(name string) string {
	path, known := h.values.cookies[name]
	if !known {
		path = SetCookie + " " + display.Snippet([]byte(h.show.Kept(nil, name)), display.ValueShown)
		if len(h.values.cookies) < CookiesMost {
			h.values.cookies[name] = path
		}
	}
	return path
}

// keptCookies are the cookies of a response that are not removed.
func keptCookies(a *whittle.Response, x *whittle.Exchange) []sentCookie {
	return slices.DeleteFunc(cookiesOf(a.Header, x), func(c sentCookie) bool { return c.life == removed })
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
func (h *Headers) give(side int, header whittle.Header) {
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
			h.values.Give(side, name, []byte(said))
			continue
		}
		if of != whole {
			list, _ = form.Pieces([]byte(said))
			of = whole
		}
		for _, piece := range list {
			if name == whole+" ("+piece.Name+")" {
				h.values.Give(side, name, []byte(piece.Text))
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
		if f.Cause != "" { // a form is declared for fields of JSON alone
			f.Cause = "if it is each side's own, " + exceptWords(f.Path) + "; if not, the candidate's is wrong"
		}
	}
	return list
}

// Cover adds to what a verdict says that it stands on: of each cookie the attributes
// are compared by value, but for lifetimes that the monolith changes by itself, and
// the value by form.
func (h *Headers) Cover(c *whittle.Coverage) {
	before := len(c.ByForm)
	h.values.Cover(c, h.N)
	for i, seen := range h.partly {
		if seen {
			c.Not("header "+partly[i].name, partly[i].reason)
		}
	}
	for _, f := range c.ByForm[before:] {
		if f.Class == "jwt" && strings.HasPrefix(f.Path, SetCookie) {
			c.Not(f.Path+" (claims)", "of a token in a cookie the form is compared, not what stands in it")
		}
	}
	for _, path := range h.values.Places() {
		c.Cookies += int(eprocess.Indicator(strings.HasPrefix(path, SetCookie+" ")))
	}
	if h.values.more {
		c.Not(SetCookie+" *", fmt.Sprintf("the values of more cookies than the %d that are compared by form", CookiesMost))
	}
	if h.Noise[key(SetCookie, valued)] {
		c.Not(SetCookie, "the values of attributes, which the monolith changes by itself: only which ones there are is compared")
	}
}

// FormBound is what EQUIVALENT waits for until cookies and headers are compared by form. more
// estimates the exchanges, -1: it cannot be said; ok is false where it waits for nothing.
func (h *Headers) FormBound(n int) (b whittle.Bound, more int, ok bool) {
	b, more, ok = h.values.Bound(n)
	b.ID, b.What = "header form", "header form"
	return b, more, ok
}
