package sourcemap

import (
	"strings"
	"testing"

	"whittle/internal/fatal"
)

// What TypeScript made of "let a = 1;\n\nfunction f(x: number) {\n  return x + a;\n}".
const compiled = `{"version":3,"file":"a.js","sourceRoot":"","sources":["../src/a.ts"],"names":[],` +
	`"mappings":"AAAA,IAAI,CAAC,GAAG,CAAC,CAAC;AAEV,SAAS,CAAC,CAAC,CAAS;IAClB,OAAO,CAAC,GAAG,CAAC,CAAC;AACf,CAAC"}`

func TestAPlaceComesFromItsSource(t *testing.T) {
	m, err := Parse([]byte(compiled))
	fatal.If(t, err)
	for _, c := range []struct{ line, column, wantLine, wantColumn int }{{1, 1, 1, 1}, {2, 1, 3, 1}, {2, 11, 3, 11}, {3, 5, 4, 3}, {3, 14, 4, 11}, {4, 1, 5, 1}} {
		p, ok := m.At(c.line, c.column)
		if !ok || p.Line != c.wantLine || p.Column != c.wantColumn || p.Source != "../src/a.ts" {
			t.Errorf("%d:%d comes from %+v, %t", c.line, c.column, p, ok)
		}
		if from := m.Lines(c.line, "../src/a.ts"); len(from) != 1 || from[c.wantLine] == 0 {
			t.Errorf("line %d comes from %v", c.line, from)
		}
	}
	for _, at := range [][2]int{{0, 1}, {9, 1}, {3, 1}} {
		if p, ok := m.At(at[0], at[1]); ok {
			t.Errorf("%v comes from %+v", at, p)
		}
		if from := m.Lines(at[0], "src/a.ts"); len(from) != 0 {
			t.Errorf("line %d comes from %v of another source", at[0], from)
		}
	}
}

// Sections have sources and names of their own, and begin in the middle of a line.
func TestSections(t *testing.T) {
	m, err := Parse([]byte(`{"version": 3, "sections": [
		{"offset": {"line": 0, "column": 0}, "map": {"version": 3, "sources": ["a", null], "names": ["x"], "mappings": "AAAAA;ACAA"}},
		{"offset": {"line": 1, "column": 10}, "map": {"version": 3, "sources": ["b"], "names": ["y"], "mappings": "AACAA;AACA"}}]}`))
	fatal.If(t, err)
	for at, want := range map[[2]int]Place{
		{1, 1}: {"a", 1, 1, "x"}, {2, 5}: {"", 1, 1, ""}, {2, 11}: {"b", 2, 1, "y"}, {3, 1}: {"b", 3, 1, ""},
	} {
		if got, ok := m.At(at[0], at[1]); !ok || got != want {
			t.Errorf("%v comes from %+v, want %+v", at, got, want)
		}
	}
}

func TestMapsThatMakeNoSense(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{}`, `{"version": 2}`, `{"version": 3, "mappings": "AAAA"}`, `{"version": 3, "mappings": "!"}`, `{"version": 3, "sources": ["a"], "mappings": "AADA"}`,
		`{"version": 3, "sources": ["a"], "mappings": "AAAAA"}`, `{"version": 3, "sources": ["a"], "mappings": "AAAAAA"}`, `{"version": 3, "sections": [{}]}`,
		`{"version": 3, "sections": [{"map": {"sections": [{}]}}]}`, `{"version": 3, "sections": [{"offset": {"line": -1}, "map": {}}]}`,
		`{"version": 3, "sections": [{"offset": {"line": 1000000000}, "map": {}}]}`,
		`{"version": 3, "sections": [{"offset": {"line": 1}, "map": {"sources": ["a"], "mappings": "!"}}]}`, `{"version": 3, "sources": ["a"], "mappings": "gggggggggA"}`,
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

func TestWhereAMapIs(t *testing.T) {
	for text, want := range map[string]string{
		"a\n//# sourceMappingURL=a.js.map\n": "a.js.map", "//@ sourceMappingURL=b": "b", "a": "", "//# sourceMappingURL=a\nx\n//# sourceMappingURL=b": "b",
	} {
		fatal.Same(t, Of(text), want, "%q", text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(compiled)
	f.Add(strings.Replace(compiled, "AAAA", "A,CC;;", 1))
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for line := range 5 {
			if p, ok := m.At(line, 1); ok && (p.Line < 1 || p.Source == "" && len(m.Sources) == 0) {
				t.Errorf("%+v", p)
			}
			m.Lines(line, "")
		}
	})
}
