package redact

import (
	"bytes"
	"slices"
	"testing"

	"whittle"
	"whittle/internal/jsonpath"
)

// TestPathsNeedJSON: a path holds behind what guards JSON from being run as a
// script, and a body in which it cannot be followed is left out.
func TestPathsNeedJSON(t *testing.T) {
	r := mustNew(t, Rules{Paths: []string{"$.user.address"}})
	const whole, clean = `{"user":{"address":"Main St 1"},"score":1}`, `{"user":{"address":"T(Main St 1)"},"score":1}`
	const broken = `{"user":{"address":"Main St 1"},"score":NaN}`
	for _, c := range []struct{ name, kind, in, want string }{
		{"JSON", "application/json", whole, clean},
		{"JSON as text", "text/plain", whole, clean},
		{"a guard", "application/json", ")]}',\n" + whole, ")]}',\n" + clean},
		{"Google's", "text/html", ")]}'\n\n" + whole, ")]}'\n\n" + clean},
		{"a loop", "text/javascript", "while(1);" + whole, "while(1);" + clean},
		{"Facebook's", "", "for (;;);" + whole, "for (;;);" + clean},
		{"throw", "application/json", "throw 1; <don't be evil>" + whole, "throw 1; <don't be evil>" + clean},
		{"Spring's", "application/json", "{} && " + whole, "{} && " + clean},
		{"no quote", "application/json", "\ufeff)]}\n" + whole, "\ufeff)]}\n" + clean},
		{"JSONP", "text/javascript", "/**/ cb.x( " + whole + " );\n", "/**/ cb.x( " + clean + " );\n"},
		{"a sequence", "application/json-seq", "\x1e" + whole + "\n\x1e" + whole + "\n", "\x1e" + clean + "\n\x1e" + clean + "\n"},
		{"lines", "application/jsonl", whole + "\n" + whole, clean + "\n" + clean},
		{"NaN", "application/json", broken, ""},
		{"NaN as text", "text/plain", " " + broken, ""},
		{"NaN of no type", "", broken, ""},
		{"NaN behind a guard", "text/plain", ")]}',\n" + broken, ""},
		{"NaN in JSONP", "text/javascript", "cb(" + broken + ")", ""},
		{"a bad line", "application/x-ndjson", whole + "\noops\n" + whole + "\n", ""},
		{"a comment", "application/json", "{// x\n" + whole[1:], ""},
		{"JSON5", "application/json5", "{user:{address:'Main St 1'}}", ""},
		{"no JSON", "application/json", "Main St 1", ""},
		{"a string cut off", "application/json", `"Main St 1`, ""},
		{"JSON said to be a form", "application/x-www-form-urlencoded", broken, ""},
		{"a part", "multipart/mixed; boundary=b", "--b\r\nContent-Type: application/json\r\n\r\n" + broken + "\r\n--b--\r\n", "--b\r\nContent-Type: application/json\r\n\r\n\r\n--b--\r\n"},
		{"blank", "application/json", " \n", " \n"},
		{"a guard alone", "application/json", "for(;;);", "for(;;);"},
		{"text", "text/plain", "to whom: Main St 1", "to whom: Main St 1"},
		{"quoted text", "text/csv", "\"a\",\"b\"\n1,2\n", "\"a\",\"b\"\n1,2\n"},
		{"a script", "text/javascript", "f(a[0], b);", "f(a[0], b);"},
	} {
		a := whittle.Response{Header: whittle.Header{"Content-Type": {c.kind}}, Body: []byte(c.in)}
		r.Response(&a)
		want := expand(r, c.want)
		if string(a.Body) != want || a.Truncated != (want == "") {
			t.Errorf("%s: %q\n got %q\nwant %q", c.name, c.in, a.Body, want)
		}
		if want == "" && a.Detail != "the body was left out: "+leftPaths {
			t.Errorf("%s: %q", c.name, a.Detail)
		}
		again := a
		if r.Response(&again); string(again.Body) != string(a.Body) {
			t.Errorf("%s, redacted twice:\n got %q\nwant %q", c.name, again.Body, a.Body)
		}
	}
	plain := mustNew(t, Rules{})
	a := whittle.Response{Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(broken)}
	if plain.Response(&a); string(a.Body) != broken {
		t.Errorf("without a path %q became %q", broken, a.Body)
	}
}

// TestPathsInPieces: of a piece of JSON what can be read is shown, and the rest
// is a token.
func TestPathsInPieces(t *testing.T) {
	r := mustNew(t, Rules{Paths: []string{"$..lat"}})
	at := []jsonpath.Element{{Key: []byte("items")}}
	for in, want := range map[string]string{
		`[{"lat":"a","n":1},{"lat":"secr`:  `[{"lat":"T(a)","n":1},{"lat":T("secr)`,
		`[{"n":1,"lat":12.`:                `[{"n":1,"lat":T(12.)`,
		`[{"n":1,"lat":NaN,"b":{"lat":"a"`: `[{"n":1,"lat":T(NaN,"b":{"lat":"a")`,
		`[{"e":"bob@x.com","n"`:            `[{"e":"T(bob@x.com)",T("n")`,
		`"lat is 1`:                        `"lat is 1`,
	} {
		want = expand(r, want)
		got := string(r.Value(at, []byte(in)))
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
		if again := string(r.Value(at, []byte(got))); again != got {
			t.Errorf("%s, redacted twice:\n got %s\nwant %s", in, again, got)
		}
	}
	if got, want := string(r.Value(at, []byte(`[{"bob@x.com" 1`))), expand(r, `[{"T(bob@x.com)T(" 1)`); got != want {
		t.Errorf("a key without a value\n got %s\nwant %s", got, want)
	}
}

// FuzzPaths: whatever stands around a member on a path, and wherever it is cut,
// its value does not come through.
func FuzzPaths(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), []byte(s), uint(0))
	}
	for _, s := range []string{`{"a":1`, ")]}',\n{\"a\":1", `cb({"a":[1]`, `[{"a":NaN`, "{} && {\"a\":1", "\x1e{\"a\":{}", `{"a":1.`} {
		f.Add([]byte(s), []byte(`,"b":2}`), uint(5))
		f.Add([]byte(s), []byte(`})`), uint(0))
	}
	r := mustNew(f, Rules{Paths: []string{"$..x"}})
	f.Fuzz(func(t *testing.T, before, after []byte, cut uint) {
		secret := "s" + tokenFor(r, "x"+string(before)+string(after))[len(tokenPrefix):]
		if bytes.Contains(before, []byte(secret)) || bytes.Contains(after, []byte(secret)) {
			return // the surroundings have the secret already
		}
		body := slices.Concat(before, []byte(`,"x":"`+secret+`"`), after)
		body = body[:len(body)-int(cut%uint(len(after)+1))]
		a := whittle.Response{Header: whittle.Header{"Content-Type": {"application/json"}}, Body: bytes.Clone(body)}
		if r.Response(&a); bytes.Contains(a.Body, []byte(secret)) {
			t.Fatalf("%q became %q", body, a.Body)
		}
		piece := append([]byte(`{"a":1`), body[len(before):]...)
		if out := r.Value(nil, piece); bytes.Contains(out, []byte(secret)) {
			t.Fatalf("the piece %q became %q", piece, out)
		}
	})
}
