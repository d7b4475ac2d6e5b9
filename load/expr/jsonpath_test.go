package expr

import (
	"slices"
	"strings"
	"testing"
)

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
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", path, s, want)
		}
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
	if err != nil {
		t.Fatal(err)
	}
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
