package expr

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// TestUsersShareAnExpression lets many users take from responses of their own by
// one compiled expression of each kind.
func TestUsersShareAnExpression(t *testing.T) {
	t.Parallel()
	for from, expr := range map[string]string{
		"json": "$.page[?(@.last)].id", "selector": "line[last] i", "regexp": "[1-9][0-9]*",
	} {
		x, err := CompileExtractor(Extraction{From: from}, expr)
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
		x, err := CompileExtractor(Extraction{From: from}, expr)
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
