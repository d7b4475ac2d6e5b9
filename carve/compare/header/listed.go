package header

import (
	"fmt"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/form"
)

// addedReason says why what servers add decides nothing.
const addedReason = "servers and frameworks add it by themselves, so it decides nothing; compare.headers: {also: [NAME]} compares it"

// partly are headers that clients act on and whose values are not compared, each with the reason.
var partly = [...]struct{ name, reason string }{
	{"Age", "how old a copy is, which is each cache's own"},
	{"Expires", "until when a response may be kept, which each server's clock says"},
	{"Last-Modified", "the date itself: which each server may take from elsewhere"},
}

// List counts differences in the presence and form of headers that servers add by themselves.
// These differences decide nothing. List also notes which headers are compared in part.
func (t *Texts) List(x *whittle.Exchange) {
	x = withTrailers(x)
	t.n++
	if !t.c.AllHeaders {
		return
	}
	sides := []*whittle.Response{&x.Monolith, &x.Candidate}
	a, b := x.Monolith.Header, x.Candidate.Header
	for i := range partly {
		name := partly[i].name
		t.partly[i] = t.partly[i] || len(a[name]) > 0 && len(b[name]) > 0 && a[name][0] != b[name][0] &&
			!slices.Contains(t.c.Headers, name) && !slices.Contains(t.c.ExceptHeaders, name)
	}
	for _, name := range differing(a, b, func(name string) bool { return t.c.ListsHeader(name) && !t.compares(name, sides) }) {
		if from, to := headerWord(name, a, x), headerWord(name, b, x); from == absent || to == absent || form.Shape(from) != form.Shape(to) {
			t.add(name, from, to)
		}
	}
}

// listed is a difference in what servers add: a header by which side has it, with its first values.
type listed struct {
	name, from, to string
	count          int
}

func (t *Texts) add(name, from, to string) {
	for i := range t.added {
		c := &t.added[i]
		if c.name == name && (c.from == Missing) == (from == absent) && (c.to == Missing) == (to == absent) {
			c.count++
			return
		}
	}
	if len(t.added) < Most {
		t.added = append(t.added, listed{name: name, from: t.shown(name, from), to: t.shown(name, to), count: 1})
	}
}

func (t *Texts) shown(name, word string) string {
	if word == absent {
		return Missing
	}
	return display.Visible([]byte(t.show.HeaderValue(name, word)), display.ValueShown)
}

// Findings are the differences in what servers add.
func (t *Texts) Findings() (list []whittle.Finding) {
	for _, c := range t.added {
		list = append(list, whittle.Finding{
			Kind: whittle.FoundHeader, Path: c.name, Monolith: c.from, Candidate: c.to, Count: c.count, Of: t.n, Expected: addedReason,
			Summary: fmt.Sprintf("header %s is %s instead of %s in %d of %d", c.name, c.to, c.from, c.count, t.n),
		})
	}
	return list
}

// Cover names the headers of which more differs than is compared.
func (t *Texts) Cover(c *whittle.Coverage) {
	for i, seen := range t.partly {
		if seen {
			c.Not("header "+partly[i].name, partly[i].reason)
		}
	}
}

// policies are the beginnings of names of headers that say what a response is or how it may be
// used, and no state of a server.
var policies = []string{
	"Access-Control-", "Allow", "Cache-Control", "Content-", "Etag", "Link", "Location", "Set-Cookie", "Vary", "Www-Authenticate",
}

// IsPolicy reports whether what a header says is no state of a server.
func IsPolicy(name string) bool {
	return slices.ContainsFunc(policies, func(s string) bool { return strings.HasPrefix(name, s) })
}
