package gateway

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

func TestPatternMatches(t *testing.T) {
	for _, tc := range []struct{ pattern, fit, others string }{ // paths between blanks
		{"/", "/ /a/b", ""},
		{"/{$}", "/", "/a"},
		{"/a", "/a", "/a/ /A //a"}, // ServeMux would clean the last path
		{"/a/", "/a/ /a/b/c", "/a"},
		{"/a/{$}", "/a/", "/a/b"},
		{"/a/{x}", "/a/b /a/b%2Fc", "/a/ /a /a/b/c /a/b/"}, // an escaped slash does not separate
		{"/a/{x}/", "/a/b/", ""},
		{"/a/{x}/c", "/a/b/c", "/a/b%2Fc"},
		{"/a/{x...}", "/a/ /a/b/c", "/a"},
		{"/b", "", "/a/../b"},      // and this one
		{"/a//b", "/a//b", ""},     // and a pattern may say so
		{"/a/../b", "/a/../b", ""}, // likewise
		{"/a%2Fb", "/a%2Fb", "/a/b"},
		{"/ü", "/%C3%BC", ""},
		{"/a b", "/a%20b", ""},
		{"/%61", "/a", ""},
	} {
		p, err := parsePattern(tc.pattern)
		fatal.If(t, err)
		for paths, want := range map[string]bool{tc.fit: true, tc.others: false} {
			for _, path := range strings.Fields(paths) {
				fatal.Same(t, p.match(path, true), want, "%s matches %s", tc.pattern, path)
			}
		}
	}
}

func TestPatternRefuses(t *testing.T) {
	for _, s := range []string{"", "a", "a/b", "/{", "/}", "/{}", "/{x", "/a{x}", "/{x}y", "/{x...}/y", "/{$}/y", "/{x}/{x}", "/{1}", "/{a-b}", "/%zz", "/a{x...}"} {
		if _, err := parsePattern(s); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func specs(matches ...whittle.Match) (routes []whittle.Route) {
	for _, m := range matches {
		name := strings.TrimSpace(m.Method + " " + m.Pattern + " " + m.HeaderName + m.HeaderValue)
		routes = append(routes, whittle.Route{Name: name, Match: m})
	}
	return routes
}

func TestNarrowestRouteWins(t *testing.T) {
	routes := specs(
		whittle.Match{Pattern: "/a/"},
		whittle.Match{Pattern: "/a/{x}"},
		whittle.Match{Pattern: "/a/b"},
		whittle.Match{Method: "POST", Pattern: "/a/b"},
		whittle.Match{Method: "POST", Pattern: "/a/b", HeaderName: "x-beta", HeaderValue: "1"},
		whittle.Match{Method: "POST", Pattern: "/a/b", HeaderName: "x-beta", HeaderValue: "2"},
		whittle.Match{Method: "GET", Pattern: "/a/{x}/c"},
	)
	g, err := New(Options{Monolith: whittle.Upstream{URL: "http://127.0.0.1:1"}, Routes: routes})
	fatal.If(t, err)
	m, err := NewMatcher(routes)
	fatal.If(t, err)
	for _, tc := range []struct{ method, target, beta, want string }{
		{"GET", "/", "", ""},
		{"GET", "/x", "", ""},
		{"GET", "/a/", "", "/a/"},
		{"GET", "/a/b", "", "/a/b"},
		{"GET", "/a/b?q=/x", "", "/a/b"},
		{"GET", "/a/%62", "", "/a/b"},
		{"GET", "/a/c", "", "/a/{x}"},
		{"GET", "/a/b%2Fc", "", "/a/{x}"},
		{"POST", "/a/b", "", "POST /a/b"},
		{"POST", "/a/b", "1", "POST /a/b X-Beta1"},
		{"POST", "/a/b", "2", "POST /a/b X-Beta2"},
		{"POST", "/a/b", "3", "POST /a/b"},
		{"GET", "/a/b", "1", "/a/b"},
		{"GET", "/a/x/c", "", "GET /a/{x}/c"},
		{"HEAD", "/a/x/c", "", "/a/"},
		{"GET", "//a/b", "", ""},
		{"GET", "/a/..", "", ""}, // a server may resolve it to another path
		{"GET", "/a/%2e%2E", "", ""},
		{"GET", "/a/.", "", ""},
		{"GET", "/a/x/../b", "", ""},
		{"GET", "/a/x/%2e%2e/b", "", ""},
		{"GET", "/a/..%2fb", "", ""},
		{"GET", "/a/x/..;y/b", "", ""},
		{"GET", "/a/..%3By/b", "", ""},
		{"GET", `/a/x\..\b`, "", ""},
		{"GET", "/a/..x/...", "", "/a/"}, // these are names
		{"GET", "/a/.x", "", "/a/{x}"},
		{"GET", "http://h/a/b", "", "/a/b"},
		{"OPTIONS", "*", "", ""},
	} {
		r := httptest.NewRequest(tc.method, "http://h/", http.NoBody)
		r.URL, err = url.ParseRequestURI(tc.target)
		fatal.If(t, err)
		if tc.beta != "" {
			r.Header.Set("X-Beta", tc.beta)
		}
		want := strings.ReplaceAll(tc.want, "X-Beta", "x-beta")
		fatal.Same(t, g.table.Load().match(r).name, want, "%s %s beta %q: route", tc.method, tc.target, tc.beta)
		asked := whittle.Request{Method: tc.method, Target: tc.target, Header: whittle.Header(r.Header)}
		if i, is := m.Match(&asked), slices.IndexFunc(routes, func(r whittle.Route) bool { return r.Name == want }); i != is {
			t.Errorf("%s %s beta %q: the matcher has route %d, want %d", tc.method, tc.target, tc.beta, i, is)
		}
	}
	fatal.Same(t, m.Match(&whittle.Request{Method: "GET", Target: "no target"}), -1, "the route of no target")
}

func TestRoutesThatCannotBe(t *testing.T) {
	for name, tc := range map[string]struct {
		routes []whittle.Route
		field  string
	}{
		"twice": {specs(whittle.Match{Pattern: "/a/{x}"}, whittle.Match{Pattern: "/a/{y}"}), "routes[1].match"},
		"crossing by header": {specs(
			whittle.Match{Pattern: "/a", HeaderName: "X-A", HeaderValue: "1"},
			whittle.Match{Pattern: "/a", HeaderName: "X-B", HeaderValue: "1"}), "routes[1].match"},
		"crossing by method": {specs(whittle.Match{Method: "GET", Pattern: "/{x}"}, whittle.Match{Pattern: "/a"}), "routes[1].match"},
		"same name":          {[]whittle.Route{{Name: "n", Match: whittle.Match{Pattern: "/a"}}, {Name: "n", Match: whittle.Match{Pattern: "/b"}}}, "routes[1].match"},
		"bad pattern":        {specs(whittle.Match{Pattern: "/{"}), "routes[0].match"},
		"bad candidate": {
			[]whittle.Route{{Name: "n", Match: whittle.Match{Pattern: "/a"}, Candidate: &whittle.Upstream{URL: "x"}}},
			"routes[0].candidate.url",
		},
	} {
		_, err := New(Options{Monolith: whittle.Upstream{URL: "http://127.0.0.1:1"}, Routes: tc.routes})
		if _, refused := NewMatcher(tc.routes); refused == nil && name != "bad candidate" {
			t.Errorf("%s: the matcher takes it", name)
		}
		e, ok := errors.AsType[*whittle.Error](err)
		if !ok || e.Code != whittle.Invalid || e.Field != tc.field {
			t.Errorf("%s: %+v, want field %q", name, e, tc.field)
		}
	}
}

// TestMatchesRelate relates pairs of matches both ways round.
func TestMatchesRelate(t *testing.T) {
	const ordered, ambiguous = "ordered", "ambiguous"
	is := map[patternOrder]string{apart: "apart", same: ambiguous, crossing: ambiguous, narrower: ordered, wider: ordered}
	rule := func(match, header string) *entry {
		method, pattern, found := strings.Cut(match, " ")
		if !found {
			method, pattern = "", match
		}
		name, value, _ := strings.Cut(header, "=")
		e, err := (&table{entries: []*entry{{}}}).rule(&whittle.Route{Match: whittle.Match{Method: method, Pattern: pattern, HeaderName: name, HeaderValue: value}})
		fatal.If(t, err)
		return e
	}
	for _, c := range []struct{ a, aHeader, b, bHeader, want string }{
		{a: "GET /a", b: "POST /a", want: "apart"},
		{a: "GET /a", b: "/a", want: ordered},
		{a: "GET /a", b: "GET /b", want: "apart"},
		{a: "GET /a", b: "GET /a/b", want: "apart"},
		{a: "GET /a", b: "GET /a/", want: "apart"},
		{a: "GET /a/{$}", b: "GET /a/", want: ordered},
		{a: "GET /a/{$}", b: "GET /a/{x}", want: "apart"},
		{a: "GET /a/{x}", b: "GET /a/b", want: ordered},
		{a: "GET /a/{x}", b: "GET /a/{y}", want: ambiguous},
		{a: "GET /a/{x}", b: "GET /{x}/b", want: ambiguous},
		{a: "GET /a/{x}", b: "GET /a/{rest...}", want: ordered},
		{a: "GET /a/", b: "GET /a/{rest...}", want: ambiguous},
		{a: "GET /{rest...}", b: "GET /a/b/c", want: ordered},
		{a: "/{rest...}", b: "/", want: ambiguous},
		{a: "GET /{x}", b: "/a", want: ambiguous},
		{a: "GET /{x}", b: "GET /a/{rest...}", want: "apart"},
		{a: "GET /a/{x}/{rest...}", b: "GET /a/b/", want: ordered},
		{a: "GET /{x}/b/{rest...}", b: "GET /a/{y...}", want: ambiguous},
		{a: "GET /a", b: "GET /a", want: ambiguous},
		{a: "GET /a", aHeader: "X-Beta=1", b: "GET /a", want: ordered},
		{a: "GET /a", aHeader: "X-Beta=1", b: "/a", want: ordered},
		{a: "/a", aHeader: "X-Beta=1", b: "GET /a", want: ambiguous},
		{a: "GET /a", aHeader: "X-Beta=1", b: "GET /a", bHeader: "X-Beta=2", want: "apart"},
		{a: "GET /a", aHeader: "X-Beta=1", b: "GET /a", bHeader: "X-User=1", want: ambiguous},
		{a: "GET /a", aHeader: "X-Beta=1", b: "GET /b", bHeader: "X-User=1", want: "apart"},
	} {
		a, b := rule(c.a, c.aHeader), rule(c.b, c.bHeader)
		for _, got := range []patternOrder{a.compare(b), b.compare(a)} {
			fatal.Same(t, is[got], c.want, "%s %s and %s %s", c.a, c.aHeader, c.b, c.bHeader)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"/", "/a/{x}/b/{rest...}", "/{$}", "/a%2Fb//"} {
		f.Add(s, "/a/b")
	}
	f.Fuzz(func(t *testing.T, s, path string) {
		p, err := parsePattern(s)
		if err != nil {
			return
		}
		fatal.Same(t, p.compare(p), same, "%q is not the same as itself", s)
		p.match(path, false)
		p.match(path, true)
	})
}

// match reports whether the path fits.
func (p pattern) match(path string, escaped bool) bool {
	return newIndex([]*entry{{pattern: p}}).find(path, escaped, func(*entry) bool { return true }) != nil
}
