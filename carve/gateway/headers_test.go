package gateway

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/httpfield"
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
	u, err := newUpstream(whittle.Upstream{URL: "http://127.0.0.1:1/base"}, false, false)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		if !httpfield.IsTarget(sent) {
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

func TestForwardedElement(t *testing.T) {
	g := &Gateway{opts: Options{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}}
	for _, tc := range []struct{ peer, host, earlier, forwarded, chain string }{
		{"1.2.3.4:55", "h", "", "for=1.2.3.4;host=h;proto=http", "1.2.3.4"},
		{"1.2.3.4:55", "h:80", "9.9.9.9", `for=1.2.3.4;host="h:80";proto=http`, "1.2.3.4"},
		{"10.1.1.1:55", "h", "9.9.9.9", "for=1, for=10.1.1.1;host=h;proto=http", "9.9.9.9, 10.1.1.1"},
		{"[::ffff:10.1.1.1]:55", "h", "9.9.9.9", `for=1, for="[::ffff:10.1.1.1]";host=h;proto=http`, "9.9.9.9, ::ffff:10.1.1.1"},
		{"[fd00::1]:55", "[::1]:80", "9.9.9.9", `for=1, for="[fd00::1]";host="[::1]:80";proto=http`, "9.9.9.9, fd00::1"},
		{"[2001:db8::1]:55", "h", "9.9.9.9", `for="[2001:db8::1]";host=h;proto=http`, "2001:db8::1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr, r.Host = tc.peer, tc.host
		if tc.earlier != "" {
			r.Header["X-Forwarded-For"] = []string{tc.earlier}
			r.Header["Forwarded"] = []string{"for=1"}
		}
		h := g.outbound(r)
		if h.Get("Forwarded") != tc.forwarded || h.Get("X-Forwarded-For") != tc.chain || len(h["Forwarded"]) != 1 {
			t.Errorf("%s: %q %q", tc.peer, h["Forwarded"], h["X-Forwarded-For"])
		}
	}
}
