package upstream

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/http1"
)

// FuzzRequestHead writes a head from hostile parts: it is refused, or it reads
// back as one request with the same parts.
func FuzzRequestHead(f *testing.F) {
	f.Add("GET", "/a?b", "h", "X-Name", "value")
	f.Add("GET", "/ HTTP/1.1\r\nX: y", "h\r\nY: z", "A\r\nB", "c\r\n\r\nGET / HTTP/1.1")
	f.Add("POST", "//x/%2F|", "[::1]:80", "Cookie", "a=\"b\"; ü")
	f.Fuzz(func(t *testing.T, method, target, host, name, value string) {
		w := headWriter{}
		w.line(method, target, host)
		w.field(name, value)
		b, err := w.end()
		if err != nil {
			return
		}
		if got := bytes.Count(b, []byte("\r\n")); got != 4 || bytes.Count(b, []byte("\n")) != 4 {
			t.Fatalf("%d lines in %q", got, b)
		}
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return // a target that no URL has; it is one line all the same
		}
		if req.Method != method || req.RequestURI != target {
			t.Errorf("%q %q came back as %q %q", method, target, req.Method, req.RequestURI)
		}
		if name = http.CanonicalHeaderKey(name); name == "Host" || name == "Transfer-Encoding" || name == "Trailer" || name == "Pragma" {
			return
		}
		if got := req.Header[name]; len(got) != 1 || got[0] != strings.Trim(value, " \t") {
			t.Errorf("%q: %q came back as %q", name, value, got)
		}
	})
}

// FuzzTarget holds that an upstream's target never leaves its prefix's line,
// and that both ways upstream agree on it.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"/", "//a", "http://h/x?y", "http://h", "*", "/a b", "/%2f|?q"} {
		f.Add(s)
	}
	u, err := New(whittle.Upstream{URL: "http://127.0.0.1:1/base"}, false, nil)
	fatal.If(f, err)
	f.Fuzz(func(t *testing.T, sent string) {
		if !http1.IsTarget(sent) {
			return
		}
		target := u.target(sent)
		if sent == "*" {
			return
		}
		if !strings.HasPrefix(target, "/base") {
			t.Errorf("%q became %q", sent, target)
		}
		if got := u.url(target).RequestURI(); got != target {
			t.Errorf("%q would go through net/http as %q", target, got)
		}
	})
}
