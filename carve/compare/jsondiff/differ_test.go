package jsondiff

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/fatal"
)

func jsonDifferOf(t testing.TB, c whittle.Comparison) *Differ {
	t.Helper()
	c.Kind = whittle.JSON
	j, err := NewDiffer(c, whittle.FoundField)
	fatal.If(t, err)
	return j
}

// described writes differences as "path how from→to".
func described(ds []Difference) []string {
	list := []string{}
	for _, d := range ds {
		list = append(list, d.Path+" "+d.How+" "+d.From+"→"+d.To)
	}
	slices.Sort(list)
	return list
}

func TestJSONDiff(t *testing.T) {
	deep := strings.Repeat("[", jsondoc.MaxDepth+2) + strings.Repeat("]", jsondoc.MaxDepth+2)
	cases := []struct {
		name string
		a, b string
		c    whittle.Comparison
		want []string
	}{
		{name: "order of members and space", a: `{"a":1,"b":[1,2]}`, b: " {\"b\" : [1,\n2], \"a\":1}"},
		{name: "numbers by value", a: `[1e2,100,1.50,-0,12345678901234567890,0.1e-3,1E400]`, b: `[100,1.00e+2,1.5,0,12345678901234567890.0,0.0001,10e399]`},
		{name: "big integers", a: `{"id":9007199254740993}`, b: `{"id":9007199254740992}`, want: []string{"$.id value 9007199254740993→9007199254740992"}},
		{name: "huge exponents", a: `[1e99999999999999999999]`, b: `[1e99999999999999999998]`, want: []string{"$[*] value 1e99999999999999999999→1e99999999999999999998"}},
		{name: "strings by value", a: `["\u00e9\/\ud83d\ude00"]`, b: `["é/😀"]`},
		{name: "keys by value", a: `{"\u0061":1}`, b: `{"a":1}`},
		{name: "value", a: `{"a":{"b":"x"}}`, b: `{"a":{"b":"y"}}`, want: []string{`$.a.b value "x"→"y"`}},
		{name: "true and false", a: `[true]`, b: `[false]`, want: []string{"$[*] value true→false"}},
		{name: "type", a: `{"sum":1}`, b: `{"sum":"1"}`, want: []string{`$.sum type number/string 1→"1"`}},
		{name: "null is not missing", a: `{"a":null}`, b: `{}`, want: []string{"$.a missing null→missing"}},
		{name: "extra", a: `{"b":1}`, b: `{"b":1,"a b":[]}`, want: []string{`$["a b"] extra missing→[]`}},
		{name: "duplicate key", a: `{"a":1,"a":2}`, b: `{"a":1}`, want: []string{"$.a missing 2→missing"}},
		{name: "duplicate key, other value first", a: `{"a":1,"a":2}`, b: `{"a":3,"a":2}`, want: []string{"$.a value 1→3"}},
		{name: "ids as keys", a: `{"users":{"17":{"n":1},"18":{"n":1}}}`, b: `{"users":{"17":{"n":2},"18":{"n":3}}}`, want: []string{"$.users.*.n value 1→2"}},
		{name: "length, one put in", a: `[1,2,3]`, b: `[1,9,2,3]`, want: []string{"$ length 3 elements→4 elements"}},
		{name: "length and value", a: `[1,2,3]`, b: `[1,9]`, want: []string{"$ length 3 elements→2 elements", "$[*] value 2→9"}},
		{name: "order", a: `{"l":[1,2,3]}`, b: `{"l":[3,1,2]}`, want: []string{"$.l order 3 elements→another order"}},
		{name: "order, ids made anew", a: `[{"id":1,"n":"x"},{"id":2,"n":"y"}]`, b: `[{"id":3,"n":"y"},{"id":4,"n":"x"}]`, want: []string{"$ order 2 elements→another order", "$[*].id value 1→4"}},
		{name: "unordered", a: `{"l":[1,{"a":[1,2]},3]}`, b: `{"l":[3,1,{"a":[1,2]}]}`, c: whittle.Comparison{Unordered: []string{"$.l"}}},
		{name: "unordered within unordered", a: `[[1,2],[3,4]]`, b: `[[4,3],[2,1]]`, c: whittle.Comparison{Unordered: []string{"$", "$[*]"}}},
		{name: "multiset counts", a: `[1,1,2]`, b: `[1,2,2]`, c: whittle.Comparison{Unordered: []string{"$"}}, want: []string{"$[*] value 1→2"}},
		{name: "unordered, one field differs", a: `[{"k":1,"v":1},{"k":2,"v":2}]`, b: `[{"k":2,"v":3},{"k":1,"v":1}]`, c: whittle.Comparison{Unordered: []string{"$"}}, want: []string{"$[*].v value 2→3"}},
		{name: "unordered, one missing", a: `[{"k":1},{"k":2},{"k":3}]`, b: `[{"k":3},{"k":1}]`, c: whittle.Comparison{Unordered: []string{"$"}}, want: []string{"$ length 3 elements→2 elements"}},
		{name: "unordered with ignored", a: `[{"k":1,"at":5},{"k":2,"at":6}]`, b: `[{"k":2,"at":7},{"k":1,"at":8}]`, c: whittle.Comparison{Unordered: []string{"$"}, Ignore: []string{"$[*].at"}}},
		{name: "unordered with tolerance", a: `[1.0,2.0,3.0]`, b: `[3.0000001,1.0000001,2]`, c: whittle.Comparison{Unordered: []string{"$"}, Tolerance: 1e-6}},
		{name: "ignored", a: `{"id":1,"x":{"etag":"a"},"l":[{"at":1}]}`, b: `{"id":"z","x":{},"l":[{"at":null}]}`, c: whittle.Comparison{Ignore: []string{"$.id", "$..etag", "$.l[*].at"}}},
		{name: "ignored subtree", a: `{"m":{"a":[1]}}`, b: `{"m":{"a":[2,3]}}`, c: whittle.Comparison{Ignore: []string{"$.m"}}},
		{name: "ignored index", a: `[1,2]`, b: `[1,3]`, c: whittle.Comparison{Ignore: []string{"$[0]"}}, want: []string{"$[*] value 2→3"}},
		{name: "tolerance", a: `[1.0000001,5]`, b: `[1,6]`, c: whittle.Comparison{Tolerance: 1e-6}, want: []string{"$[*] value 5→6"}},
		{name: "not JSON", a: `{"a":1}`, b: `<html>`, want: []string{"$ syntax {\"a\":1}→<html>"}},
		{name: "empty", a: `{"a":1}`, b: ``, want: []string{"$ syntax {\"a\":1}→empty"}},
		{name: "trailing", a: `1`, b: `1 2`, want: []string{"$ syntax 1→1 2"}},
		{name: "too deep", a: `1`, b: deep, want: []string{"$ limit JSON→JSON"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := jsonDifferOf(t, c.c)
			if c.want == nil {
				c.want = []string{}
			}
			if got := described(j.Diff([]byte(c.a), []byte(c.b))); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if back := j.Diff([]byte(c.b), []byte(c.a)); (len(back) == 0) != (len(c.want) == 0) {
				t.Errorf("the other way round it says %q", described(back))
			}
		})
	}
}

// TestJSONShuffled: any document equals itself with members and declared
// arrays shuffled, and does not once a value is changed.
func TestJSONShuffled(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	j := jsonDifferOf(t, whittle.Comparison{Unordered: []string{"$..list"}})
	for range 300 {
		v := randomValue(r, 4)
		a, b := text(r, v), text(r, v)
		if ds := j.Diff(a, b); len(ds) > 0 {
			t.Fatalf("%s\n%s\n%q", a, b, described(ds))
		}
		other := text(r, map[string]any{"x": v})
		if ds := j.Diff(other, text(r, map[string]any{"x": []any{v}})); len(ds) == 0 {
			t.Fatalf("%s: no difference found to its own array", other)
		}
	}
}

func randomValue(r *rand.Rand, depth int) any {
	kind := r.IntN(6)
	if depth == 0 {
		kind = r.IntN(4)
	}
	switch kind {
	case 0:
		return float64(r.IntN(5))
	case 1:
		return fmt.Sprint("s", r.IntN(5))
	case 2:
		return r.IntN(2) == 0
	case 3:
		return nil
	case 4:
		l := []any{}
		for range r.IntN(6) {
			l = append(l, randomValue(r, depth-1))
		}
		return map[string]any{"list": l}
	}
	m := map[string]any{}
	for range r.IntN(5) {
		m[fmt.Sprint("k", r.IntN(9))] = randomValue(r, depth-1)
	}
	return m
}

// text writes a value with members in random order, lists too.
func text(r *rand.Rand, v any) []byte {
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			parts = append(parts, fmt.Sprintf("%q: %s", k, text(r, e)))
		}
		r.Shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
		return []byte("{" + strings.Join(parts, ",") + "}")
	case []any:
		for _, e := range v {
			parts = append(parts, string(text(r, e)))
		}
		r.Shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
		return []byte("[" + strings.Join(parts, ",") + "]")
	}
	b, _ := json.Marshal(v)
	return b
}

// TestJSONWorkIsBounded: documents built to be dear are given up, and never
// called the same.
func TestJSONWorkIsBounded(t *testing.T) {
	nest := func(leaf string) []byte {
		return []byte(strings.Repeat(`[[1,2],`, 120) + leaf + strings.Repeat(`]`, 120))
	}
	wide := func(n int) []byte {
		return []byte("[" + strings.Repeat(fmt.Sprintf(`{"a":%d,"b":[1,2,3]},`, n), 20000) + "0]")
	}
	j := jsonDifferOf(t, whittle.Comparison{Unordered: []string{"$..*", "$"}, Ignore: []string{"$..a..b"}})
	for _, pair := range [][2][]byte{{nest("1"), nest("2")}, {wide(1), wide(2)}} {
		if len(j.Diff(pair[0], pair[1])) == 0 {
			t.Errorf("no difference found in %.40s", pair[0])
		}
		if j.steps > MaxSteps+jsondoc.MaxNodes {
			t.Errorf("%d steps taken", j.steps)
		}
	}
}

// TestAWrongPathIsNamed by its field in the config.
func TestAWrongPathIsNamed(t *testing.T) {
	_, err := NewDiffer(whittle.Comparison{Kind: whittle.JSON, Ignore: []string{"$.ok", "nope"}})
	if e, ok := errors.AsType[*whittle.Error](err); !ok || e.Field != "compare.ignore[1]" {
		t.Errorf("a wrong path is reported as %v", err)
	}
}

// FuzzJSONDiff holds the comparison against encoding/json.
func FuzzJSONDiff(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}]}`, `[1e2,-0.0,"\ud800x"]`, `{"a":1,"a":2}`, ` [ ] `, `"é"`, `[01]`, "{\"a\":\"\x01\"}"} {
		f.Add([]byte(s), []byte(`{"a":[1,2,{"b":null}]}`))
		f.Add([]byte(s), []byte(strings.ReplaceAll(s, " ", "")))
	}
	j := jsonDifferOf(f, whittle.Comparison{})
	rules := jsonDifferOf(f, whittle.Comparison{Unordered: []string{"$..*", "$", "$[*]"}, Ignore: []string{"$..a"}, Tolerance: 0.1})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var d jsondoc.Document
		if r := d.Scan(a); r != jsondoc.OutOfLimit && (r == jsondoc.Scanned) != json.Valid(a) {
			t.Fatalf("%q: scanned as %d, valid %v", a, r, json.Valid(a))
		}
		repeated := hasDuplicates(&d)
		spaced := append([]byte(" "), a...)
		if d.Scan(a) == jsondoc.Scanned && (len(j.Diff(a, spaced)) > 0 || len(rules.Diff(a, spaced)) > 0) {
			t.Fatalf("%q differs from itself", a)
		}
		there, back := len(j.Diff(a, b)) > 0, len(j.Diff(b, a)) > 0
		if there != back {
			t.Fatalf("%q and %q: differ %v one way, %v the other", a, b, there, back)
		}
		rules.Diff(a, b)
		x, okX := decoded(a)
		y, okY := decoded(b)
		if !okX || !okY || d.Scan(a) != jsondoc.Scanned || d.Scan(b) != jsondoc.Scanned || !utf8.Valid(a) || !utf8.Valid(b) {
			return
		}
		if repeated = repeated || hasDuplicates(&d); repeated && there {
			return
		}
		if same := reflect.DeepEqual(x, y); same == there {
			t.Fatalf("%q and %q: differ %v, decoded equal %v", a, b, there, same)
		}
	})
}

// decoded reads a text with every number brought to its canonical form.
func decoded(b []byte) (any, bool) {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	return canonical(v), true
}

func canonical(v any) any {
	switch v := v.(type) {
	case json.Number:
		x := jsondoc.ParseDecimal(nil, []byte(v))
		return fmt.Sprintf("%v %s %d", x.Negative, x.Digits, x.Exp)
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = canonical(v[k])
		}
	}
	return v
}

func hasDuplicates(d *jsondoc.Document) bool {
	for x, n := range d.Nodes {
		if n.Kind != jsondoc.Object {
			continue
		}
		seen := map[string]bool{}
		for i := uint32(x) + 1; i < n.Next; i = d.Nodes[i+1].Next {
			k, _ := jsondoc.Unquote(nil, d.Text(i))
			if seen[string(k)] {
				return true
			}
			seen[string(k)] = true
		}
	}
	return false
}

// FuzzDecimal holds the reading of numbers against math/big.
func FuzzDecimal(f *testing.F) {
	for _, s := range [][2]string{{"1e2", "100"}, {"-0", "0"}, {"0.10", "1e-1"}, {"123456789012345678901", "123456789012345678902"}} {
		f.Add(s[0], s[1])
	}
	j := jsonDifferOf(f, whittle.Comparison{})
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okX := rational(a)
		y, okY := rational(b)
		if !okX || !okY {
			return
		}
		if got, want := j.sameNumber([]byte(a), []byte(b)), x.Cmp(y) == 0; got != want {
			t.Fatalf("%s and %s: same %v, expected %v", a, b, got, want)
		}
	})
}

// rational reads a JSON number of a modest exponent.
func rational(s string) (*big.Rat, bool) {
	var d jsondoc.Document
	if len(s) > 200 || d.Scan([]byte(s)) != jsondoc.Scanned || d.Nodes[0].Kind != jsondoc.Number || strings.TrimSpace(s) != s {
		return nil, false
	}
	if x := jsondoc.ParseDecimal(nil, []byte(s)); x.Exp > 1000 || x.Exp < -1000 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

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
		fatal.If(t, err)
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			list := d.Diff([]byte(pair[0]), []byte(pair[1]))
			fatal.Same(t, len(list) == 0, c.same, "%s %q: %q and %q: %+v", c.kind, c.patterns, pair[0], pair[1], list)
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

func BenchmarkJSON(b *testing.B) {
	plain, spaced := comparetest.Orders(50, false), comparetest.Orders(50, true)
	cases := []struct {
		name, a, b string
		c          whittle.Comparison
	}{
		{"same bytes", plain, plain, whittle.Comparison{}},
		{"same values", plain, spaced, whittle.Comparison{}},
		{"one value differs", plain, strings.Replace(plain, "49.50", "49.51", 1), whittle.Comparison{}},
		{"unordered", plain, spaced, whittle.Comparison{Unordered: []string{"$.items"}}},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			j := jsonDifferOf(b, c.c)
			x, y := []byte(c.a), []byte(c.b)
			b.SetBytes(int64(len(x) + len(y)))
			b.ReportAllocs()
			for b.Loop() {
				j.Diff(x, y)
			}
		})
	}
	b.Run("encoding/json and DeepEqual", func(b *testing.B) {
		b.SetBytes(int64(len(plain) + len(spaced)))
		b.ReportAllocs()
		for b.Loop() {
			var x, y any
			if json.Unmarshal([]byte(plain), &x) != nil || json.Unmarshal([]byte(spaced), &y) != nil || !reflect.DeepEqual(x, y) {
				b.Fatal("not the same")
			}
		}
	})
}
