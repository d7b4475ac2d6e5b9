package jsondoc

import (
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/display"
)

func TestPaths(t *testing.T) {
	wrong := map[string]string{
		"":                             `must start with "$"`,
		"id":                           `must start with "$"`,
		"$id":                          `must follow`,
		"$.":                           "a name is missing",
		"$..":                          "a name is missing",
		"$[":                           `"]" is missing`,
		"$[x]":                         "an index",
		"$[-1]":                        "an index",
		`$["a`:                         "quoted name",
		"$..a..b..c":                   `more than two`,
		strings.Repeat("$.a", 300):     "longer than",
		"$" + strings.Repeat(".a", 65): "more than 64 steps",
	}
	for p, why := range wrong {
		_, err := ParsePath(p)
		if whittle.CodeOf(err) != whittle.Invalid || !strings.Contains(err.Error(), why) {
			t.Errorf("%.20q: %v, expected %q", p, err, why)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"$.items[*].price", "$..etag", `$["a\"b"][3].*`, "$", "$..[*]"} {
		f.Add(s, 3, "etag")
	}
	f.Fuzz(func(t *testing.T, s string, index int, key string) {
		p, err := ParsePath(s)
		if err != nil {
			return
		}
		trail := []Place{{Key: []byte("items")}, {Index: max(0, index)}, {Key: []byte(key)}}
		if p.Matches(trail) && !p.Covers(trail) {
			t.Fatalf("%s leads to the trail and does not cover it", s)
		}
		back, err := ParsePath(string(AppendPattern(nil, trail)))
		if err == nil && !looksLikeID([]byte(key)) && len(key) < display.ValueShown && PlainKey([]byte(key)) && !back.Matches(trail) {
			t.Fatalf("the pattern %s does not lead back", AppendPattern(nil, trail))
		}
	})
}
