package header

import (
	"slices"
	"strings"

	"whittle"
)

// compares reports whether a difference in a header counts, in responses of which these are all
// the headers. A strong Etag is one that somebody chose to send; a weak one is what frameworks
// make of the body.
func (h *Headers) compares(name string, all []whittle.Header) bool {
	return h.c.ComparesHeader(configured(name)) || whittle.ComparedByPresence(name) && h.c.ListsHeader(name) &&
		slices.ContainsFunc(all, func(h whittle.Header) bool {
			v := h.Get(name)
			return v != "" && !strings.HasPrefix(v, "W/")
		})
}

// words are what the monolith and another say in a header. Of an Etag only its presence counts.
func (h *Headers) words(name string, x *whittle.Exchange, other *whittle.Response) (from, to string) {
	from, to = headerWords(name, x, other)
	if whittle.ComparedByPresence(name) && !slices.Contains(h.c.Headers, name) {
		for _, word := range []*string{&from, &to} {
			if *word != absent {
				*word = "a tag"
			}
		}
	}
	return from, to
}

// differing are the names, sorted, of which two responses have not the same values, as far as
// these count.
func differing(a, b whittle.Header, counts func(name string) bool) (names []string) {
	for i, header := range [2]whittle.Header{a, b} {
		for name := range header {
			if _, both := a[name]; (!both || i != 1) && !slices.Equal(a[name], b[name]) && counts(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// addedReason says why what servers add decides nothing.
const addedReason = "servers and frameworks add it by themselves, so it decides nothing; compare.headers: {also: [NAME]} compares it"

// partly are headers by which clients act, and of which the value is not compared, with what is.
var partly = [...]struct{ name, reason string }{
	{"Age", "how old a copy is, which is each cache's own"},
	{"Expires", "for how long a response may be kept: only whether it may be is compared"},
	{"Last-Modified", "the date itself: which each server may take from elsewhere"},
}

// list counts the differences in what servers add by themselves: that it is there, and its
// form. They decide nothing. It takes note, too, of the headers that are compared in part.
func (h *Headers) list(x *whittle.Exchange) {
	if !h.c.AllHeaders {
		return
	}
	a, b := x.Monolith.Header, x.Candidate.Header
	for i := range partly {
		name := partly[i].name
		h.partly[i] = h.partly[i] || len(a[name]) > 0 && len(b[name]) > 0 && a[name][0] != b[name][0] &&
			!slices.Contains(h.c.Headers, name) && !slices.Contains(h.c.ExceptHeaders, name)
	}
	all := []whittle.Header{a, b}
	for _, name := range differing(a, b, func(name string) bool {
		return h.c.ListsHeader(configured(name)) && !h.compares(name, all)
	}) {
		from, to := headerWords(name, x, &x.Candidate)
		if from == to {
			continue
		}
		if p := h.pair(name, name, x, from, to); p.way != valued {
			p.Exchange, p.Show, p.Reason = x, h.show, addedReason
			added := Head{Changes: h.Added}
			added.keepFew(&p, changesMost)
			h.Added = added.Changes
		}
	}
}
