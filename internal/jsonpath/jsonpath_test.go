package jsonpath_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/internal/jsonpath"
)

// trailOf reads a position as tests write it: keys as they are, indices as #3.
func trailOf(text string) (trail []jsonpath.Element) {
	for part := range strings.SplitSeq(text, "/") {
		var index int
		switch _, err := fmt.Sscanf(part, "#%d", &index); {
		case part == "":
		case err == nil:
			trail = append(trail, jsonpath.Element{Index: index})
		default:
			trail = append(trail, jsonpath.Element{Key: []byte(part)})
		}
	}
	return trail
}

func parse(t *testing.T, path string) jsonpath.Path {
	t.Helper()
	p, err := jsonpath.Parse(path)
	fatal.If(t, err)
	return p
}

func TestMatches(t *testing.T) {
	tests := []struct {
		path    string
		matches []string
		not     []string
	}{
		{"$", []string{""}, []string{"a", "#0"}},
		{"$.a", []string{"a"}, []string{"", "b", "a/b", "#0", "b/a"}},
		{"$.a.b", []string{"a/b"}, []string{"a", "b", "a/b/c", "b/a"}},
		{`$["a"]`, []string{"a"}, []string{"b", "#0"}},
		{`$["odd key"].x`, []string{"odd key/x"}, []string{"odd key", "odd/key/x"}},
		{`$["a\"]b"]`, []string{`a"]b`}, []string{"a", `a"`}},
		{`$["a"]["b"]`, []string{"a/b"}, []string{"a"}},
		{"$.a[0]", []string{"a/#0"}, []string{"a", "a/#1", "a/0", "#0"}},
		{"$[12]", []string{"#12"}, []string{"#1", "#2", "12"}},
		{"$[0]", []string{"#0"}, []string{"a", "#1"}},
		{"$.a[*].b", []string{"a/#0/b", "a/#7/b"}, []string{"a/b", "a/x/b", "a/#0", "a/#0/#0"}},
		{"$.*", []string{"a", "*"}, []string{"", "#0", "a/b"}},
		{"$.a.*.c", []string{"a/b/c"}, []string{"a/#0/c", "a/c"}},
		{"$..etag", []string{"etag", "a/etag", "#0/a/etag", "etag/etag"}, []string{"", "a", "etag/a", "#0"}},
		{"$..*", []string{"a", "a/b", "#0/a"}, []string{"", "#0", "a/#0"}},
		{"$..[0]", []string{"#0", "a/#0", "#1/#0"}, []string{"", "a", "#1", "#0/a"}},
		{"$..[*]", []string{"#0", "a/#3"}, []string{"a", "#0/a"}},
		{`$..["a b"]`, []string{"a b", "x/a b"}, []string{"a", "a b/x"}},
		{"$.a..b", []string{"a/b", "a/x/b", "a/#0/#1/b"}, []string{"b", "a", "x/a/b"}},
		{"$..a..b", []string{"a/b", "x/a/y/b", "a/a/b"}, []string{"b/a", "a", "b"}},
		{"$..a.b", []string{"a/b", "a/a/b", "x/a/b"}, []string{"a/x/b"}},
		{"$.ключ", []string{"ключ"}, []string{"k"}},
		{"$.a b", []string{"a b"}, []string{"a"}},
	}
	for _, tt := range tests {
		p := parse(t, tt.path)
		for _, text := range tt.matches {
			trail := trailOf(text)
			below := append(trailOf(text), jsonpath.Element{Key: []byte("below")}, jsonpath.Element{Index: 3})
			if !p.Matches(trail) || !jsonpath.AnyMatches([]jsonpath.Path{parse(t, "$.none"), p}, trail) {
				t.Errorf("%s does not match %q", tt.path, text)
			}
			if !p.Covers(trail) || !p.Covers(below) || !jsonpath.AnyCovers([]jsonpath.Path{parse(t, "$.none"), p}, below) {
				t.Errorf("%s does not cover %q and what is below", tt.path, text)
			}
		}
		for _, text := range tt.not {
			if p.Matches(trailOf(text)) || jsonpath.AnyMatches([]jsonpath.Path{p}, trailOf(text)) {
				t.Errorf("%s matches %q", tt.path, text)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		path string
		at   int
		why  string
	}{
		{"", 0, `it must start with "$"`},
		{"a", 0, `it must start with "$"`},
		{".a", 0, `it must start with "$"`},
		{"$a", 1, `"." or "[" must follow`},
		{"$.a[0]b", 6, `"." or "[" must follow`},
		{"$.", 1, "a name is missing"},
		{"$..", 1, "a name is missing"},
		{"$.a.", 3, "a name is missing"},
		{"$.a..", 3, "a name is missing"},
		{"$.[0]", 1, "a name is missing"},
		{"$[", 1, `"]" is missing`},
		{"$[0", 1, `"]" is missing`},
		{"$..[", 1, `"]" is missing`},
		{"$[]", 1, `an index, * or a quoted name must stand in "[]"`},
		{"$[-1]", 1, `an index, * or a quoted name must stand in "[]"`},
		{"$[x]", 1, `an index, * or a quoted name must stand in "[]"`},
		{"$[1073741825]", 1, `an index, * or a quoted name must stand in "[]"`},
		{`$["a]`, 1, `the quoted name must end with "]`},
		{`$["a"`, 1, `the quoted name must end with "]`},
		{`$["a"x]`, 1, `the quoted name must end with "]`},
		{`$["\q"]`, 1, `the quoted name must end with "]`},
		{"$..a..b..c", 7, `it has more than two ".."`},
		{"$" + strings.Repeat(".a", 65), 129, "it has more than 64 steps"},
		{"$..b" + strings.Repeat(".a", 63), 128, "it has more than 64 steps"},
	}
	for _, tt := range tests {
		p, err := jsonpath.Parse(tt.path)
		if want := fmt.Sprintf("JSON path %q, byte %d: %s", tt.path, tt.at, tt.why); err == nil || err.Error() != want {
			t.Errorf("%q parsed to %v, %v, want %s", tt.path, p, err, want)
		}
	}
	long := "$." + strings.Repeat("a", 511)
	if _, err := jsonpath.Parse(long); err == nil || err.Error() != fmt.Sprintf("JSON path %q, byte 0: it is longer than 512 bytes", long[:32]) {
		t.Errorf("513 bytes: %v", err)
	}
}

// steps are what the paths of the property are made of, with a matcher of their own
// that tries every way.
var steps = []struct {
	text string
	deep bool
	is   func(jsonpath.Element) bool
}{
	{".a", false, func(e jsonpath.Element) bool { return string(e.Key) == "a" }},
	{`["b"]`, false, func(e jsonpath.Element) bool { return string(e.Key) == "b" }},
	{"[1]", false, func(e jsonpath.Element) bool { return e.Key == nil && e.Index == 1 }},
	{"[*]", false, func(e jsonpath.Element) bool { return e.Key == nil }},
	{".*", false, func(e jsonpath.Element) bool { return e.Key != nil }},
	{"..a", true, func(e jsonpath.Element) bool { return string(e.Key) == "a" }},
	{"..[1]", true, func(e jsonpath.Element) bool { return e.Key == nil && e.Index == 1 }},
}

func reference(path []int, trail []jsonpath.Element) bool {
	if len(path) == 0 {
		return len(trail) == 0
	}
	step := steps[path[0]]
	for skip := range trail {
		if (skip == 0 || step.deep) && step.is(trail[skip]) && reference(path[1:], trail[skip+1:]) {
			return true
		}
	}
	return false
}

// Matches and Covers agree with a matcher that tries every way, for random paths
// and positions.
func TestMatchesAsTheReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	elements := []jsonpath.Element{{Key: []byte("a")}, {Key: []byte("b")}, {Index: 1}, {Index: 2}}
	matched := 0
	for range 20_000 {
		var path []int
		text, deeps := "$", 0
		for range rng.IntN(5) {
			i := rng.IntN(len(steps))
			if steps[i].deep {
				if deeps++; deeps > 2 {
					continue
				}
			}
			path, text = append(path, i), text+steps[i].text
		}
		trail := make([]jsonpath.Element, rng.IntN(6))
		for i := range trail {
			trail[i] = elements[rng.IntN(len(elements))]
		}
		p := parse(t, text)
		want, covers := reference(path, trail), false
		for n := range len(trail) + 1 {
			covers = covers || reference(path, trail[:n])
		}
		if p.Matches(trail) != want || p.Covers(trail) != covers {
			t.Fatalf("%s against %v: matches %v, covers %v", text, trail, p.Matches(trail), p.Covers(trail))
		}
		if want {
			matched++
		}
	}
	if matched < 500 {
		t.Errorf("only %d of the pairs match", matched)
	}
}

// FuzzParse: what is parsed is within the bounds and says where it fails; a path
// that is parsed matches a position that is written from it.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"$", "$.a[0]..b", `$["a\"b"].*`, "$..[*]", "$[", "$.a[1073741825]"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := jsonpath.Parse(path)
		if err != nil {
			return
		}
		if len(path) > 512 || len(p) > 64 || !strings.HasPrefix(path, "$") {
			t.Errorf("%q is taken, with %d steps", path, len(p))
		}
		fatal.Same(t, p.Matches(nil), path == "$", "%q matches the document", path)
	})
}
