package redact

import (
	"net/url"
	"strings"
	"testing"

	"whittle"
)

// expand puts tokens in the place of T(…).
func expand(r *Redactor, s string) string {
	for {
		before, rest, ok := strings.Cut(s, "T(")
		if !ok {
			return s
		}
		secret, after, _ := strings.Cut(rest, ")")
		s = before + tokenFor(r, secret) + after
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
			if got != want {
				t.Errorf("%s as %s\n got %s\nwant %s", in, where, got, want)
			}
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
		if want := expand(r, c[1]); c[0] != want {
			t.Errorf("%s\n got %s\nwant %s", what, c[0], want)
		}
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
	if got, want := string(r.Text([]byte("b7"))), T("b7"); got != want {
		t.Errorf("a short text: got %s, want %s", got, want)
	}
	if got, want := string(r.Text([]byte("id "+T("u")+" x"+T("u")))), "id "+T("u")+" "+T("x"+T("u")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
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
