package config

import (
	"strings"
	"testing"

	"whittle"
)

// TestMeet relates pairs of matches both ways round.
func TestMeet(t *testing.T) {
	const apart, ordered, ambiguous = "apart", "ordered", "ambiguous"
	for _, c := range []struct{ a, aHeader, b, bHeader, want string }{
		{a: "GET /a", b: "POST /a", want: apart},
		{a: "GET /a", b: "/a", want: ordered},
		{a: "GET /a", b: "GET /b", want: apart},
		{a: "GET /a", b: "GET /a/b", want: apart},
		{a: "GET /a", b: "GET /a/", want: apart},
		{a: "GET /a/{$}", b: "GET /a/", want: ordered},
		{a: "GET /a/{$}", b: "GET /a/{x}", want: apart},
		{a: "GET /a/{x}", b: "GET /a/b", want: ordered},
		{a: "GET /a/{x}", b: "GET /a/{y}", want: ambiguous},
		{a: "GET /a/{x}", b: "GET /{x}/b", want: ambiguous},
		{a: "GET /a/{x}", b: "GET /a/{rest...}", want: ordered},
		{a: "GET /a/", b: "GET /a/{rest...}", want: ambiguous},
		{a: "GET /{rest...}", b: "GET /a/b/c", want: ordered},
		{a: "/{rest...}", b: "/", want: ambiguous},
		{a: "GET /{x}", b: "/a", want: ambiguous},
		{a: "GET /{x}", b: "GET /a/{rest...}", want: apart},
		{a: "GET /a/{x}/{rest...}", b: "GET /a/b/", want: ordered},
		{a: "GET /{x}/b/{rest...}", b: "GET /a/{y...}", want: ambiguous},
		{a: "GET /a", b: "GET /a", want: ambiguous},
		{a: "GET /a", aHeader: "X-Beta=1", b: "GET /a", want: ordered},
		{a: "GET /a", aHeader: "X-Beta=1", b: "/a", want: ordered},
		{a: "/a", aHeader: "X-Beta=1", b: "GET /a", want: ambiguous},
		{a: "GET /a", aHeader: "X-Beta=1", b: "GET /a", bHeader: "X-Beta=2", want: apart},
		{a: "GET /a", aHeader: "X-Beta=1", b: "GET /a", bHeader: "X-User=1", want: ambiguous},
		{a: "GET /a", aHeader: "X-Beta=1", b: "GET /b", bHeader: "X-User=1", want: apart},
	} {
		a, errA := parseMatch(c.a)
		b, errB := parseMatch(c.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for m, text := range map[*whittle.Match]string{&a: c.aHeader, &b: c.bHeader} {
			if text != "" {
				m.HeaderName, m.HeaderValue, _ = strings.Cut(text, "=")
			}
		}
		pa, pb := parsePath(a.Pattern), parsePath(b.Pattern)
		for _, m := range []meeting{meet(a, b, pa, pb), meet(b, a, pb, pa)} {
			got := ordered
			switch {
			case m.apart:
				got = apart
			case m.ambiguous():
				got = ambiguous
			}
			if got != c.want {
				t.Errorf("%s %s and %s %s: %s, want %s", c.a, c.aHeader, c.b, c.bHeader, got, c.want)
			}
		}
	}
}
