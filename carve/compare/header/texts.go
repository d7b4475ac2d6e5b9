package header

import (
	"net/textproto"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/form"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonscan"
)

// Texts writes what a response says in its headers as a JSON text, so that a header is a place
// like a field of a body: {"Location":"/a","Set-Cookie":"sid; path=/","cookie":{"sid":"5f3a"}}.
// Of cookies the attributes stand next to the other headers, and the values, which are compared
// by form alone, apart.
type Texts struct {
	c    whittle.Comparison
	show *display.View
	// added are the differences in what servers add by themselves, and partly which headers differ
	// that are compared in part, in n exchanges of this process.
	added  []listed
	partly [len(partly)]bool
	n      int

	now   whittle.Exchange // scratch of Exchange
	again whittle.Response
	sides [3]*whittle.Response
}

// NewTexts writes the headers that a comparison names.
func NewTexts(c *whittle.Comparison, show *display.View) Texts { return Texts{c: *c, show: show} }

// cookies is the member that has the values of cookies.
const cookies = "cookie"

// IgnoredPath is where the values of cookies stand.
const IgnoredPath = "$." + cookies

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
	path, piece := form.Whole(path)
	switch trail := form.TrailOf(path); {
	case path == jsondiff.ManyPaths, len(trail) == 0:
		return OtherHeaders
	case path == "$.*": // a name that looks drawn
		return "*" + piece
	case len(trail) > 1:
		return SetCookie + " " + string(trail[1].Key) + piece
	default:
		return string(trail[0].Key) + piece
	}
}

// OtherHeaders is what differs beyond the places that are distinguished.
const OtherHeaders = "other headers"

// Exchange is one whose bodies are what the responses say in their headers, until the next call.
// Where they say the same there are none, unless whole is asked for.
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
	if whole || t.differ(sides) {
		names := t.names(sides)
		for _, a := range sides {
			a.Body = t.text(names, x, a)
		}
	}
	return y
}

// Pair is an exchange whose bodies are what two responses to a request say in their headers.
func (t *Texts) Pair(x *whittle.Exchange, a, b *whittle.Response) *whittle.Exchange {
	of := *x
	of.Monolith, of.Candidate, of.Repeat = *a, *b, nil
	return t.Exchange(&of, true)
}

// differ reports whether not all say the same in what is compared.
func (t *Texts) differ(sides []*whittle.Response) bool {
	for _, a := range sides[1:] {
		if len(differing(sides[0].Header, a.Header, func(name string) bool { return t.compares(name, sides) })) > 0 {
			return true
		}
	}
	return false
}

// names are those of the headers that are compared, sorted.
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

// compares reports whether a difference in a header counts, in these responses. A strong Etag is
// one that somebody chose to send; a weak one is what frameworks make of the body.
func (t *Texts) compares(name string, sides []*whittle.Response) bool {
	return t.c.ComparesHeader(name) || whittle.ComparedByPresence(name) && t.c.ListsHeader(name) &&
		slices.ContainsFunc(sides, func(a *whittle.Response) bool {
			v := a.Header.Get(name)
			return v != "" && !strings.HasPrefix(v, "W/")
		})
}

// text is what a response says in the headers of these names.
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

// Cookies are the names, sorted, of those that an exchange sets.
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

// keptCookies are the cookies of a response that are not removed.
func keptCookies(a *whittle.Response, x *whittle.Exchange) []sentCookie {
	return slices.DeleteFunc(cookiesOf(a.Header, x), func(c sentCookie) bool { return c.life.isOver() })
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

// Comparison is how the texts are compared: by value, what a declaration of a header covers at
// its place.
func (t *Texts) Comparison() whittle.Comparison {
	c := whittle.Comparison{
		Kind: whittle.JSON, Confidence: t.c.Confidence, MinCompared: t.c.MinCompared, MaxDiffer: t.c.MaxDiffer,
		LearnNoise: t.c.LearnNoise && t.c.Kind != whittle.Statistical, Ignore: []string{IgnoredPath}, Expect: slices.Clone(t.c.Expect),
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

// CookiesDeclared is why any difference in cookies is intended; empty: it is not.
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
