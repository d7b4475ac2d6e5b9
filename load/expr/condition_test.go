package expr

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"whittle/internal/fatal"
)

var conditionVariables = map[string]Value{
	"n": NumberValue(7), "zero": NumberValue(0), "s": TextValue("seven"), "digits": TextValue("07"), "empty": TextValue(""),
	"yes": {Text: "true", JSON: "true"}, "no": {Text: "false", JSON: "false"}, "none": {Text: "null", JSON: "null"},
	"list": {Text: "[1]", JSON: "[1]"}, "a.b": NumberValue(3), "unset": {},
}

func resolveForTest(name string) (func(*Evaluation) Datum, error) {
	v, ok := conditionVariables[name]
	if !ok {
		return nil, fmt.Errorf("no %s", name)
	}
	// As a plan's reader does it, which looks into the user's scope.
	return func(e *Evaluation) Datum { return DatumOf(append(e.Scope.Values, v)[len(e.Scope.Values)]) }, nil
}

func TestConditions(t *testing.T) {
	for src, want := range map[string]bool{
		"n == 7": true, "n != 7": false, "n === 7": true, "n !== 7": false, "n < 7.5 and n > 6": true, "n >= 8 or n <= 7": true,
		"n == 7 && s == \"seven\"": true, "n == 8 || zero": false, "not zero": true, "!n": false, "not (n == 7)": false,
		"digits == 7": true, "digits == \"7\"": false, "s < \"six\"": true, "s > 3": false, "s == n": false,
		"yes": true, "no": false, "no == false": true, "yes == 1": true, "none": false, "unset": false, "empty": false, "list": true,
		"unset == unset": true, "unset == 0": false, "unset < 1": false, "unset != 1": true,
		"'a.b' == 3": true, "a.b == 3": true,
		"1 + 2 * 3 == n": true, "(1 + 2) * 3 == 9": true, "7 % 4 == 3": true, "10 / 4 == 2.5": true,
		"-n == 0 - 7": true, "1e3 == 1000": true, ".5 == 0.5": true, "1 / 0 > 5": true, "0 / 0": false,
		"n in (1, 7, 9)": true, "n in ()": false, "n not in (1, 9)": true, "s in (\"six\", \"seven\")": true,
		"s ~= \"^se\"": true, "s ~= \"x\"": false, "n ~= \"^7$\"": true,
		"\"a\" + \"b\" == \"ab\"": true, "\"a\" + 1 == \"a1\"": true,
		"true": true, "false": false, "3 - 2 - 1 == 0": true,
		// A text is the number that JavaScript makes of it.
		"empty == 0": true, "\" 5 \" == 5": true, "\"0x10\" == 16": true, "\"inf\" > 1": false, "\"1_0\" == 10": false, "\"Infinity\" > 1": true,
		"true == n > 1": true, "7 == n < 8": false, "n in (7, 8) >= 1": true, "n not in (7) < 1 == true": true,
	} {
		c, err := CompileCondition(src, resolveForTest)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		fatal.Same(t, c(&Evaluation{Scope: &Scope{RNG: rand.New(rand.NewPCG(1, 1))}}).Truth(), want, "%s", src)
	}
	for _, bad := range []string{
		"", "n ==", "== n", "n = 7", "(n", "n)", "n n", "unknown", "n in 7", "n not 7", "s ~= n", "s ~= \"(\"", "\"open", "max()", "abs(1,2)",
		"nofunc(1)", "max(1, n)", "n ? 1 : 2", "n ? 1", "2 ^ 3", "7 mod 4", "1 + ", "@", "n # 7", strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100), strings.Repeat("!", 100) + "1",
		strings.Repeat("1+", MaxConditionBytes) + "1", "s ~= \"(?=x)\"",
		"s ~= s + \"x\"", "s ~= (\"x\" + \"y\")",
	} {
		if _, err := CompileCondition(bad, resolveForTest); err == nil {
			t.Errorf("%.40q was understood", bad)
		}
	}
}

func TestPatternsAreJavaScriptsAsFarAsTheyGo(t *testing.T) {
	for _, c := range []struct {
		src, flags, text string
		want             bool
	}{
		{"^b$", "m", "a\nb", true}, {"^b$", "", "a\nb", false}, {"A.B", "is", "a\nb", true}, {`(?<year>\d{4})`, "g", "in 2024", true},
	} {
		rx, err := CompilePattern(c.src, c.flags)
		if err != nil || rx.MatchString(c.text) != c.want {
			t.Errorf("/%s/%s on %q: %v", c.src, c.flags, c.text, err)
		}
	}
	for src, flags := range map[string]string{"(?=a)": "", `(a)\1`: "", "a": "y", strings.Repeat("a", 5000): ""} {
		if _, err := CompilePattern(src, flags); err == nil {
			t.Errorf("/%.20s/%s was understood", src, flags)
		}
	}
}

// FuzzCondition checks that no expression makes the reader or the evaluation
// crash, and that one without chance in it is the same each time.
func FuzzCondition(f *testing.F) {
	f.Add("n == 7 && (s ~= \"a\" or not zero) or -'a.b' in (1, true)")
	f.Add("@.a[0]['x'] == 'y'")
	f.Fuzz(func(t *testing.T, src string) {
		for _, d := range []dialect{dialectPlan, dialectPath} {
			c, err := compileIn(d, src, resolveForTest)
			if err != nil {
				continue
			}
			if a, b := c(&Evaluation{Scope: &Scope{}}).Truth(), c(&Evaluation{Scope: &Scope{}}).Truth(); a != b {
				t.Fatalf("%q is %v and %v", src, a, b)
			}
		}
	})
}

// TestUsersShareAnExpression lets many users take from responses of their own by
// one compiled expression of each kind.
func TestUsersShareAnExpression(t *testing.T) {
	t.Parallel()
	for from, expr := range map[string]string{
		"json": "$.page[?(@.last)].id", "selector": "line[last]", "regexp": "[1-9][0-9]*",
	} {
		x, err := CompileExtractor(Extraction{From: from, Attr: "id"}, expr)
		if err != nil {
			t.Fatalf("%s %q: %v", from, expr, err)
		}
		var users sync.WaitGroup
		for user := range 8 {
			users.Go(func() {
				for n := range 200 {
					want := fmt.Sprint(user*1000 + n + 1)
					body := `<page>` + strings.Repeat(`<line id="0"><i>0</i></line>`, n%7) + `<line id="` + want + `" last=""><i>` + want + `</i></line></page>`
					if from == "json" {
						body = `{"page":[` + strings.Repeat(`{"id":0},`, n%7) + `{"id":` + want + `,"last":true}]}`
					}
					if v, ok := x(responseWith(body)); !ok || v.Text != want {
						t.Errorf("%s took %q of %s", from, v.Text, body)
						return
					}
				}
			})
		}
		users.Wait()
	}
}

// FuzzCapture checks that no expression of a capture makes reading or using it
// crash, and that what it takes keeps to its bounds.
func FuzzCapture(f *testing.F) {
	f.Add("json", "$..a[?(@.b)]", `{"a":[{"b":1},{"c":{"b":2}}]}`)
	f.Add("selector", "li.item:not(.last) ~ li, p:nth-child(2n+1)", `<ul><li class="item">one <b>bold</b></li><li class="item last">two</li></ul><p></p>`)
	f.Add("regexp", "(?<a>x+)(y|z)*", `<ul><li class="item">one <b>bold</b></li><li class="item last">two</li></ul><p></p>`)
	f.Add("header", "x-a", "")
	f.Fuzz(func(t *testing.T, from, expr, body string) {
		x, err := CompileExtractor(Extraction{From: from, Attr: "class"}, expr)
		if err != nil {
			return
		}
		if v, ok := x(responseWith(body)); ok && (len(v.Text) > MaxCaptured || v.JSON == "") {
			t.Fatalf("%s %q took %d bytes, JSON %q", from, expr, len(v.Text), v.JSON)
		}
	})
}

// responseWith makes a response with that body.
func responseWith(body string) *Response {
	return &Response{
		Status: 200, Head: []byte("X-A: 1\r\n"), Body: []byte(body), Size: int64(len(body)),
		Scope: &Scope{RNG: rand.New(rand.NewPCG(1, 1))},
	}
}

// Look-around and back-references are JavaScript's, and a pattern that would search for
// ever finds nothing.
func TestPatternsThatBacktrack(t *testing.T) {
	body := "session=abc; user=ann; " + strings.Repeat("a", 40)
	for _, c := range []struct{ pattern, flags, group, want string }{
		{`(?<=user=)[a-z]+(?!;)`, "", "", "an"},
		{`(?<=USER=)([a-z])(?<rest>[a-z]+)`, "i", "rest", "nn"},
		{`(?=s)(s)e\1`, "", "1", "s"},
		{`(?=x)nothing`, "", "", ""},
		{`(?=a)(a+)+$b`, "", "", ""},
	} {
		x, err := CompileExtractor(Extraction{From: "regexp", Flags: c.flags, Group: c.group}, c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		v, ok := x(&Response{Body: []byte(body), Size: int64(len(body))})
		if v.Text != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, want %q", c.pattern, v.Text, c.want)
		}
	}
}

// TestMain lets patterns that never end give up sooner, so that they take less of the
// machine's time: for an end that never comes a twentieth is as good.
func TestMain(m *testing.M) {
	maxMatchTime /= 20
	os.Exit(m.Run())
}

// TestPatternsThatRE2HasNot: look-around and back-references backtrack, with the bounds of
// their groups in bytes.
func TestPatternsThatRE2HasNot(t *testing.T) {
	for _, c := range []struct {
		src, text string
		want      [][]int
	}{
		{`a(b)?`, "ab a", [][]int{{0, 2, 1, 2}, {3, 4, -1, -1}}},
		{`(\d)(?=;)`, "1;22;", [][]int{{0, 1, 0, 1}, {3, 4, 3, 4}}},
		{`(é)(x)?(?!z)`, "aéxézé", [][]int{{1, 4, 1, 3, 3, 4}, {7, 9, 7, 9, -1, -1}}},
		{`(.)\1`, "abba", [][]int{{1, 3, 1, 2}}},
	} {
		p, err := CompileAnyPattern(c.src, "")
		fatal.If(t, err)
		if got := p.FindAll(c.text, 10); !reflect.DeepEqual(got, c.want) || !p.MatchString(c.text) {
			t.Errorf("%s in %s: %v, want %v", c.src, c.text, got, c.want)
		}
		if got := p.FindAll(c.text, 1); len(got) != 1 {
			t.Errorf("%s in %s: %v, want one", c.src, c.text, got)
		}
	}
	if p, err := CompileAnyPattern(`(a+)+(?=b)$`, ""); err != nil || p.MatchString("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!") {
		t.Error("a pattern that never ends has found something")
	}
	if _, err := CompileAnyPattern(`(a`, ""); err == nil {
		t.Error("no pattern has passed")
	}
}

func TestUUID(t *testing.T) {
	version4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for range 1000 {
		id := UUID(rng)
		if !version4.MatchString(id) || seen[id] {
			t.Fatalf("%q", id)
		}
		seen[id] = true
	}
}

const store = `{"store": {"book": [
	{"title": "A", "price": 8.95, "tags": ["x", "y"]},
	{"title": "B", "price": 12, "isbn": "0-1", "tags": []},
	{"title": "C \"q\"", "price": 22.99, "isbn": "0-2"}],
	"bike": {"colour": "red", "price": 20}}, "a.b": 1, "empty": null, "ok": true}`

func TestJSONPaths(t *testing.T) {
	doc, ok := ParseDocument(store)
	if !ok {
		t.Fatal("the document is not read")
	}
	for path, want := range map[string]string{
		"$.store.book[0].title":                              `"A"`,
		"store.bike.colour":                                  `"red"`,
		"$['store']['bike'][\"price\"]":                      `20`,
		"$.store.book[*].title":                              `"A" "B" "C \"q\""`,
		"$..price":                                           `8.95 12 22.99 20`,
		"$..book[2].isbn":                                    `"0-2"`,
		"$.store.book[-1].title":                             `"C \"q\""`,
		"$.store.book[-1:].price":                            `22.99`,
		"$.store.book[0:2].price":                            `8.95 12`,
		"$.store.book[::2].title":                            `"A" "C \"q\""`,
		"$.store.book[0,2].price":                            `8.95 22.99`,
		"$.store.book[(@.length-1)].price":                   `22.99`,
		"$.store.book.length":                                `3`,
		"$.store.book[?(@.price < 10)].title":                `"A"`,
		"$.store.book[?(@.isbn)].title":                      `"B" "C \"q\""`,
		"$.store.book[?(!@.isbn)].title":                     `"A"`,
		"$.store.book[?(@.title == 'B' || @.price>20)].isbn": `"0-1" "0-2"`,
		"$.store.book[?(@.title === \"C \\\"q\\\"\")].price": `22.99`,
		"$.store.book[?(@.tags[0] == 'x')].title":            `"A"`,
		"$.store.book[?(@.title ~= '^[AB]$')].title":         `"A" "B"`,
		"$['a.b']":                  `1`,
		"$.empty":                   `null`,
		"$.ok":                      `true`,
		"$.nothing.at.all":          ``,
		"$.store.book[9]":           ``,
		"$.ok.length":               ``,
		"$.store.*.colour":          `"red"`,
		"$.store.book[0].tags[0,1]": `"x" "y"`,
	} {
		p, err := CompilePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var got []string
		for _, d := range p.Find(doc) {
			got = append(got, d.raw)
		}
		fatal.Same(t, strings.Join(got, " "), want, "%s", path)
	}
	for _, bad := range []string{
		"", "$.", "$..", "$.a[", "$.a['b]", "$.a[]", "$.a[?(x > 1)]", "$.a[?(@.b ==)]", "$.a[1:2:3:4]", "$.a[::0]",
		"$.a[(@.length+1)]", "$.a^", "$.a b", "$x", "$[?@.a~='(']", strings.Repeat("$.a", maxPathBytes),
	} {
		if _, err := CompilePath(bad); err == nil {
			t.Errorf("%q was understood", bad)
		}
	}
}

func TestLookingIsBounded(t *testing.T) {
	doc, _ := ParseDocument(strings.Repeat("[", 2000) + strings.Repeat("0,", 2000) + "0" + strings.Repeat("]", 2000))
	p, err := CompilePath("$..*..*..*..*")
	fatal.If(t, err)
	if n := len(p.Find(doc)); n > MaxMatches {
		t.Errorf("%d matches", n)
	}
	if _, ok := ParseDocument("[" + strings.Repeat("0,", MaxDocuments) + "0]"); ok {
		t.Errorf("more than %d values were read", MaxDocuments)
	}
}

func TestDocumentsKeepTextAndOrder(t *testing.T) {
	doc, ok := ParseDocument(` {"b" : [1, {"c":"é\n"} ], "a":1.50, "b2":{}, "l":[]} `)
	if !ok {
		t.Fatal("not read")
	}
	if !slices.Equal(doc.names, []string{"b", "a", "b2", "l"}) || doc.get("a").raw != "1.50" {
		t.Errorf("%+v", doc)
	}
	if v := doc.Walk([]string{"b", "1", "c"}).Value(); v.Text != "é\n" || v.JSON != `"é\n"` {
		t.Errorf("%+v", v)
	}
	if v := doc.get("b").copied(); v.Text != `[1, {"c":"é\n"} ]` || v.Doc.at(1).get("c") == nil {
		t.Errorf("%+v", v)
	}
	for _, bad := range []string{"", "{", "nul", `{"a":}`, "[1,]", "'a'", "1 2"} {
		if _, ok := ParseDocument(bad); ok {
			t.Errorf("%q was read", bad)
		}
	}
}

// FuzzJSONPath checks that no path and no body make the reader crash, and that
// what is found is JSON of the body's own.
func FuzzJSONPath(f *testing.F) {
	f.Add("$.store.book[?(@.price < 10 && @.title != 'x')]..*", store)
	f.Add("a[-1:][(@.length-1)]['b',2,*]", `{"a":[[1]]}`)
	f.Add("$..[0]", `[[[]],{"":[]}]`)
	f.Fuzz(func(t *testing.T, path, body string) {
		p, err := CompilePath(path)
		doc, ok := ParseDocument(body)
		if err != nil || !ok {
			return
		}
		for _, d := range p.Find(doc) {
			if _, ok := ParseDocument(d.raw); !ok {
				t.Fatalf("%q found %q in %q", path, d.raw, body)
			}
		}
	})
}

// What json-path 2.8.0, the library of JMeter 5.6.3, gave for the same filters.
func TestFiltersAreThoseOfJMetersLibrary(t *testing.T) {
	doc, _ := ParseDocument(`{"l":[{"n":1,"a":0},{"n":2,"a":false},{"n":3,"a":null},{"n":4,"a":""},{"n":5},{"n":6,"a":"7"},{"n":7,"a":7},` +
		`{"n":8,"a":true},{"n":9,"a":[]},{"n":10,"a":"7.0"},{"n":11,"a":7.0},{"n":12,"a":"x"},{"n":13,"a":{"b":0}}]}`)
	for _, c := range [][2]string{
		{`[?(@.a)]`, "1,2,3,4,6,7,8,9,10,11,12,13"},
		{`[?(!@.a)]`, "5"},
		{`[?(@.a && @.n > 3)]`, "4,6,7,8,9,10,11,12,13"},
		{`[?(@.a || @.n == 5)]`, "1,2,3,4,5,6,7,8,9,10,11,12,13"},
		{`[?(@.a == 7)]`, "6,7,11"},
		{`[?(@.a == '7')]`, "6,7,11"},
		{`[?(@.a != 7)]`, "1,2,3,4,5,8,9,10,12,13"},
		{`[?(@.a > 5)]`, "7,11"},
		{`[?(@.a < 5)]`, "1"},
		{`[?(@.a >= '7')]`, "6,10,12"},
		{`[?(@.a < 'y')]`, "4,6,10,12"},
		{`[?(@.a == true)]`, "8"},
		{`[?(@.a == false)]`, "2"},
		{`[?(@.a == null)]`, "3"},
		{`[?(@.a != null)]`, "1,2,4,5,6,7,8,9,10,11,12,13"},
		{`[?(@.a == '')]`, "4"},
		{`[?(@.a == 'true')]`, ""},
		{`[?(@.a == 0)]`, "1"},
		{`[?(@.a == 1)]`, ""},
		{`[?(@.a.b)]`, "13"},
		{`[?(@.a == 7.0)]`, "7,10,11"},
		{`[?(@.a == '7.0')]`, "7,10,11"},
		{`[?(@.a != 'x')]`, "1,2,3,4,5,6,7,8,9,10,11,13"},
		{`[?(@.a <= 7)]`, "1,7,11"},
		{`[?(!(@.a == 7))]`, "1,2,3,4,5,8,9,10,12,13"},
		{`[?(@['a'])]`, "1,2,3,4,6,7,8,9,10,11,12,13"},
		{`[?((@.a) && (@.n < 3))]`, "1,2"},
		{`[?(@.n > 3 && @.n < 6)]`, "4,5"},
		{`[?(7 == @.a)]`, "6,7,10,11"},
		{`[?(@.a != true)]`, "1,2,3,4,5,6,7,9,10,11,12,13"},
		{`[?(@.a > 'a')]`, "12"},
		{`[?(@.a > null)]`, ""},
		{`[?(@.a >= null)]`, ""},
		{`[?(@.a >= true)]`, ""},
		{`[?(@.a == [])]`, "9"},
	} {
		path, err := CompileMemberPath("$.l" + c[0] + ".n")
		if strings.Contains(c[0], "== []") && err != nil {
			continue // it is refused
		}
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		var got []string
		for _, d := range path.Find(doc) {
			got = append(got, d.Value().Text)
		}
		fatal.Same(t, strings.Join(got, ","), c[1], "%s", c[0])
	}
}
