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
	t.N++
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

// Listed is a difference in what servers add: a header by which side has it, with its first values.
type Listed struct {
	Name  string `json:"name"`
	From  string `json:"from"`
	To    string `json:"to"`
	Count int    `json:"count"`
}

func (t *Texts) add(name, from, to string) {
	for i := range t.Added {
		c := &t.Added[i]
		if c.Name == name && (c.From == Missing) == (from == absent) && (c.To == Missing) == (to == absent) {
			c.Count++
			return
		}
	}
	if len(t.Added) < Most {
		t.Added = append(t.Added, Listed{Name: name, From: t.shown(name, from), To: t.shown(name, to), Count: 1})
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
	for _, c := range t.Added {
		list = append(list, whittle.Finding{
			Kind: whittle.FoundHeader, Path: c.Name, Monolith: c.From, Candidate: c.To, Count: c.Count, Of: t.N, Expected: addedReason,
			Summary: fmt.Sprintf("header %s is %s instead of %s in %d of %d", c.Name, c.To, c.From, c.Count, t.N),
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

// Restore takes what was kept, and redacts it again.
func (t *Texts) Restore(kept *Texts) {
	t.Added, t.N = kept.Added, kept.N
}

// ShowAgain redacts what was restored.
func (t *Texts) ShowAgain() {
	for i := range t.Added {
		c := &t.Added[i]
		for _, word := range []*string{&c.From, &c.To} {
			if *word != Missing {
				*word = t.show.HeaderValue(c.Name, *word)
			}
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
