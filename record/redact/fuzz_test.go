package redact

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"whittle"
)

var seeds = []string{
	`{"a":[1,2.5e3,"x\u0041\ud83d\ude00"],"password":"hunter2","n":4111111111111111}`,
	`[{"name":"password","value":"x"},{"value":1,"key":"pin"}]`, `"bob@example.com"`, `{"x":"{\"token\":\"t\"}"}`, "{\"a\":1}\n{\"b\":2}",
	`<input name="csrf" value="x"><password>y</password>`, `a=b&password=c%20d`, `Authorization: Basic Ym9iOng=`, `https://u:p@h/x?token=1#y`,
	"4111 1111 1111 1111", "{\"password\": 'x'", `x&quot;pin&quot;:&quot;1&quot;`, "password=\"a\\\"b", "card={1", "token: [", "%3D", "<a b='",
}

// FuzzJSON: what was JSON is JSON after, with the same structure, and redacting
// it again changes nothing.
func FuzzJSON(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	r := mustNew(f, Rules{Paths: []string{"$..x", "$[0]"}, Patterns: []string{"z+"}})
	f.Fuzz(func(t *testing.T, in []byte) {
		if !json.Valid(in) || !utf8.Valid(in) {
			return // no JSON to begin with
		}
		a := whittle.Response{Header: whittle.Header{"Content-Type": {"application/json"}}, Body: bytes.Clone(in)}
		r.Response(&a)
		if a.Truncated {
			return // nested too deep
		}
		if !json.Valid(a.Body) {
			t.Fatalf("%q became %q", in, a.Body)
		}
		if kinds(in) != kinds(a.Body) {
			t.Fatalf("%q became %q, of another structure", in, a.Body)
		}
		again := a
		r.Response(&again)
		if !bytes.Equal(again.Body, a.Body) {
			t.Fatalf("%q became %q and then %q", in, a.Body, again.Body)
		}
	})
}

// kinds has a letter for each token of a valid text.
func kinds(b []byte) string {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out []byte
	for {
		tok, err := d.Token()
		if err != nil {
			return string(out)
		}
		switch v := tok.(type) {
		case json.Delim:
			out = append(out, byte(v))
		case string:
			out = append(out, 's')
		case json.Number:
			out = append(out, 'n')
		case bool:
			out = append(out, 'b')
		default:
			out = append(out, '0')
		}
	}
}

// FuzzPlanted: whatever stands around a secret, it does not come through.
func FuzzPlanted(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), []byte(s), "application/json", "")
		f.Add([]byte(s), []byte(s), "text/html", "")
		f.Add([]byte(s), []byte(s), "", "gzip")
	}
	f.Add([]byte("a=b&"), []byte("&c=d"), "application/x-www-form-urlencoded", "")
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n"), []byte("\r\n--b--\r\n"), "multipart/form-data; boundary=b", "")
	r := mustNew(f, Rules{})
	f.Fuzz(func(t *testing.T, before, after []byte, kind, coding string) {
		sum := r.mac(append(bytes.Clone(before), after...))
		secret := "s" + hex.EncodeToString(sum[:9])
		if bytes.Contains(before, []byte(secret)) || bytes.Contains(after, []byte(secret)) {
			return // the surroundings have the secret already
		}
		for _, planted := range []string{
			` password=` + secret + ` `, ` "password": "` + secret + `" `, `<password>` + secret + `</password>`,
			` Authorization: Bearer ` + secret + "\n", ` bob.` + secret + `@example.com `,
			"\npassphrase: correct " + secret + " staple\n", "\nprivate_key: |\n  --\n\n  " + secret + "\n", "\r\n  tokens:\r\n  - a b\r\n  - " + secret + "\r\n",
			"\n- name: db_password\n  value: a " + secret + "\n", "\nPIN: it's " + secret,
		} {
			body := append(append(bytes.Clone(before), planted...), after...)
			a := whittle.Response{Header: whittle.Header{"Content-Type": {kind}, "Content-Encoding": {coding}}, Body: body}
			r.Response(&a)
			if bytes.Contains(a.Body, []byte(secret)) {
				t.Fatalf("as %q: %q became %q", kind, body, a.Body)
			}
			if out := r.Text(body); bytes.Contains(out, []byte(secret)) {
				t.Fatalf("as text: %q became %q", body, out)
			}
		}
	})
}

// FuzzTarget: a target stays one word, and a planted secret does not come
// through.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"/a/b?c=d", "/a%2fb;x=y?%zz&&=", "https://u:p@h/#a?b", "*", "/%40@?@#@"} {
		f.Add(s, s)
	}
	r := mustNew(f, Rules{})
	f.Fuzz(func(t *testing.T, path, query string) {
		sum := r.mac([]byte(path + query))
		secret := "s" + hex.EncodeToString(sum[:9])
		q := whittle.Request{Target: path + "?" + query + "&password=" + secret + "&x=" + query}
		r.Request(&q)
		if bytes.Contains([]byte(q.Target), []byte(secret)) {
			t.Fatalf("%q came through in %q", secret, q.Target)
		}
		if bytes.ContainsAny([]byte(q.Target), " \r\n") && !bytes.ContainsAny([]byte(path+query), " \r\n") {
			t.Fatalf("%q is no target", q.Target)
		}
	})
}
