package header

import (
	"bytes"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/form"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
	"whittle/internal/jsonscan"
)

// Texts writes a response's headers as a JSON text, so that a header is a place like a field of a body:
// {"Location":"/a","Set-Cookie":"sid; path=/","cookie":{"sid":"5f3a"}}. The attributes of cookies stand
// next to the other headers. Their values stand apart and are compared by form alone.
type Texts struct {
	c    whittle.Comparison
	show *display.View
	// uncompared are the differing headers that are not compared, with the reason.
	uncompared map[string]string

	now   whittle.Exchange // scratch of Exchange
	again whittle.Response
	sides [3]*whittle.Response
}

// NewTexts writes the headers that a comparison names.
func NewTexts(c *whittle.Comparison, show *display.View) Texts {
	return Texts{c: *c, show: show, uncompared: map[string]string{}}
}

// cookies is the member with the values of cookies.
const cookies = "cookie"

// CookiesPath is where the values of cookies stand.
const CookiesPath = "$." + cookies

// CookiePath is the place of a cookie's value.
func CookiePath(name string) string {
	return pathOf(cookies, name)
}

func pathOf(keys ...string) string {
	var trail []jsondoc.Place
	for _, key := range keys {
		trail = append(trail, jsondoc.Place{Key: []byte(key)})
	}
	return string(jsondoc.AppendPattern(nil, trail))
}

// NameOf is how a place of a text is called: "Location", "Set-Cookie sid".
func NameOf(path string) string {
	switch trail := form.TrailOf(path); {
	case path == jsondiff.ManyPaths, len(trail) == 0:
		return OtherHeaders
	case path == "$.*": // a name that looks random
		return "*"
	case len(trail) > 1:
		return SetCookie + " " + string(trail[1].Key)
	default:
		return string(trail[0].Key)
	}
}

// OtherHeaders stands for differences beyond the places that are distinguished.
const OtherHeaders = "other headers"

// Exchange is x with the responses' headers as bodies, until the next call. Equal headers give no
// bodies, unless whole is set.
func (t *Texts) Exchange(x *whittle.Exchange, whole bool) *whittle.Exchange {
	x = withTrailers(x)
	t.now = *x
	y := &t.now
	sides := append(t.sides[:0], &y.Monolith, &y.Candidate)
	if x.Repeat != nil {
		t.again = *x.Repeat
		y.Repeat = &t.again
		sides = append(sides, y.Repeat)
	}
	for _, a := range sides {
		a.Body, a.Truncated = nil, false
	}
	differs := func(a *whittle.Response) bool {
		return len(differing(sides[0].Header, a.Header, func(name string) bool { return t.compares(name, sides) })) > 0
	}
	if whole || slices.ContainsFunc(sides[1:], differs) {
		names := t.names(sides)
		for _, a := range sides {
			a.Body = t.text(names, x, a)
		}
	}
	return y
}

// Pair is an exchange whose bodies are the headers of two responses to a request.
func (t *Texts) Pair(x *whittle.Exchange, a, b *whittle.Response) *whittle.Exchange {
	of := *x
	of.Monolith, of.Candidate, of.Repeat = *a, *b, nil
	return t.Exchange(&of, true)
}

// names are those of the compared headers, sorted.
func (t *Texts) names(sides []*whittle.Response) (names []string) {
	for _, a := range sides {
		for name := range a.Header {
			if !slices.Contains(names, name) && t.compares(name, sides) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// compares reports whether a difference in a header counts in these responses. Somebody chose to send a
// strong Etag; frameworks make weak ones from the body.
func (t *Texts) compares(name string, sides []*whittle.Response) bool {
	return t.c.ComparesHeader(name) || whittle.ComparedByPresence(name) && t.c.ListsHeader(name) &&
		slices.ContainsFunc(sides, func(a *whittle.Response) bool {
			v := a.Header.Get(name)
			return v != "" && !strings.HasPrefix(v, "W/")
		})
}

// text is what a response says in these headers.
func (t *Texts) text(names []string, x *whittle.Exchange, a *whittle.Response) []byte {
	b := []byte{'{'}
	member := func(name string) {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(jsonscan.AppendString(b, name), ':')
	}
	for _, name := range names {
		word := wordAs(name, x, a)
		if word == absent {
			continue
		}
		if whittle.ComparedByPresence(name) && !slices.Contains(t.c.Headers, name) {
			word = "a tag"
		}
		member(name)
		b = jsonscan.AppendString(b, word)
	}
	if slices.Contains(names, SetCookie) {
		member(cookies)
		b = append(b, '{')
		for _, c := range keptCookies(a, x) {
			member(c.name)
			b = jsonscan.AppendString(b, c.value)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// Cookies are the sorted names of the cookies that an exchange sets.
func (t *Texts) Cookies(x *whittle.Exchange) (names []string) {
	if !t.c.ComparesHeader(SetCookie) {
		return nil
	}
	for _, a := range []*whittle.Response{&x.Monolith, &x.Candidate} {
		if len(a.Header[SetCookie]) == 0 {
			continue
		}
		for _, c := range keptCookies(a, x) {
			if !slices.Contains(names, c.name) {
				names = append(names, c.name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// keptCookies are a response's cookies, without those it removes.
func keptCookies(a *whittle.Response, x *whittle.Exchange) []sentCookie {
	return slices.DeleteFunc(cookiesOf(a.Header, x), func(c sentCookie) bool { return c.life.isOver() })
}

// differing are the sorted names whose values differ between two responses, as far as counts says.
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

// Comparison is how the texts are compared: by value. A declaration of a header covers its place.
func (t *Texts) Comparison() whittle.Comparison {
	c := whittle.Comparison{
		Kind: whittle.JSON, Confidence: t.c.Confidence, MinCompared: t.c.MinCompared, MaxDiffer: t.c.MaxDiffer,
		LearnNoise: t.c.LearnNoise && t.c.Kind != whittle.Statistical, Ignore: []string{CookiesPath}, Expect: slices.Clone(t.c.Expect),
	}
	for i := range t.c.Expect {
		e := &c.Expect[i]
		if e.Kind == whittle.FoundHeader && e.Path != "" {
			name := textproto.CanonicalMIMEHeaderKey(e.Path)
			e.Path = pathOf(name)
			e.From, e.To = declaredWord(name, e.From), declaredWord(name, e.To)
		}
	}
	return c
}

// CookiesDeclared is why every difference in cookies is intended; empty: not every one is.
func (t *Texts) CookiesDeclared() string {
	for _, e := range t.c.Expect {
		if e.Kind == whittle.FoundHeader && (e.Path == "" || strings.EqualFold(e.Path, SetCookie)) && e.From == "" && e.To == "" {
			return display.Reason(e)
		}
	}
	return ""
}

func declaredWord(name, value string) string {
	if value == "" || value == Missing {
		return value
	}
	return headerWord(name, whittle.Header{name: {value}}, nil)
}

// partly are headers that clients act on but whose values are not compared, each with the reason.
var partly = map[string]string{
	"Age":           "how old a copy is, which is each cache's own",
	"Expires":       "until when a response may be kept, which each server's clock says",
	"Last-Modified": "the date itself: which each server may take from elsewhere",
}

// List notes differing headers that servers add by themselves: by presence or form or, where clients act
// on them, by value. These differences decide nothing.
func (t *Texts) List(x *whittle.Exchange) {
	if !t.c.AllHeaders {
		return
	}
	x = withTrailers(x)
	sides := []*whittle.Response{&x.Monolith, &x.Candidate}
	a, b := x.Monolith.Header, x.Candidate.Header
	counts := func(name string) bool {
		return t.c.ListsHeader(name) && t.uncompared[name] == "" && !t.compares(name, sides)
	}
	for _, name := range differing(a, b, counts) {
		reason := partly[name]
		if from, to := headerWord(name, a, x), headerWord(name, b, x); from == absent || to == absent || form.Shape(from) != form.Shape(to) {
			reason = fmt.Sprintf("servers and frameworks add it by themselves, here %s and %s: compare.headers: {also: [%s]} compares it",
				t.shown(name, from), t.shown(name, to), name)
		}
		if reason != "" && len(t.uncompared) < Most {
			t.uncompared[name] = reason
		}
	}
}

func (t *Texts) shown(name, word string) string {
	if word == absent {
		return Missing
	}
	return display.Visible([]byte(t.show.HeaderValue(name, word)), display.ValueShown)
}

// Cover names the differing headers that are not compared, unless they are named already.
func (t *Texts) Cover(c *whittle.Coverage) {
	for _, name := range slices.Sorted(maps.Keys(t.uncompared)) {
		path := "header " + name
		if !slices.ContainsFunc(c.NotCompared, func(u whittle.Uncompared) bool { return u.Path == path }) {
			c.Not(path, t.uncompared[name])
		}
	}
}

// policies are the beginnings of names of headers that say what a response is or how it may be used.
// They show no state of a server.
var policies = []string{
	"Access-Control-", "Allow", "Cache-Control", "Content-", "Etag", "Link", "Location", "Set-Cookie", "Vary", "Www-Authenticate",
}

// IsPolicy reports whether a header shows no state of a server.
func IsPolicy(name string) bool {
	return slices.ContainsFunc(policies, func(s string) bool { return strings.HasPrefix(name, s) })
}

// fields redacts what stands at places of texts: by a header's name, and a cookie's value as a whole.
type fields struct{ of *display.View }

// ViewOf shows places of texts, where of shows exchanges.
func ViewOf(of *display.View) *display.View {
	v := &display.View{}
	v.RedactBy(fields{of})
	return v
}

func (f fields) Request(q *whittle.Request) { f.of.RedactRequest(q) }

func (f fields) Response(a *whittle.Response) { f.of.RedactResponse(a) }

func (f fields) Value(place []jsonpath.Element, v []byte) []byte {
	switch {
	case len(place) == 0:
		return []byte(f.of.Kept(nil, string(v)))
	case len(place) > 1:
		return []byte("…")
	}
	name := string(place[0].Key)
	if s, ok := bytes.CutPrefix(v, []byte{'"'}); ok { // or the beginning of a text
		v, _ = bytes.CutSuffix(s, []byte{'"'})
	}
	if len(v) == 0 || string(v) == Missing {
		return v
	}
	if name == SetCookie { // it has a path, no value
		return []byte(f.of.Kept(nil, string(v)))
	}
	return []byte(f.of.HeaderValue(name, string(v)))
}

// withTrailers is an exchange with the trailers' fields in the headers, where gRPC clients look too.
func withTrailers(x *whittle.Exchange) *whittle.Exchange {
	if len(x.Monolith.Trailer)+len(x.Candidate.Trailer) == 0 && (x.Repeat == nil || len(x.Repeat.Trailer) == 0) {
		return x
	}
	out := *x
	out.Monolith, out.Candidate = *withTrailer(&x.Monolith), *withTrailer(&x.Candidate)
	if x.Repeat != nil {
		out.Repeat = withTrailer(x.Repeat)
	}
	return &out
}

// withTrailer is a response with the trailer's fields in its header, without cookies, which no client
// takes from a trailer.
func withTrailer(a *whittle.Response) *whittle.Response {
	if len(a.Trailer) == 0 {
		return a
	}
	out := *a
	if out.Header = maps.Clone(a.Header); out.Header == nil {
		out.Header = whittle.Header{}
	}
	for name, values := range a.Trailer {
		if name != SetCookie {
			out.Header[name] = slices.Concat(out.Header[name], values)
		}
	}
	return &out
}
