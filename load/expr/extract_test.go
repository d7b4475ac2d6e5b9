package expr

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"whittle/internal/fatal"
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
