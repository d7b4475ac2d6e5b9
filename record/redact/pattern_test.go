package redact

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/jsonpath"
)

// expand puts tokens in the place of T(…), which may have brackets within.
func expand(r *Redactor, s string) string {
	for {
		before, rest, ok := strings.Cut(s, "T(")
		if !ok {
			return s
		}
		end := 0
		for depth := 1; depth > 0; end++ {
			switch rest[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		s = before + tokenFor(r, rest[:end-1]) + rest[end:]
	}
}

// patternRules are patterns that reach over what separates the parts of a target.
var patternRules = Rules{Patterns: []string{
	`/reset/([\w ]+)`, `ref=(\w+)`, `/file/([^/?]+)`, `/tag/\w+`, `[?&]lat=\w+`, `z{2,}`, `/two/(\w+)/(\w+)`, `case/(\w+)\?of=x`,
}}

// TestPatternsInTargets: a pattern is looked for in a whole target, as it stands
// and as its percent-encoding reads.
func TestPatternsInTargets(t *testing.T) {
	r := mustNew(t, patternRules)
	for in, want := range map[string]string{
		"/reset/x7Kq":                      "/reset/T(x7Kq)",
		"/reset/x7Kq/now?a=b#c":            "/reset/T(x7Kq)/now?a=b#c",
		"https://h.example/reset/x7Kq":     "https://h.example/reset/T(x7Kq)",
		"/reset/%78%37Kq":                  "/reset/T(x7Kq)",
		"/%72eset/x7Kq":                    "/%72eset/T(x7Kq)",
		"/reset%2fx7Kq":                    "/reset%2fT(x7Kq)",
		"/reset/%2578%2537Kq":              "/reset/T(%78%37Kq)",
		"/reset/x7%20Kq":                   "/reset/T(x7 Kq)",
		"/x?next=%2Freset%2Fx7Kq&a=b":      "/x?next=%2Freset%2FT(x7Kq)&a=b",
		"/x?next=/reset/x7%2BKq":           "/x?next=/reset/T(x7+Kq)",
		"/x?next=/reset/x7+Kq":             "/x?next=/reset/T(x7 Kq)",
		"/x?a=b&ref=x7Kq&c=d":              "/x?a=b&ref=T(x7Kq)&c=d",
		"/x?r%65f=x7%4Bq":                  "/x?r%65f=T(x7Kq)",
		"/x#ref=x7Kq":                      "/x#ref=T(x7Kq)",
		"/file/a%2Fb/c":                    "/file/T(a/b)/c",
		"/tag/x7Kq/c":                      "/T(tag/x7Kq)/c",
		"/x?lat=12&lat=13":                 "/x?T(lat=12)&T(lat=13)",
		"/a%7Azz/zzz?q=zzzz":               "/aT(zzz)/T(zzz)?q=T(zzzz)",
		"/two/a/b":                         "/two/T(a)/b",
		"/case/x7Kq?of=x":                  "/case/T(x7Kq)?of=x",
		"/x?password=a%20b&e=bob%40x.com":  "/x?password=T(a b)&e=T(bob@x.com)",
		"/a/b%2fc?d=%zy&e":                 "/a/b%2fc?d=%zy&e",
		"/reset/":                          "/reset/",
		"*":                                "*",
		"/reset/redacted-0123456789ab?a=b": "/reset/redacted-0123456789ab?a=b",
	} {
		want = expand(r, want)
		q := whittle.Request{Target: in, Header: whittle.Header{"Referer": {in}}}
		a := whittle.Response{Header: whittle.Header{"Location": {in}}}
		r.Request(&q)
		r.Response(&a)
		for where, got := range map[string]string{"target": q.Target, "Referer": q.Header.Get("Referer"), "Location": a.Header.Get("Location")} {
			fatal.Same(t, got, want, "%s as %s", in, where)
		}
		if r.Request(&q); q.Target != want {
			t.Errorf("%s redacted twice\n got %s\nwant %s", in, q.Target, want)
		}
	}
}

// TestPatternsElsewhere: over a form, a header's value, and what is let through
// by its name.
func TestPatternsElsewhere(t *testing.T) {
	rules := patternRules
	rules.Keep = []string{"X-Kept", "theme", "password"}
	r := mustNew(t, rules)
	form := whittle.Request{
		Header: whittle.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "X-Note": {"see ref=x7Kq/reset/abc."}, "X-Kept": {"a ref=x7Kq"}, "Cookie": {"theme=ref=x7Kq; sid=a"}},
		Body:   []byte("a=b&ref=x7%4Bq&path=%2Freset%2Fa+b&password=zzz"),
	}
	r.Request(&form)
	for what, c := range map[string][2]string{
		"form":   {string(form.Body), "a=b&ref=T(x7Kq)&path=%2Freset%2FT(a b)&password=T(zzz)"},
		"header": {form.Header.Get("X-Note"), "see ref=T(x7Kq)/reset/T(abc)."},
		"kept":   {form.Header.Get("X-Kept"), "a ref=T(x7Kq)"},
		"cookie": {form.Header.Get("Cookie"), "theme=ref=T(x7Kq); sid=T(a)"},
	} {
		fatal.Same(t, c[0], expand(r, c[1]), "%s", what)
	}
}

// TestPatternsHeedTokens: a pattern that would match a part of a token leaves it,
// so that what is redacted twice stays the same.
func TestPatternsHeedTokens(t *testing.T) {
	r := mustNew(t, Rules{Patterns: []string{`id (\w+)`, `[a-f]\d`, `x[\w-]{3,}`}})
	for _, in := range []string{"id bob7 and", "a1b2c3", "password=x id y", "id xbob", "xyz a1 xid 7"} {
		once := r.Text([]byte(in))
		if twice := r.Text(once); string(twice) != string(once) {
			t.Errorf("%q became %q and then %q", in, once, twice)
		}
	}
	T := func(s string) string { return tokenFor(r, s) }
	fatal.Same(t, string(r.Text([]byte("b7"))), T("b7"), "a short text")
	fatal.Same(t, string(r.Text([]byte("id "+T("u")+" x"+T("u")))), "id "+T("u")+" "+T("x"+T("u")), "")
}

// FuzzPatterns: however a target encodes it, what a pattern matches does not come
// through, and redacting again changes nothing.
func FuzzPatterns(f *testing.F) {
	for _, s := range []string{"/a/b?c=d", "/a%2fb;x=y?%zz&&=", "https://u:p@h/#a?b", "%", "%7", "+", "/reset/a", "ref="} {
		f.Add(s, s, uint(3))
	}
	r := mustNew(f, Rules{Patterns: []string{`/reset/(\w+)`, `ref=(\w+)`, `q{3}`}})
	f.Fuzz(func(t *testing.T, before, after string, encoded uint) {
		sum := r.mac([]byte(before + after))
		secret := "s" + url.QueryEscape(string("ghijklmn"[sum[0]%8])) + tokenFor(r, string(sum[:]))[len(tokenPrefix):]
		hidden := make([]byte, 0, 3*len(secret))
		for i := range len(secret) {
			if encoded>>(i%32)&1 == 0 {
				hidden = append(hidden, secret[i])
			} else {
				hidden = append(hidden, '%', "0123456789ABCDEF"[secret[i]>>4], "0123456789ABCDEF"[secret[i]&15])
			}
		}
		for _, planted := range []string{"/reset/", "/%72eset/", "/reset%2f", "?a=b&ref=", "?r%65f="} {
			in := before + planted + string(hidden) + "/" + after
			once, _ := func() ([]byte, bool) { w := r.begin(); defer r.end(w); return w.target([]byte(in)) }()
			plain := string(unpercent(nil, once, false))
			if strings.Contains(plain, secret) && !strings.Contains(before+after, secret) {
				t.Fatalf("%q came through in %q", secret, once)
			}
			if strings.ContainsAny(string(once), " \r\n") && !strings.ContainsAny(in, " \r\n") {
				t.Fatalf("%q is no target", once)
			}
			w := r.begin()
			first, _ := w.encoded(once, pathLen(once))
			r.end(w)
			if string(first) != string(once) {
				t.Fatalf("%q became %q and then %q", in, once, first)
			}
		}
	})
}

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
		if a := becomes(t, r, c.kind, c.in, c.want); c.want == "" && a.Detail != "the body was left out: "+leftPaths {
			t.Errorf("%s: %q", c.name, a.Detail)
		}
	}
	plain := mustNew(t, Rules{})
	a := whittle.Response{Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(broken)}
	if plain.Response(&a); string(a.Body) != broken {
		t.Errorf("without a path %q became %q", broken, a.Body)
	}
}

// TestValueOfAnElementInANamespace: its name is what follows the namespace.
func TestValueOfAnElementInANamespace(t *testing.T) {
	r := mustNew(t, Rules{Fields: []string{"pinblock"}})
	for _, name := range []string{"{urn:x}pin", "@{urn:x}pin", "{}pin", "{http://x.example/a/b}pinblock", "{" + strings.Repeat("x", maxName) + "}pin"} {
		got := string(r.Value([]jsonpath.Element{{Key: []byte(name)}}, []byte(`"4417"`)))
		fatal.Same(t, got, expand(r, `"T(4417)"`), "%s", name)
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
		fatal.Same(t, got, want, "%s", in)
		fatal.Same(t, string(r.Value(at, []byte(got))), got, "%s, redacted twice", in)
	}
	fatal.Same(t, string(r.Value(at, []byte(`[{"bob@x.com" 1`))), expand(r, `[{"T(bob@x.com)T(" 1)`), "a key without a value")
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
