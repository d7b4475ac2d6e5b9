package compare

import (
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/display"
)

// firstSample judges one pair of bodies and gives its first sample.
func firstSample(t *testing.T, kind whittle.CompareKind, monolith, candidate string, with display.Redactor) whittle.Sample {
	t.Helper()
	j := judgeOf(t, whittle.Comparison{Kind: kind, Value: "number in the body"})
	j.Redact(with)
	j.Observe(&whittle.Exchange{
		Request:   whittle.Request{Method: "GET", Target: "/orders"},
		Monolith:  whittle.Response{Status: 200, Body: []byte(monolith)},
		Candidate: whittle.Response{Status: 200, Body: []byte(candidate)},
	})
	for _, f := range j.Verdict().Findings {
		if len(f.Samples) > 0 {
			return f.Samples[0]
		}
	}
	t.Fatalf("no sample of %s against %s", monolith, candidate)
	return whittle.Sample{}
}

// TestTheDifferingPlaceIsShown: a sample names the place with its real indices and
// shows both values, wherever in the body that is.
func TestTheDifferingPlaceIsShown(t *testing.T) {
	far := strings.Repeat(`{"id":1,"name":"as before"},`, 100)
	lines := strings.Repeat("as before\n", 100)
	for _, c := range []struct {
		name                string
		kind                whittle.CompareKind
		monolith, candidate string
		where, from, to     string
	}{
		{
			"a field far behind", whittle.JSON, `{"items":[` + far + `{"id":7,"price":"1.50","tax":2}]}`, `{"items":[` + far + `{"id":7,"price":"1.5","tax":2}]}`,
			"$.items[100].price", `"1.50"`, `"1.5"`,
		},
		{
			"a lost field", whittle.JSON, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}`, `{"f":6,"a":1,"b":2,"c":3,"e":5}`,
			"$.d", "4", "missing",
		},
		{
			"a new field", whittle.JSON, `{"a":{"b":2}}`, `{"a":{"b":2,"new":null}}`,
			"$.a.new", "missing", "null",
		},
		{
			"a list cut off", whittle.JSON, `{"ids":[10,11,12,13,14]}`, `{"ids":[10,11,12]}`,
			"$.ids", "5 elements", "3 elements",
		},
		{
			"another order", whittle.JSON, `[1,2,3,4]`, `[1,2,4,3]`,
			"$", "4 elements", "another order",
		},
		{
			"an element", whittle.JSON, `[[1,2],[3,"x "]]`, `[[1,2],[3,"x"]]`,
			"$[1][1]", `"x␠"`, `"x"`,
		},
		{"a key that is odd", whittle.JSON, `{"a.b\t":1}`, `{"a.b\t":2}`, `$["a.b␉"]`, "1", "2"},
		{"the whole", whittle.JSON, `17`, `18`, "$", "17", "18"},
		{
			"a line's end", whittle.Exact, lines + "the end\r\n", lines + "the end\n",
			"byte 1007, line 101, column 8", "…fore␊as before␊as before␊the end␍␊", "…fore␊as before␊as before␊the end␊",
		},
		{"a word", whittle.Exact, "price 1.50 EUR", "price 1.5 EUR", "byte 9, line 1, column 10", "price 1.50 EUR", "price 1.5 EUR"},
		{"nothing", whittle.Exact, "done\n", "done", "byte 4, line 1, column 5", "done␊", "done"},
		{"a space", whittle.Exact, "a, b", "a,b", "byte 2, line 1, column 3", "a, b", "a,b"},
	} {
		s := firstSample(t, c.kind, c.monolith, c.candidate, nil)
		if s.Where != c.where || s.MonolithValue != c.from || s.CandidateValue != c.to {
			t.Errorf("%s: at %q: %q and %q, want at %q: %q and %q", c.name, s.Where, s.MonolithValue, s.CandidateValue, c.where, c.from, c.to)
		}
		if len(s.MonolithValue) > 2*120 {
			t.Errorf("%s: %d bytes", c.name, len(s.MonolithValue))
		}
	}
}

// TestSecretsStayTokensAtThePlace: neither the value nor a key shows what is secret.
func TestSecretsStayTokensAtThePlace(t *testing.T) {
	for _, c := range [][2]string{
		{`{"4111":{"card":"4111","sum":1,"4111":2}}`, `{"4111":{"card":"4111","sum":2,"4111":2}}`},
		{`{"card":["4111 a","x"]}`, `{"card":["4111 b","x"]}`},
		{`{"list":["4111","b"]}`, `{"list":["4111","c"]}`},
		{`{"list":["4111","b"]}`, `{"list":["4111"]}`},
	} {
		s := firstSample(t, whittle.JSON, c[0], c[1], onlyValues{})
		s.Monolith, s.Candidate = "", "" // onlyValues leaves whole bodies alone
		for _, text := range []string{s.Where, s.MonolithValue, s.CandidateValue} {
			if strings.Contains(text, "4111") {
				t.Errorf("%s: %q shows a secret", c[0], text)
			}
		}
	}
}
