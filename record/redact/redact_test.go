package redact

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

var testKey = []byte("a key for tests only")

func mustNew(t testing.TB, rules Rules) *Redactor {
	t.Helper()
	r, err := New(rules, testKey)
	fatal.If(t, err)
	return r
}

// tokenFor is what a secret becomes.
func tokenFor(r *Redactor, secret string) string {
	return string(r.appendToken(nil, []byte(secret)))
}

const (
	cardNumber = "4111111111111111"
	address    = "bob@example.com"
	jwt        = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
)

// TestBody has a body of each kind with what is left of it; T(x) stands for
// the token of x.
func TestBody(t *testing.T) {
	r := mustNew(t, Rules{})
	for _, c := range []struct{ name, kind, in, want string }{
		{"nothing", "application/json", `{"a": 1, "b": ["x", null, true]}`, `{"a": 1, "b": ["x", null, true]}`},
		{"by name", "application/json", `{"user":"bob","password":"hunter2"}`, `{"user":"bob","password":"T(hunter2)"}`},
		{"camel case", "application/json", `{"accessToken":"abc","Api-Key":"def"}`, `{"accessToken":"T(abc)","Api-Key":"T(def)"}`},
		{"escaped name", "application/json", `{"\u0070assword":"hunter2"}`, `{"\u0070assword":"T(hunter2)"}`},
		{"escaped value", "application/json", `{"password":"h\u0075nter2","url":"http:\/\/x\/?token=abc"}`, `{"password":"T(hunter2)","url":"http://x/?token=T(abc)"}`},
		{"what tells nothing", "application/json", `{"password":null,"token":"","secret":true}`, `{"password":null,"token":"","secret":true}`},
		{"below a name", "application/json", `{"credentials":{"user":"bob","list":["x"]}}`, `{"credentials":{"user":"T(bob)","list":["T(x)"]}}`},
		{"name and value", "application/json", `[{"name":"password","value":"hunter2"},{"name":"x","value":"y"}]`, `[{"name":"password","value":"T(hunter2)"},{"name":"x","value":"y"}]`},
		{"value and name", "application/json", `[{"value":"hunter2","name":"password"}]`, `[{"value":"T(hunter2)","name":"password"}]`},
		{"address in a key", "application/json", `{"bob@example.com":1}`, `{"T(bob@example.com)":1}`},
		{"address in a text", "application/json", `{"say":"to bob@example.com, now"}`, `{"say":"to T(bob@example.com), now"}`},
		{"card in a text", "application/json", `{"say":"4111 1111 1111 1111 ok"}`, `{"say":"T(4111 1111 1111 1111) ok"}`},
		{"JSON in JSON", "application/json", `{"raw":"{\"password\":\"hunter2\"}"}`, `{"raw":"{\"password\":\"T(hunter2)\"}"}`},
		{"several values", "application/x-ndjson", "{\"pin\":\"1\"}\n{\"pin\":\"2\"}\n", "{\"pin\":\"T(1)\"}\n{\"pin\":\"T(2)\"}\n"},
		{"not quite JSON", "application/json", `)]}',{"password":"hunter2","user":"bob"}`, `)]}',{"password":"T(hunter2)","user":"bob"}`},
		{"JSON by looks", "", `{"password":"hunter2"}`, `{"password":"T(hunter2)"}`},
		{"JSONP", "text/javascript", `cb({"card":{"number":"12"},"x":"y"})`, `cb({"card":{"number":"T(12)"},"x":"y"})`},
		{"form", "application/x-www-form-urlencoded", "a=b&pass%77ord=hun%74er2&e=bob%40example.com&user%5Bpin%5D=12", "a=b&pass%77ord=T(hunter2)&e=T(bob@example.com)&user%5Bpin%5D=T(12)"},
		{"JSON said to be a form", "application/x-www-form-urlencoded", `{"password":"hun&ter2=x","a":"b"}`, `{"password":"T(hun&ter2=x)","a":"b"}`},
		{"authorization code", "application/x-www-form-urlencoded", "grant_type=authorization_code&code=abc", "grant_type=authorization_code&code=T(abc)"},
		{"any other code", "application/x-www-form-urlencoded", "code=abc&a=b", "code=abc&a=b"},
		{"form by looks", "", "a=b&password=hunter2", "a=b&password=T(hunter2)"},
		{"XML", "text/xml", `<u><wsse:Password Type="t">hunter2</wsse:Password><n>bob</n></u>`, `<u><wsse:Password Type="t">T(hunter2)</wsse:Password><n>bob</n></u>`},
		{"HTML", "text/html", `<input name="csrf_token" value="abc"><input value="def" type='password'><b>hi</b>`, `<input name="csrf_token" value="T(abc)"><input value="T(def)" type='password'><b>hi</b>`},
		{"a tag in a tag", "text/html", `<input name=csrf <b value=hunter2> <u value=x>`, `<input name=csrf <b value=T(hunter2)> <u value=x>`},
		{"a torn element", "text/html", `<password <b>hunter2</password><i>x</i>`, `<password T(<b>hunter2)</password><i>x</i>`},
		{"a long tag", "text/html", `<input name="csrf" class="` + strings.Repeat("x ", 9000) + `" value="hunter2">`, `<input name="csrf" class="` + strings.Repeat("x ", 9000) + `" value="T(hunter2)">`},
		{"an encoded form in a text", "text/plain", `see a%3D1%26pin%3D1234%26b%3D2`, `see a%3D1%26pin%3DT(1234)%26b%3D2`},
		{"entity", "text/html", `<a>bob&#64;example.com</a>`, `<a>T(bob&#64;example.com)</a>`},
		{"log line", "text/plain", `login user=bob password=hunter2 from 10.0.0.1`, `login user=bob password=T(hunter2) from 10.0.0.1`},
		{"header in text", "text/plain", "Cookie: a=b; c=d\r\nHost: x", "Cookie: T(a=b; c=d)\r\nHost: x"},
		{"login in a URL", "text/plain", "see https://bob:hunter2@example.com/x", "see https://T(bob:hunter2)@example.com/x"},
		{"bearer", "text/plain", "sent Bearer abc123def and went", "sent Bearer T(abc123def) and went"},
		{"prose", "text/plain", "the bearer of this; basic needs", "the bearer of this; basic needs"},
		{"a key like a card", "", "key 1/100200300400509:0f9e8d7c6b5a49382716050403020100 x", "key 1/T(100200300400509:0f9e8d7c6b5a49382716050403020100) x"},
		{"JWT", "text/plain", "got " + jwt + ".", "got T(" + jwt + ")."},
		{"escaped JSON in text", "text/plain", `x {\"password\":\"hunter2\",\"a\":1}`, `x {\"password\":\"T(hunter2)\",\"a\":1}`},
		{"times and fractions", "text/plain", "1700000000004 0.4111111111111111 2026-11-21T10:11:12Z", "1700000000004 0.4111111111111111 2026-11-21T10:11:12Z"},
		{"a picture", "text/html", `<img src="logo@2x.png">`, `<img src="logo@2x.png">`},
		{"count", "text/html", "Counted to 500047951 \n", "Counted to 500047951 \n"},
		{"a vendor's JSON with a byte order mark", "application/vnd.x+json", "\ufeff{\"a\":[\"bob@example.com\"]}", "\ufeff{\"a\":[\"T(bob@example.com)\"]}"},
		{"a table", "text/csv", "id,who\n1,bob@example.com\n2,\"bob@example.com\"\n", "id,who\n1,T(bob@example.com)\n2,\"T(bob@example.com)\"\n"},
		{"events", "text/x-stream", "data: {\"x\":\"bob@example.com\"}\n\n", "data: {\"x\":\"T(bob@example.com)\"}\n\n"},
		{"text as bytes", "application/octet-stream", "plain bob@example.com", "plain T(bob@example.com)"},
		{"another charset", "text/plain; charset=windows-1252", "caf\xe9 bob@example.com", "caf\xe9 T(bob@example.com)"},
		// What nothing can be redacted in is left out.
		{"a wide charset", "text/plain; charset=utf-16", "\xff\xfeb\x00o\x00b\x00", ""},
		{"bytes", "image/png", "\x89PNG\x00bob@example.com\x00", ""},
		{"gRPC", "application/grpc", "\x00\x00\x00\x00\x05bob@example.com", ""},
		{"no part at all", "multipart/form-data; boundary=bad", "bob@example.com", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			becomes(t, r, c.kind, c.in, c.want)
		})
	}
}

// becomes sees what a body becomes, "" where it is left out, and that redacting it again changes
// nothing.
func becomes(t *testing.T, r *Redactor, kind, in, want string) whittle.Response {
	t.Helper()
	want = expand(r, want)
	a := whittle.Response{Header: whittle.Header{"Content-Type": {kind}}, Body: []byte(in)}
	r.Response(&a)
	if string(a.Body) != want || a.Truncated != (want == "") {
		t.Errorf("%q as %q\n got %q\nwant %q", in, kind, a.Body, want)
	}
	again := a
	if r.Response(&again); string(again.Body) != string(a.Body) {
		t.Errorf("%q redacted twice:\n got %q\nwant %q", in, again.Body, a.Body)
	}
	return a
}

// TestHostileTexts: what begins like a credential from each of its bytes on is
// read once, not once from each. Read so, this would take hours.
func TestHostileTexts(t *testing.T) {
	r := mustNew(t, Rules{})
	for _, piece := range []string{"eyJ", "-basic+", "-basic+A"} {
		b := bytes.Repeat([]byte(piece), 4<<20)
		r.Text(b)
	}
	got := string(r.Text([]byte("eyJeyJ " + jwt + " Basic " + base64.StdEncoding.EncodeToString([]byte("bob:"+strings.Repeat("x", 2000))))))
	if strings.Contains(got, jwt) || strings.Count(got, tokenPrefix) != 2 {
		t.Errorf("%.200s", got)
	}
}

// TestNumbers: a secret number becomes a number that is the same for the same
// secret, and is known again.
func TestNumbers(t *testing.T) {
	r := mustNew(t, Rules{})
	a := whittle.Response{Body: []byte(`{"pin":1234,"again":{"pin":1234},"card":-1.5e3,"n":` + cardNumber + `,"id":1700000000004}`)}
	r.Response(&a)
	var got struct {
		Pin   int64
		Again struct{ Pin int64 }
		Card  int64
		N     int64
		ID    int64
	}
	if err := json.Unmarshal(a.Body, &got); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	if got.Pin == 1234 || got.Pin != got.Again.Pin || got.Pin == got.Card || got.N == 4111111111111111 || got.ID != 1700000000004 {
		t.Errorf("%s", a.Body)
	}
	for _, n := range []int64{got.Pin, got.Card, got.N} {
		if n < 8e15 || n >= 1<<53 {
			t.Errorf("%d is not a whole number that a float holds", n)
		}
	}
	before := string(a.Body)
	r.Response(&a)
	fatal.Same(t, string(a.Body), before, "redacted twice")
}

func TestRequest(t *testing.T) {
	r := mustNew(t, Rules{})
	basic := base64.StdEncoding.EncodeToString([]byte("bob:hunter2"))
	header := whittle.Header{
		"Authorization":          {"Basic " + basic},
		"Cookie":                 {"sid=abc; theme=dark", "lone"},
		"X-Api-Key":              {"abc"},
		"Referer":                {"https://example.com/a/bob@example.com?token=abc&x=1#access_token=def"},
		"Sec-Websocket-Protocol": {"graphql-ws, abc"},
		"Content-Length":         {"25"},
		"Content-Md5":            {"x"},
		"Accept":                 {"text/html"},
		"X-Session":              {"abc"},
		"X-Functions-Key":        {"abc"},
		"X-Kind":                 {"abc"},
		"Location":               {"/callback?code=abc&state=xyz"},
	}
	q := whittle.Request{
		Method: "POST", Target: "/u/bob%40example.com;jsessionid=abc/x?q=1&password=hun%20ter&card=" + cardNumber + "&n=a+b",
		Header: header, Body: []byte(`{"a":1,"password":"hunt"}`),
	}
	r.Request(&q)
	T := func(s string) string { return tokenFor(r, s) }
	want := "/u/" + T(address) + ";jsessionid=" + T("abc") + "/x?q=1&password=" + T("hun ter") + "&card=" + T(cardNumber) + "&n=a+b"
	fatal.Same(t, q.Target, want, "target")
	for name, want := range map[string]string{
		"Authorization":          "Basic " + T(basic),
		"Cookie":                 "sid=" + T("abc") + "; theme=" + T("dark"),
		"X-Api-Key":              T("abc"),
		"Referer":                "https://example.com/a/" + T(address) + "?token=" + T("abc") + "&x=1#access_token=" + T("def"),
		"Sec-Websocket-Protocol": T("graphql-ws, abc"),
		"Accept":                 "text/html",
		"X-Session":              T("abc"),
		"X-Functions-Key":        T("abc"),
		"X-Kind":                 "abc",
		"Location":               "/callback?code=" + T("abc") + "&state=xyz",
		"Content-Length":         "42",
	} {
		fatal.Same(t, q.Header.Get(name), want, "%s", name)
	}
	if _, kept := q.Header["Content-Md5"]; kept || len(q.Body) != 42 {
		t.Errorf("%d bytes: %s %v", len(q.Body), q.Body, q.Header)
	}
	if header["X-Api-Key"][0] != "abc" || header.Get("Content-Length") != "25" {
		t.Error("the caller's header was changed")
	}
}

// A challenge keeps its scheme: what is behind it may be a token, as of Negotiate.
func TestChallenges(t *testing.T) {
	r := mustNew(t, Rules{})
	for in, secret := range map[string]string{`Basic realm="Shop, of Bob"`: `realm="Shop, of Bob"`, `Negotiate YII/abc+d==`: "YII/abc+d==", "NTLM TlRMTVNTUAA=": "TlRMTVNTUAA="} {
		for _, name := range []string{"Www-Authenticate", "Proxy-Authenticate", "Authentication-Info", "Proxy-Authentication-Info"} {
			a := whittle.Response{Header: whittle.Header{name: {in}}}
			r.Response(&a)
			fatal.Same(t, a.Header.Get(name), strings.Replace(in, secret, tokenFor(r, secret), 1), "%s: %s", name, in)
		}
	}
}

func TestRules(t *testing.T) {
	r := mustNew(t, Rules{
		Headers: []string{"x-tenant"}, Fields: []string{"phone_number"}, Paths: []string{"$.items[*].lat", "$..at"},
		Patterns: []string{`order-(\d+)`, `[A-Z]{2}\d{4}`}, Keep: []string{"Next-Page-Token", ShapeEmail},
	})
	a := whittle.Response{
		Header: whittle.Header{"X-Tenant": {"acme"}, "Content-Type": {"application/json"}},
		Body:   []byte(`{"phoneNumber":"1","items":[{"lat":1,"lon":"2","at":"x"}],"nextPageToken":"p","mail":"bob@example.com","see":"order-77 AB1234"}`),
	}
	r.Response(&a)
	T := func(s string) string { return tokenFor(r, s) }
	n := string(r.appendNumber(nil, []byte("1")))
	want := `{"phoneNumber":"` + T("1") + `","items":[{"lat":` + n + `,"lon":"2","at":"` + T("x") + `"}],"nextPageToken":"p","mail":"bob@example.com","see":"order-` + T("77") + " " + T("AB1234") + `"}`
	if string(a.Body) != want || a.Header.Get("X-Tenant") != T("acme") {
		t.Errorf("\n got %s\nwant %s\n%v", a.Body, want, a.Header)
	}
	for field, bad := range map[string]Rules{
		"paths[0]": {Paths: []string{"items"}}, "patterns[1]": {Patterns: []string{"a", "(?=x)"}}, "patterns[0]": {Patterns: []string{"a*"}},
		"keep[0]": {Keep: []string{"shape-emails"}}, "fields[0]": {Fields: []string{"--"}},
	} {
		_, err := New(bad, testKey)
		if e, ok := errors.AsType[*whittle.Error](err); !ok || e.Code != whittle.Invalid || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := New(Rules{}, []byte("short")); err == nil {
		t.Error("a short key was taken")
	}
}

// TestKey: another key gives other tokens.
func TestKey(t *testing.T) {
	a, b := mustNew(t, Rules{}), mustNew(t, Rules{})
	c, err := New(Rules{}, NewKey())
	fatal.If(t, err)
	if tokenFor(a, "x") != tokenFor(b, "x") || tokenFor(a, "x") == tokenFor(a, "y") || tokenFor(a, "x") == tokenFor(c, "x") {
		t.Error("tokens do not follow the key and the secret")
	}
}

// A digest of a body lets a short secret in it be guessed, so none is left of a body that
// was changed: by whatever name it goes, in the header or behind the body. Those of an
// unchanged body stay.
func TestNoDigestOfARedactedBodyIsLeft(t *testing.T) {
	r := mustNew(t, Rules{})
	names := []string{
		"Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "X-Amz-Content-Sha256", "X-Ms-Content-Sha256",
		"X-Amz-Checksum-Crc32", "X-Amz-Checksum-Sha256", "X-Goog-Hash",
	}
	digests := func() whittle.Header {
		h := whittle.Header{"X-Kind": {"abc"}}
		for _, name := range names {
			h[name] = []string{"47DEQpj8HBSa"}
		}
		return h
	}
	for body, kept := range map[string]bool{`{"pin":"1234"}`: false, `{"size":"1234"}`: true} {
		q := whittle.Request{Method: "POST", Target: "/", Header: digests(), Body: []byte(body)}
		r.Request(&q)
		a := whittle.Response{Status: 200, Header: digests(), Trailer: digests(), Body: []byte(body)}
		r.Response(&a)
		for where, h := range map[string]whittle.Header{"request": q.Header, "response": a.Header, "trailer": a.Trailer} {
			for _, name := range names {
				fatal.Same(t, h[name] != nil, kept, "%s in the %s of %s", name, where, body)
			}
			fatal.Same(t, h.Get("X-Kind"), "abc", "the %s of %s lost more than its digests: %v", where, body, h)
		}
	}
}

func zipped(t *testing.T, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(body))
	fatal.If(t, z.Close())
	return b.Bytes()
}

// TestCodings: a body is redacted without its coding, and left out where that cannot be undone.
func TestCodings(t *testing.T) {
	r := mustNew(t, Rules{})
	const body = `{"password":"hunter2"}`
	for coding, c := range map[string]struct {
		body []byte
		want string
	}{
		"gzip":    {zipped(t, body), `{"password":"T(hunter2)"}`},
		"br":      {[]byte(body), ""},
		"gzip, x": {zipped(t, body), ""},
	} {
		h := func() whittle.Header {
			return whittle.Header{"Content-Type": {"application/json"}, "Content-Encoding": {coding}}
		}
		q, a := whittle.Request{Header: h(), Body: c.body}, whittle.Response{Header: h(), Body: c.body}
		r.Request(&q)
		r.Response(&a)
		want := expand(r, c.want)
		if string(q.Body) != want || string(a.Body) != want || q.Truncated != (want == "") || a.Truncated != (want == "") ||
			want != "" && a.Header["Content-Encoding"] != nil {
			t.Errorf("%s: %q and %q, %v", coding, q.Body, a.Body, a.Header)
		}
	}
}

// An entity tag that is a digest of a body lets a short secret in it be guessed as any other digest
// does, so none is left of a body that was changed or left out. Those of an unchanged body stay.
func TestNoTagIsLeftOfARedactedBody(t *testing.T) {
	r := mustNew(t, Rules{})
	for body, kept := range map[string]bool{`{"pin":"1234"}`: false, `{"size":"1234"}`: true, "\x00\x01\x02": false} {
		for coding, b := range map[string][]byte{"": []byte(body), "gzip": zipped(t, body)} {
			a := whittle.Response{Status: 200, Header: whittle.Header{"Etag": {`"33a64df5"`}}, Trailer: whittle.Header{"Etag": {`W/"v1"`}}, Body: b}
			if coding != "" {
				a.Header["Content-Encoding"] = []string{coding}
			}
			if r.Response(&a); (a.Header["Etag"] != nil) != kept || (a.Trailer["Etag"] != nil) != kept {
				t.Errorf("%q (%s): %v, %v", body, coding, a.Header["Etag"], a.Trailer["Etag"])
			}
		}
	}
}
