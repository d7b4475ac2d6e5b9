package header

import (
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/eprocess"
)

// asks takes note of what clients ask for.
func (h *Headers) asks(request whittle.Header) {
	if h.Conditions && h.Ranges {
		return
	}
	for _, name := range []string{"If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"} {
		h.Conditions = h.Conditions || len(request[name]) > 0
	}
	h.Ranges = h.Ranges || len(request["Range"]) > 0
}

// mayCompare reports whether a difference in a header may count. A framework's tag of
// a body that nobody comes back with, or ranges that nobody takes up, are what
// servers add; where clients do, they count.
func (h *Headers) mayCompare(name string) bool {
	return h.c.ComparesHeader(configured(name)) || whittle.ComparedOnRequest(name) && h.c.ListsHeader(configured(name))
}

// compares reports whether it does, in responses of which these are all the
// headers: a strong Etag is one that somebody chose to send.
func (h *Headers) compares(name string, all []whittle.Header) bool {
	if h.c.ComparesHeader(configured(name)) {
		return true
	}
	if !h.mayCompare(name) {
		return false
	}
	switch name {
	case "Accept-Ranges":
		return h.Ranges
	case "Etag":
		return h.Conditions || slices.ContainsFunc(all, strongTag)
	}
	return h.Conditions
}

func strongTag(h whittle.Header) bool {
	v := h.Get("Etag")
	return v != "" && !strings.HasPrefix(v, "W/")
}

// words are what the monolith and another say in a header. Of those that count on
// request only their presence does.
func (h *Headers) words(name string, x *whittle.Exchange, other *whittle.Response) (from, to string) {
	if name == OtherHeaders {
		plain := func(_, word string) string { return word }
		return h.othersWord(x.Monolith.Header, x, plain), h.othersWord(other.Header, x, plain)
	}
	if whole, piece, ok := wholeOf(name); ok {
		from, to = headerWords(whole, x, other)
		return pieceWords(whole, from, to, piece)
	}
	from, to = headerWords(name, x, other)
	if whittle.ComparedOnRequest(name) && !slices.Contains(h.c.Headers, name) {
		from, to = offered(name, from), offered(name, to)
	}
	return from, to
}

// offered is the word of a header of which the presence counts.
func offered(name, word string) string {
	switch {
	case word == absent, name == "Accept-Ranges" && strings.EqualFold(word, "none"):
		return absent
	case name == "Etag":
		return "a tag"
	case name == "Last-Modified":
		return "a date"
	}
	return word
}

// otherSeparator stands between headers that are not distinguished.
const otherSeparator = ", "

// othersWord is what all headers together say that are not distinguished, each value as of says.
func (h *Headers) othersWord(header whittle.Header, x *whittle.Exchange, of func(name, word string) string) string {
	var out []string
	for _, name := range h.others(header, nil) {
		out = append(out, name+": "+of(name, headerWord(name, header, x)))
	}
	if out == nil {
		return absent
	}
	return strings.Join(out, otherSeparator)
}

// others are the names not distinguished, sorted, of which two responses have not the
// same values.
func (h *Headers) others(a, b whittle.Header) []string {
	return differing(a, b, func(name string) bool {
		_, known := h.index[name]
		return !known && h.c.ComparesHeader(configured(name))
	})
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

// addedMost bounds the differences that are distinguished of what servers add.
const addedMost = 24

// list counts the differences in what servers add by themselves: that it is there,
// and its form. They decide nothing.
func (h *Headers) list(x *whittle.Exchange) {
	if !h.c.AllHeaders {
		return
	}
	a, b := x.Monolith.Header, x.Candidate.Header
	h.seePartly(x)
	all := []whittle.Header{a, b}
	for _, name := range differing(a, b, func(name string) bool { return h.listed(name, x, all) }) {
		h.keepAdded(name, x)
	}
}

// listed reports whether a header that differs is one that servers add, and not only
// another value of the same form.
func (h *Headers) listed(name string, x *whittle.Exchange, all []whittle.Header) bool {
	if !h.c.ListsHeader(configured(name)) || h.compares(name, all) {
		return false
	}
	from, to := headerWords(name, x, &x.Candidate)
	return (from == absent) != (to == absent) || formOf(from) != formOf(to) || isEcho(x, from) != isEcho(x, to)
}

// ofRequest stands for a value that is one of the request's, such as the id that its client gave
// it; echoLeast is how long it is at least.
const (
	ofRequest = "that of the request"
	echoLeast = 8
)

// isEcho reports whether a header of the request has this value.
func isEcho(x *whittle.Exchange, word string) bool {
	if len(word) < echoLeast {
		return false
	}
	for _, values := range x.Request.Header {
		if len(values) == 1 && values[0] == word {
			return true
		}
	}
	return false
}

// keepAdded counts one such difference.
func (h *Headers) keepAdded(name string, x *whittle.Exchange) {
	from, to := headerWords(name, x, &x.Candidate)
	for i := range h.Added {
		c := &h.Added[i]
		if c.Path == name && (c.From == Missing) == (from == absent) && (c.To == Missing) == (to == absent) {
			c.Count++
			return
		}
	}
	if len(h.Added) >= addedMost {
		return
	}
	p := Pair{Path: name, lines: []string{name}, Exchange: x, Show: h.show}
	shown := [2]string{shownHeader(h.show, name, from), shownHeader(h.show, name, to)}
	if of := [2]bool{isEcho(x, from), isEcho(x, to)}; of[0] != of[1] {
		shown[int(eprocess.Indicator(of[1]))] = ofRequest
	}
	h.Added = append(h.Added, Change{
		Path: name, From: shown[0], To: shown[1], Count: 1,
		Expected: addedReason, Samples: []whittle.Sample{p.sample()},
	})
	slices.SortStableFunc(h.Added, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
}

// partly are headers by which clients act, and of which the value is not compared, with what is.
var partly = [...]struct{ name, reason string }{
	{"Age", "how old a copy is, which is each cache's own"},
	{expires, "for how long a response may be kept: only whether it may be is compared"},
	{"Last-Modified", "the date itself: only whether there is one, where clients send conditions"},
}

// seePartly takes note of those in which the two sides were seen to differ, so that the coverage
// names them. It is learned anew in each process.
func (h *Headers) seePartly(x *whittle.Exchange) {
	a, b := x.Monolith.Header, x.Candidate.Header
	for i := range partly {
		name := partly[i].name
		if h.partly[i] || len(a[name]) == 0 || len(b[name]) == 0 || a[name][0] == b[name][0] || slices.Contains(h.c.Headers, name) || slices.Contains(h.c.ExceptHeaders, name) {
			continue
		}
		h.partly[i] = name != expires || !h.comparesExpires() && !lastAlike(a, b, x)
	}
}

// coverPartly names them.
func (h *Headers) coverPartly(c *whittle.Coverage) {
	for i, seen := range h.partly {
		if seen {
			c.NotCompared = append(c.NotCompared, whittle.Uncompared{Path: "header " + partly[i].name, Reason: partly[i].reason})
		}
	}
	for i := range h.Added {
		if a := &h.Added[i]; a.From == ofRequest || a.To == ofRequest {
			c.NotCompared = append(c.NotCompared, whittle.Uncompared{Path: "header " + a.Path, Reason: "one side's is that of the request, and the other's is not; " + addedReason})
		}
	}
}

// addedReason is why such a difference decides nothing.
const addedReason = "servers and frameworks add it by themselves, so it decides nothing; compare.headers: {also: [NAME]} compares it"
