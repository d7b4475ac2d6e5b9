package gateway

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/gateway/listener"
	"whittle/internal/http1"
)

// sequential is the matcher that the index is held to: it tries one rule after the
// other, those for a single path first, then by weight.
type sequential struct {
	literal map[string][]*entry
	open    []*entry
	rest    *entry
}

func newSequential(t *table) *sequential {
	s := &sequential{literal: map[string][]*entry{}, rest: t.rest}
	for _, e := range t.entries[1:] {
		if path, ok := e.pattern.literalPath(); ok {
			s.literal[path] = append(s.literal[path], e)
		} else {
			s.open = append(s.open, e)
		}
	}
	byWeight := func(a, b *entry) int { return b.weight() - a.weight() }
	slices.SortStableFunc(s.open, byWeight)
	for _, es := range s.literal {
		slices.SortStableFunc(es, byWeight)
	}
	return s
}

func (s *sequential) match(r *http.Request) *entry {
	path, escaped := r.URL.Path, r.URL.RawPath != ""
	if escaped {
		path = r.URL.RawPath
		for _, es := range s.literal {
			for _, e := range es {
				if e.admits(r) && e.pattern.match(path, true) {
					return e
				}
			}
		}
	}
	if !escaped {
		for _, e := range s.literal[path] {
			if e.admits(r) {
				return e
			}
		}
	}
	for _, e := range s.open {
		if e.admits(r) && e.pattern.match(path, escaped) {
			return e
		}
	}
	return s.rest
}

// literalPath gives the one decoded path that a pattern without wildcards
// matches; ok is false where there are several, or where an escaped slash makes
// the decoded form ambiguous.
func (p pattern) literalPath() (path string, ok bool) {
	if p.multi {
		return "", false
	}
	var b strings.Builder
	for _, s := range p.segments {
		if s.wildcard || strings.Contains(s.literal, "/") {
			return "", false
		}
		b.WriteByte('/')
		b.WriteString(s.literal)
	}
	return b.String(), true
}

// match reports whether the path fits. Where escaped is set the segments of
// path are still percent-encoded, and "%2F" does not separate.
func (p pattern) match(path string, escaped bool) bool {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return false
	}
	taken := func(part string) bool {
		plain, _ := url.PathUnescape(part)
		return slices.ContainsFunc(strings.FieldsFunc(plain, func(c rune) bool { return c == '/' || c == '\\' }), func(s string) bool {
			s, _, _ = strings.Cut(s, ";")
			return s == "." || s == ".."
		})
	}
	more := true
	for _, s := range p.segments {
		if !more || s.wildcard && taken(strings.SplitN(rest, "/", 2)[0]) {
			return false
		}
		var part string
		part, rest, more = strings.Cut(rest, "/")
		if escaped {
			var err error
			if part, err = url.PathUnescape(part); err != nil {
				return false
			}
		}
		if s.wildcard && part == "" || !s.wildcard && part != s.literal {
			return false
		}
	}
	return more == p.multi && (!more || !taken(rest))
}

// TestIndexFindsWhatTryingEachFinds: whatever the rules, and whatever is asked for, the
// index finds the rule that one after the other finds, and so does it for a request in
// bytes unless a header decides.
func TestIndexFindsWhatTryingEachFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	literals := []string{"a", "b", "a%2Fb", "%61", "ü", "a b", "..", ""}
	found := 0
	for range 400 {
		tab := &table{rest: &entry{}}
		tab.entries = []*entry{tab.rest}
		for n := 1 + rng.IntN(40); n > 0; n-- {
			var p strings.Builder
			for depth, i := rng.IntN(4), 0; i < depth; i++ {
				p.WriteString("/" + pick(append(literals[:7:7], "{x"+string(rune('a'+i))+"}")...))
			}
			p.WriteString("/" + pick(append(literals, "{x}", "{$}", "{r...}", "")...))
			m := whittle.Match{Pattern: p.String(), Method: pick("", "", "GET", "POST")}
			if rng.IntN(4) == 0 {
				m.HeaderName, m.HeaderValue = "X-Beta", pick("1", "2")
			}
			// Rules that cross are refused, so the others are kept.
			if e, err := tab.rule(&whittle.Route{Name: m.Method + p.String() + m.HeaderValue, Match: m}); err == nil {
				tab.add(e)
			}
		}
		tab.order()
		each := newSequential(tab)
		for range 100 {
			var path strings.Builder
			for range 1 + rng.IntN(5) {
				path.WriteString("/" + pick("a", "b", "c", "a%2Fb", "%61", "%C3%BC", "a%20b", "..", "", "%zz", "%2e%2E", "a%2f..%2fb", "..;x", "..a"))
			}
			u, err := url.ParseRequestURI(path.String())
			if err != nil {
				continue
			}
			r := &http.Request{Method: pick("GET", "POST", "PUT"), URL: u, Header: http.Header{}}
			if beta := pick("", "1", "3"); beta != "" {
				r.Header.Set("X-Beta", beta)
			}
			want := each.match(r)
			if got := tab.match(r); got != want {
				t.Fatalf("%s %s: %q, one after the other %q", r.Method, path.String(), got.name, want.name)
			}
			if got := tab.matchRaw(rawOf(t, r, path.String())); got != nil && !strings.Contains(path.String(), "%") && got != want {
				t.Fatalf("%s %s in bytes: %q, one after the other %q", r.Method, path.String(), got.name, want.name)
			}
			if want != tab.rest {
				found++
			}
		}
	}
	if found < 5000 {
		t.Errorf("only %d requests were of a rule", found)
	}
}

func rawOf(t *testing.T, r *http.Request, path string) *listener.Raw {
	t.Helper()
	var h http1.RequestHead
	text := r.Method + " " + path + " HTTP/1.1\r\nHost: h\r\n"
	if beta := r.Header.Get("X-Beta"); beta != "" {
		text += "X-Beta: " + beta + "\r\n"
	}
	if _, err := h.Parse([]byte(text + "\r\n")); err != nil {
		t.Fatal(err)
	}
	return &listener.Raw{Head: &h, Path: []byte(path)}
}
