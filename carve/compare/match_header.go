package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/header"
)

// headers compares the headers of responses as places: by the evidence that fields of JSON bodies have,
// and by the direction of their differences.
type headers struct {
	*match
	texts   header.Texts
	cookies []string // the places of cookies whose values are compared by form
	more    bool     // there were further cookies
}

// newHeaders compares the headers that a comparison names, with an error rate of twice alpha.
func newHeaders(c whittle.Comparison, alpha float64, show *display.View) (headers, error) {
	h := headers{texts: header.NewTexts(&c, show)}
	var err error
	if h.match, err = newMatch(h.texts.Comparison(), header.ViewOf(show), whittle.FoundHeader); err != nil {
		return h, err
	}
	h.direct, h.alpha, h.places, h.learnAfter = true, 2*alpha, 11./12, 3
	h.forms.Named, h.forms.Declared = headerWords, h.texts.CookiesDeclared()
	return h, nil
}

// see takes an exchange with equal status. loose: a header differs that nobody declared, and that the
// monolith never varied so far. differs: enough is known of the monolith's noise for that to count.
func (h *headers) see(x *whittle.Exchange) (loose, differs bool) {
	h.texts.List(x)
	h.nameCookies(x)
	h.show.Whole(x)
	o := h.Observe(h.texts.Exchange(x, h.forms.Any() || h.watching()))
	h.show.Whole(nil)
	return o.Differs || o.Early, o.Differs
}

// nameCookies has each cookie's values compared by form, from the first exchange that sets it.
func (h *headers) nameCookies(x *whittle.Exchange) {
	for _, name := range h.texts.Cookies(x) {
		path := header.CookiePath(name)
		switch {
		case slices.Contains(h.cookies, path):
		case len(h.cookies) == header.Most:
			h.more = true
		default:
			h.cookies = append(h.cookies, path)
			h.forms.TakeCookie(path, h.n+1)
		}
	}
}

// differing lists the headers in which two responses to one request differ undeclared, in a way in which
// the monolith was not seen to vary.
func (h *headers) differing(x *whittle.Exchange, a, b *whittle.Response) (names []string) {
	of := h.texts.Pair(x, a, b)
	list, _ := h.Places(&of.Monolith, &of.Candidate)
	for _, path := range list {
		names = append(names, "header "+header.NameOf(path))
	}
	return names
}

// asked notes what both sides said in their headers when they were asked again.
func (h *headers) asked(r *whittle.Recheck) {
	first := *h.texts.Pair(r.Exchange, &r.Exchange.Monolith, &r.Exchange.Candidate)
	of := whittle.Recheck{Exchange: &first}
	for _, round := range r.Rounds {
		x := h.texts.Pair(r.Exchange, &round.Monolith, &round.Candidate)
		round.Monolith, round.Candidate = x.Monolith, x.Candidate
		of.Rounds = append(of.Rounds, round)
	}
	h.match.asked(&of)
}

// varies notes that the monolith gave two different responses to a request.
func (h *headers) varies(x *whittle.Exchange, a, b *whittle.Response) {
	of := h.texts.Pair(x, a, b)
	h.Varies(&of.Monolith, &of.Candidate)
}

// report gives the findings and bounds so far.
func (h *headers) report(alpha float64) (findings []whittle.Finding, bounds []whittle.Bound) {
	findings, bounds = h.doubts(alpha)
	for i := range findings {
		f := &findings[i]
		if f.Kind == whittle.FoundForm && f.Cause != "" { // only fields of JSON may declare a form
			f.Cause = "if it is each side's own, " + h.settles(f.Path) + "; if not, the candidate's is wrong"
		}
		f.Kind, f.Path = whittle.FoundHeader, header.NameOf(f.Path)
	}
	for i := range bounds {
		b := &bounds[i]
		b.ID, b.What = "header "+cmp.Or(b.ID, b.What), "header "+b.What
	}
	return findings, bounds
}

// noisy lists the headers that the monolith changed by itself.
func (h *headers) noisy() (list []string) {
	for k := range h.noise.Learnt {
		list = append(list, header.NameOf(k.Path))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// cover adds which headers are compared by form, and which not at all.
func (h *headers) cover(c *whittle.Coverage) {
	h.forms.Cover(c, h.n)
	h.texts.Cover(c)
	if c.Cookies = len(h.cookies); h.more {
		c.Not(header.SetCookie+" *", fmt.Sprintf("the values of more cookies than the %d that are compared by form", header.Most))
	}
}

// headerWords name a header, or a cookie.
func headerWords(path string) string {
	name := header.NameOf(path)
	if strings.HasPrefix(name, header.SetCookie+" ") {
		return name
	}
	return "header " + name
}
