package jsondiff

import (
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/display"
)

// TestMasked: two texts are the same where they differ only in what a pattern's groups
// match, or all of it where there are none; what stands around it counts, and so does
// whether it is there. JSON is compared as JSON.
func TestMasked(t *testing.T) {
	t.Parallel()
	nonce := `nonce="([^"]*)"`
	for _, c := range []struct {
		kind     whittle.CompareKind
		patterns []string
		a, b     string
		same     bool
	}{
		{whittle.Exact, []string{nonce}, `<s nonce="a1">x`, `<s nonce="b22">x`, true},
		{whittle.JSON, []string{nonce}, `<s nonce="a1">x`, `<s nonce="b22">x`, true},
		{whittle.Exact, []string{nonce}, `<s nonce="a1">x`, `<s nonce="b22">y`, false},
		{whittle.Exact, []string{nonce}, `<s nonce="a1">x`, `<s>x`, false},
		{whittle.Exact, []string{nonce}, `<s nonce="a1">x`, `<s nonce="">x`, false},
		{whittle.Exact, []string{nonce}, `<s nonce="a1"><s nonce="a1">`, `<s nonce="b"><s nonce="c">`, true},
		{whittle.Exact, []string{nonce}, `<s nonce="a1"><s nonce="a1">`, `<s nonce="b">`, false},
		{whittle.Exact, []string{`\d+ ms`}, "took 5 ms.", "took 17 ms.", true},
		{whittle.Exact, []string{`\d+ ms`}, "took 5 ms.", "took 17 s.", false},
		{whittle.Exact, []string{`\d+ ms`}, "5 ms", "took 5 ms", false},
		{whittle.Exact, []string{nonce, `at (\d+):(\d+)`}, `nonce="a" at 1:2`, `nonce="b" at 33:4`, true},
		{whittle.Exact, []string{`a((b)c)`}, "abc", "abc", true},
		{whittle.Exact, []string{`a((b|x)c)`}, "abc", "axc", true},
		{whittle.Exact, []string{`(a)?b`}, "ab b", "b ab", false},
		{whittle.Exact, []string{`(?s).+`}, "this", "that", true},
		{whittle.JSON, []string{`\d+`}, `{"a":1}`, `{"a":2}`, false},
		{whittle.JSON, []string{`\d+`}, `{"a":1}`, `a 2`, false},
		{whittle.JSON, []string{`\d+`}, `a 1`, `a 2`, true},
		{whittle.JSON, []string{`\d+`}, ``, `1`, false},
		{whittle.Exact, nil, "a", "b", false},
	} {
		d, err := NewDiffer(whittle.Comparison{Kind: c.kind, IgnoreText: c.patterns})
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			list := d.Diff([]byte(pair[0]), []byte(pair[1]))
			if (len(list) == 0) != c.same {
				t.Errorf("%s %q: %q and %q: %+v", c.kind, c.patterns, pair[0], pair[1], list)
			}
			for i := range list { // what is shown is the place that differs, not one that is ignored
				if s := d.Spot(&list[i]); s.From == s.To {
					t.Errorf("%q and %q: %+v", pair[0], pair[1], s)
				}
			}
		}
	}
}

// TestMaskPatterns: what is no pattern, matches nothing or is too long is refused.
func TestMaskPatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"": "empty text", "x*": "empty text", "(": "missing closing", `(?=a)`: "invalid or unsupported",
		strings.Repeat("x", display.BodyShown+1): "longer than", "[0-9]+": "",
	} {
		_, err := MaskPattern(pattern)
		switch {
		case (err == nil) != (want == ""):
			t.Errorf("%.20q: %v", pattern, err)
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%.20q: %v", pattern, err)
		}
	}
}
