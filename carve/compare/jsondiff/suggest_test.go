package jsondiff

import (
	"slices"
	"strings"
	"testing"

	"whittle"
)

// TestPatterns: what changes in a page is named by what stands before it, so that two of
// the monolith's own responses are the same, and another one is not. What cannot be named,
// or must not be shown, is not.
func TestPatterns(t *testing.T) {
	t.Parallel()
	csrf := `<form><input type="hidden" name="csrfmiddlewaretoken" value="`
	for _, c := range []struct {
		a, b  string
		want  []string
		whole bool
	}{
		{csrf + `aB3x"><p>`, csrf + `Zq9"><p>`, []string{`name="csrfmiddlewaretoken"\s+value="([^"]*)`}, true},
		{"<p>Rendered in 12 ms</p>", "<p>Rendered in 7 ms</p>", []string{`<p>Rendered\s+in\s+(\d+)`}, true},
		{`<script nonce="a1+/=">x</script><style nonce="a1+/=">`, `<script nonce="b2">x</script><style nonce="b2">`, []string{`<script\s+nonce="([^"]*)`, `<style\s+nonce="([^"]*)`}, true},
		{`csrf: 'x1', t: 'at 1'`, `csrf: 'y1', t: 'at 2'`, []string{`csrf:\s+'([^']*)`, `,\s+t:\s+'at\s+(\d+)`}, true},
		{"id 12 took 13 ms", "id 12 took 14 ms", []string{`id\s+\d+\s+took\s+(\d+)`}, true},
		{"at: Wed 16:40:01 up", "at: Wed 16:40:02 up", []string{`at:\s+Wed\s+([\w+/=.:%~-]+)`}, true},
		{"12", "13", nil, false},                        // nothing to know it by
		{"<b>x</b>", "<b>x</b><i>y</i>", nil, false},    // an element more
		{"one two three", "one  two three", nil, false}, // no word
		{"\xff name 1", "\xff name 2", nil, false},      // no text
		{"secret key 1", "secret key 2", nil, false},    // not to be shown
		{"n 1 name ä", "n 1 name ö", nil, false},        // no letters that a pattern takes
		{"a name 1\nx 3", "a name 2\n  3", []string{`a\s+name\s+(\d+)`}, false},
	} {
		may := func(pattern string) bool { return !strings.Contains(pattern, "secret") }
		got, whole := Patterns(&Exact{}, []byte(c.a), []byte(c.b), may)
		if !slices.Equal(got, c.want) || whole != c.whole {
			t.Errorf("%q and %q: %q, %v; want %q, %v", c.a, c.b, got, whole, c.want, c.whole)
		}
		d, err := Masked(&Exact{}, &whittle.Comparison{Kind: whittle.Exact, IgnoreText: got})
		if err != nil {
			t.Fatal(err)
		}
		if same := len(d.Diff([]byte(c.a), []byte(c.b))) == 0; same != c.whole {
			t.Errorf("%q: the config takes %q and %q for the same: %v", got, c.a, c.b, same)
		}
		if again, _ := Patterns(d, []byte(c.a), []byte(c.b), may); len(again) > 0 {
			t.Errorf("%q: proposed again: %q", got, again)
		}
		if whole && len(d.Diff([]byte(c.a+" and more"), []byte(c.b))) == 0 {
			t.Errorf("%q hides what comes behind", got)
		}
	}
}
