package body

import (
	"encoding/json"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

func TestResponse(t *testing.T) {
	inner := "--y" + strings.Repeat("\r\n\r\na\r\n--y", most) + "--"
	for name, c := range map[string]struct{ kind, body, want string }{
		"plain":              {"application/json", `{"a":1}`, ""},
		"with a charset":     {"application/json; charset=utf-8", `{"a":1}`, ""},
		"no type":            {"", `{"a":1}`, ""},
		"space before":       {"application/json", "\n {}", ""},
		"a mark":             {"application/json", "\ufeff{\"a\":1}", `{"a":1}`},
		"a guard":            {"application/json; charset=utf-8", ")]}',\n[1]", "\n[1]"},
		"a guard alone":      {"application/json", ")]}'\n", ""},
		"a text with a mark": {"text/plain", "\ufeffhello", ""},
		"lines":              {"application/x-ndjson", "{\"a\":1}\n\n{\"a\":2}\r\n", `[{"a":1},{"a":2}]`},
		"lines of a vendor":  {"application/vnd.elasticsearch+x-ndjson; compatible-with=8", "{\"a\":1}\n{}\n", `[{"a":1},{}]`},
		"a stream":           {"application/stream+json", "{\"a\":1}\n{}\n", `[{"a":1},{}]`},
		"a sequence":         {"application/json-seq", "\x1e{\"a\":1}\n\x1e2\n", `[{"a":1},2]`},
		"no lines":           {"application/jsonl", "{\"a\":1}\nno", ""},
		"form data": {"multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" +
			"<1>\r\n--x--\r\n", `[{"Content-Disposition":"form-data; name=a","body":"<1>"}]`},
		"a part's text":            {"multipart/mixed; boundary=y", "--y\r\n\r\n1.50\r\n--y\r\n\r\ncaf\xe9\r\n--y--", "[{\"body\":\"1.50\"},{\"body\":\"caf\xe9\"}]"},
		"a part's boundary":        {"multipart/mixed; boundary=y", "--y\r\nContent-Type: multipart/mixed;boundary=z;charset=UTF-8\r\n\r\n--z\r\n\r\na\r\n--z--\r\n--y--", `[{"Content-Type":"multipart/mixed; charset=utf-8","body":[{"body":"a"}]}]`},
		"a part of a text in JSON": {"multipart/mixed; boundary=\"*\"", "--*\r\nContent-Type: application/json; a=b\r\n\r\n\"x\"\r\n--*--", `[{"Content-Type":"application/json; a=b","body":"x"}]`},
		"parts of JSON":            {"multipart/mixed; boundary=y", "--y\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n--y--", `[{"Content-Type":"application/json","body":{"a":1}}]`},
		"a part that does not end": {"multipart/mixed; boundary=y", "--y\r\n\r\nabc", ""},
		"parts in a part":          {"multipart/mixed; boundary=z", "--z\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n" + inner + "\r\n--z--", `[{"Content-Type":"multipart/mixed","body":"` + strings.ReplaceAll(inner, "\r\n", `\r\n`) + `"}]`},
		"no boundary":              {"multipart/mixed", "--y\r\n\r\nabc\r\n--y--", ""},
		"a tree":                   {"application/xml", "<?xml version=\"1.0\"?>\n<a z=\"2\" b=\"1\">\n <c>x</c><!-- no --><c/>t<![CDATA[<]]></a>", `{"a":[{"@b":"1"},{"@z":"2"},{"c":"x"},{"c":""},"t<"]}`},
		"prefixes":                 {"application/soap+xml", `<s:E xmlns:s="u"><s:B>1</s:B><c xmlns="v"/></s:E>`, `{"{u}E":[{"B":"1"},{"{v}c":""}]}`},
		"other prefixes":           {"application/soap+xml", `<E xmlns="u"><B>1</B><q:c xmlns:q="v"/></E>`, `{"{u}E":[{"B":"1"},{"{v}c":""}]}`},
		"no namespace":             {"text/xml", `<q:E xmlns:q="u"><B c="1">1</B></q:E>`, `{"{u}E":[{"{}B":[{"@c":"1"},"1"]}]}`},
		"a tree with a mark":       {"text/xml", "\ufeff<a/>", `{"a":""}`},
		"white space":              {"text/xml", "<a>\n <b>\n </b> <c> </c><d e=''> </d><d e=''>\n</d>\n</a>", `{"a":[{"b":""},{"c":" "},{"d":[{"@e":""}," "]},{"d":[{"@e":""}]}]}`},
		"a long name":              {"text/xml", "<a xmlns:p='" + strings.Repeat("x", 120) + "'><b p:c='d'/></a>", ""},
		"no tree":                  {"text/xml", "<a><b></a>", ""},
		"two roots":                {"text/xml", "<a/><b/>", ""},
		"text behind":              {"text/xml", "<a/>text", ""},
		"nothing but text":         {"text/xml", "text", ""},
		"an entity":                {"text/xml", "<a>&nope;</a>", ""},
		"another charset":          {"text/xml", `<?xml version="1.0" encoding="koi8-r"?><a/>`, ""},
		"a page":                   {"text/html", "<p>", ""},
	} {
		in := whittle.Response{Header: whittle.Header{}, Body: []byte(c.body)}
		if c.kind != "" {
			in.Header["Content-Type"] = []string{c.kind}
		}
		out, other := response(&in, before(&in))
		want := c.want
		if want == "" {
			want = c.body
		}
		if string(out.Body) != want || other != (c.want != "") || string(in.Body) != c.body {
			t.Errorf("%s: %s, %v", name, out.Body, other)
		}
	}
}

// TestExchange: what is as it came is the exchange itself.
func TestExchange(t *testing.T) {
	x := &whittle.Exchange{Monolith: whittle.Response{Body: []byte(`{}`)}, Candidate: whittle.Response{Body: []byte(`{}`)}}
	fatal.Same(t, Exchange(x) == x, true, "an everyday exchange is copied")
	x.Candidate.Body = []byte("\ufeff{}")
	fatal.Same(t, Exchange(x) == x, true, "a mark of the candidate's alone is taken off")
	x.Monolith.Body, x.Repeat = x.Candidate.Body, &whittle.Response{Body: []byte("\ufeff[]")}
	if y := Exchange(x); string(y.Monolith.Body)+string(y.Candidate.Body)+string(y.Repeat.Body) != `{}{}[]` || string(x.Repeat.Body) == `[]` {
		t.Error("a mark of both is not taken off, or what came was changed")
	}
	x.Candidate.Body = []byte("{}")
	y := Exchange(x)
	fatal.Same(t, string(y.Monolith.Body)+string(y.Candidate.Body), `{}"{}"`, "a mark that the candidate lost")
}

// FuzzResponse: whatever comes, the result is JSON or the body as it was.
func FuzzResponse(f *testing.F) {
	for _, kind := range []string{"text/xml", "application/jsonl", "multipart/mixed; boundary=x", "application/json"} {
		f.Add(kind, []byte("<a b='1'>x<c/></a>"))
		f.Add(kind, []byte("--x\r\n\r\n{}\r\n--x--"))
		f.Add(kind, []byte(")]}'\n{}"))
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		a := whittle.Response{Header: whittle.Header{"Content-Type": {kind}}, Body: body}
		out, other := response(&a, before(&a))
		if other && !json.Valid(out.Body) && out.Body[0] != '{' && out.Body[0] != '[' {
			t.Errorf("%q as %q became %q", body, kind, out.Body)
		}
	})
}
