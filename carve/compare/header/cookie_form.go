package header

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/form"
)

// CookiesMost bounds the cookies of which the values are compared, by name.
const CookiesMost = 16

// nameShown bounds what is shown of a cookie's name.
const nameShown = 64

// What is decided of headers' texts by direction leaves a third of its part of the
// error rate to the values of cookies. With learned noise it has half of the texts', and of
// that third the half is for the values of other headers.
const (
	directionPart  = 2.0 / 3
	cookieFormPart = 1.0 / 12
	valueFormPart  = 1.0 / 12
)

// Cookies compares the values of cookies by form, as Forms does with fields of JSON,
// because a session id is new in each response. Each name is a place, from the first
// exchange that sets it. The value of a cookie that is being removed, or replaced by a later
// one of the response, does not count.
// No value is kept or shown.
type Cookies struct {
	*form.Forms
	// named are the places by the cookies' names as they came; more says that there
	// were further ones.
	named map[string]string
	more  bool
	c     whittle.Comparison
	show  *display.View
}

func newCookieForms(c whittle.Comparison, show *display.View) *Cookies {
	t := &Cookies{named: map[string]string{}, c: c, show: show}
	t.Forms = form.NewNamed(show, form.Named{Sample: func(x *whittle.Exchange, path, from, to string) whittle.Sample {
		return formSample(show, SetCookie, x, path, from, to)
	}})
	for _, e := range c.Expect {
		if e.Kind == whittle.FoundHeader && (e.Path == "" || strings.EqualFold(e.Path, SetCookie)) && e.From == "" && e.To == "" {
			t.Declare(display.Reason(e))
		}
	}
	return t
}

// see takes exchange n, in which the status is the same. again is the monolith's
// second response; nil: there is none.
func (t *Cookies) see(x *whittle.Exchange, again *whittle.Response, alpha float64, n int) {
	sides := [3][]string{x.Monolith.Header[SetCookie], x.Candidate.Header[SetCookie]}
	if again != nil {
		sides[form.Repeat] = again.Header[SetCookie]
	}
	if len(sides[form.Monolith])+len(sides[form.Candidate]) == 0 || !t.c.ComparesHeader(SetCookie) {
		return
	}
	kept := [3][]sentCookie{t.kept(&x.Monolith, x), t.kept(&x.Candidate, x)}
	if again != nil {
		kept[form.Repeat] = t.kept(again, x)
	}
	t.nameAll(slices.Concat(kept[form.Monolith], kept[form.Candidate]), n)
	t.Begin()
	for side := range kept {
		for k := range kept[side] {
			t.Give(side, t.named[kept[side][k].name], []byte(kept[side][k].value), x)
		}
	}
	t.Settle(x, again != nil, alpha, n)
}

// kept are the cookies of a response that are neither removed nor replaced.
func (t *Cookies) kept(a *whittle.Response, x *whittle.Exchange) []sentCookie {
	return slices.DeleteFunc(cookiesOf(a.Header, x), func(c sentCookie) bool { return c.life == removed || c.replaced })
}

// nameAll makes a place of each cookie while there is room, in an order that does not
// depend on who has it.
func (t *Cookies) nameAll(list []sentCookie, n int) {
	var names []string
	for i := range list {
		if _, known := t.named[list[i].name]; !known {
			names = append(names, list[i].name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if len(t.named) >= CookiesMost {
			t.more = true
			return
		}
		path := SetCookie + " " + display.Snippet([]byte(t.show.Kept(nil, name)), nameShown)
		t.named[name] = path
		t.Name(path, n)
	}
}

// findings are those of headers, each with the cookie in its path.
func (t *Cookies) findings() []whittle.Finding {
	list := t.Findings()
	for i := range list {
		list[i].Kind, list[i].Summary = whittle.FoundHeader, "header "+list[i].Summary
	}
	return list
}

// boundCookies is the name of the bound that waits for cookies to be compared by form.
const boundCookies = "cookie form"

func (t *Cookies) bound(n int) (b whittle.Bound, more int, ok bool) {
	b, more, ok = t.Bound(n)
	b.ID, b.What = boundCookies, boundCookies
	return b, more, ok
}

// Cover adds to what a verdict says that it stands on: of each cookie the attributes
// are compared by value, but for lifetimes that the monolith changes by itself, and
// the value by form.
func (h *Headers) Cover(c *whittle.Coverage) {
	h.values.cover(c)
	h.coverPartly(c)
	own := h.cookies.Coverage(&whittle.Comparison{})
	c.Cookies = len(h.cookies.Places())
	if c.Cookies == 0 {
		return
	}
	c.ByForm = append(c.ByForm, own.ByForm...)
	c.NotCompared = append(c.NotCompared, own.NotCompared...)
	for _, f := range own.ByForm {
		if f.Class == "jwt" {
			c.NotCompared = append(c.NotCompared, whittle.Uncompared{Path: f.Path + " (claims)", Reason: "of a token in a cookie the form and the words are compared, not the ids and numbers in it"})
		}
	}
	if h.cookies.more {
		c.NotCompared = append(c.NotCompared, whittle.Uncompared{
			Path: SetCookie + " *", Reason: fmt.Sprintf("the values of more cookies than the %d that are compared by form", CookiesMost),
		})
	}
	if n := h.find(SetCookie); n != nil && n.Ways[headerValue].Noisy {
		c.NotCompared = append(c.NotCompared, whittle.Uncompared{
			Path: SetCookie, Reason: "the values of attributes, which the monolith changes by itself: only which ones there are is compared",
		})
	}
}

// restored are forms with what state gave.
func (t *Cookies) restored(b []byte, n int) (*Cookies, error) {
	u := newCookieForms(t.c, t.show)
	if err := u.Restore(b, n); err != nil {
		return nil, err
	}
	paths := u.Places()
	if len(paths) > CookiesMost {
		return nil, form.ErrState
	}
	for _, path := range paths {
		name, ok := strings.CutPrefix(path, SetCookie+" ")
		if !ok {
			return nil, form.ErrState
		}
		u.named[name] = path
	}
	return u, nil
}

// FormState is what is known of the form of cookies and of the headers that vary, to be saved.
type FormState struct {
	Cookies json.RawMessage `json:"cookies,omitempty"`
	Values  json.RawMessage `json:"values,omitempty"`
}

// KeptForms are what FormState says.
type KeptForms struct {
	cookies *Cookies
	values  *values
}

// FormState gives what ReadForms reads.
func (h *Headers) FormState() FormState {
	s := FormState{Cookies: h.cookies.State()}
	if len(h.values.Places()) > 0 {
		s.Values = h.values.State()
	}
	return s
}

// ReadForms reads what FormState gave after n compared exchanges.
func (h *Headers) ReadForms(s *FormState, n int) (k KeptForms, err error) {
	if k.cookies, err = h.cookies.restored(s.Cookies, n); err == nil {
		k.values, err = h.values.restored(s.Values, n)
	}
	return k, err
}

// TakeForms has forms compared on from what ReadForms gave.
func (h *Headers) TakeForms(k KeptForms) { h.cookies, h.values = k.cookies, k.values }

// FormBounds are what EQUIVALENT waits for until cookies and headers are compared by form.
// more estimates the exchanges, -1: it cannot be said.
func (h *Headers) FormBounds(n int) (list []whittle.Bound, more int) {
	unknown := false
	for _, of := range []func(int) (whittle.Bound, int, bool){h.cookies.bound, h.values.bound} {
		if b, left, ok := of(n); ok {
			list, more, unknown = append(list, b), max(more, left), unknown || left < 0
		}
	}
	if unknown {
		return list, -1
	}
	return list, more
}
