package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/http1"
	"whittle/internal/http1/smugglingtest"
)

// FuzzResponseHead holds the parser against net/http's: whatever it takes,
// net/http takes with the same status, the same end-to-end fields and the same
// framing. (It takes less: that is its purpose.)
func FuzzResponseHead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X, Y\r\n\r\n",
		"HTTP/1.0 301 Moved\nLocation: /\n\n",
		"HTTP/1.1 200 OK\r\nA: 1\r\n 2\r\nConnection: a\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	for _, c := range smugglingtest.Cases("response") {
		f.Add([]byte(c.Message))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h responseHead
		end, err := h.parse(bytes.Clone(b))
		if err != nil || end == 0 {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b[:end])), nil)
		if err != nil {
			t.Fatalf("net/http refuses what was taken: %v", err)
		}
		fatal.Same(t, resp.StatusCode, h.status, "status")
		if bodyAllowed := h.status >= 200 && h.status != 204 && h.status != 304; bodyAllowed {
			chunked := h.parser.Framing(http.MethodGet).Kind == http1.Chunked
			if chunked != slices.Contains(resp.TransferEncoding, "chunked") || !chunked && h.length != resp.ContentLength {
				t.Errorf("chunked %v length %d against %v %d", chunked, h.length, resp.TransferEncoding, resp.ContentLength)
			}
		}
		for _, field := range h.fields {
			if field.name == "Trailer" || field.name == "Content-Length" {
				continue
			}
			if !slices.ContainsFunc(resp.Header[field.name], func(v string) bool {
				return strings.Join(strings.Fields(v), " ") == strings.Join(strings.Fields(field.value), " ")
			}) {
				t.Errorf("field %q is none of %q", field, resp.Header[field.name])
			}
		}
	})
}

// exchange asks over a pool's connection on which packets come.
func exchange(t *testing.T, packets ...string) (whittle.Response, error) {
	t.Helper()
	near, far := net.Pipe()
	p := newPool(nil, &slots{limit: 1, taken: 1}, patienceOf(&whittle.Upstream{}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = bufio.NewReader(far).ReadString('\n')
		for _, s := range packets {
			if s == "" {
				continue
			}
			if _, err := io.WriteString(far, s); err != nil {
				break
			}
		}
		_ = far.Close()
	}()
	t.Cleanup(func() {
		_ = near.Close()
		<-done
		p.close()
	})
	c := newConn(p, near)
	if err := c.exchange(context.Background(), []byte("x\n"), false, 10*time.Second, true, nil); err != nil {
		return whittle.Response{}, err
	}
	return c.response(&holding{limit: 1 << 20})
}

// TestResponsesCutAnywhere gives the same response whatever packets it comes in.
func TestResponsesCutAnywhere(t *testing.T) {
	for name, tc := range map[string]struct{ text, body, trailer string }{
		"length":   {"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world", "hello world", ""},
		"chunks":   {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n006\r\n world\r\n0\r\n\r\n", "hello world", ""},
		"trailer":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-t: one\r\nX-T: two\r\n\r\n", "x", "one two"},
		"to close": {"HTTP/1.1 200 OK\r\n\r\nuntil the end", "until the end", ""},
		"none":     {"HTTP/1.1 204 No Content\r\n\r\n", "", ""},
		"hints":    {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "x", ""},
	} {
		for cut := 1; cut < len(tc.text); cut++ {
			a, err := exchange(t, tc.text[:cut], tc.text[cut:])
			if err != nil || string(a.Body) != tc.body || strings.Join(a.Trailer["X-T"], " ") != tc.trailer {
				t.Errorf("%s cut at %d: %d %q %v, %v", name, cut, a.Status, a.Body, a.Trailer, err)
			}
		}
		if a, err := exchange(t, strings.Split(tc.text, "")...); err != nil || string(a.Body) != tc.body {
			t.Errorf("%s byte by byte: %q, %v", name, a.Body, err)
		}
	}
}

// FuzzResponseBody holds chunked bodies against net/http's reading of them.
func FuzzResponseBody(f *testing.F) {
	f.Add([]byte("5\r\nhello\r\n0\r\n\r\n"), uint8(3))
	f.Add([]byte("5;x\r\nhello\r\n1\r\n \r\n0\r\nT: v\r\n\r\n"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		at := min(int(cut), len(b))
		a, err := exchange(t, head+string(b[:at]), string(b[at:]))
		if err != nil {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader(head), bytes.NewReader(b))), nil)
		fatal.If(t, err)
		want, err := io.ReadAll(resp.Body)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Equal(want, a.Body) {
			t.Errorf("%q against net/http's %q, %v", a.Body, want, err)
		}
	})
}

// Chunks that have arrived together are one piece, in their order, and count as many
// stretches; what is wrong behind them comes after them.
func TestChunksThatArriveTogether(t *testing.T) {
	for _, c := range []struct {
		name, raw, want string
		stretches       int
		end             error // with the piece
		then            bool  // the next call is an error
	}{
		{"whole", "4\r\nabcd\r\n1;x=y\r\ne\r\n2\r\nfg\r\n0\r\nX: y\r\n\r\nHTTP", "abcdefg", 3, io.EOF, false},
		{"more to come", "4\r\nabcd\r\n9\r\nefg", "abcdefg", 2, nil, false},
		{"a trailer in part", "4\r\nabcd\r\n0\r\nX: y\r\n", "abcd", 1, nil, false},
		{"a size that is none", "4\r\nabcd\r\n1\r\ne\r\nz\r\n", "abcde", 2, nil, true},
		{"a chunk without its end", "4\r\nabcdX", "abcd", 1, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := body{c: &conn{buf: []byte(c.raw), w: len(c.raw)}}
			b.framed.Limits, b.framed.Tolerance = responseLimits, tolerated
			b.framed.Begin(http1.Framing{Kind: http1.Chunked})
			for range 2 {
				if !b.ready() {
					t.Fatal("nothing is ready")
				}
			}
			p, err := b.next()
			if string(p) != c.want || !errors.Is(err, c.end) || b.joined() != c.stretches {
				t.Fatalf("%q of %d stretches, %v; want %q of %d, %v", p, b.joined(), err, c.want, c.stretches, c.end)
			}
			if c.then != (b.fault != nil) {
				t.Fatalf("behind it %v", b.fault)
			}
			if c.then {
				if p, err := b.next(); len(p) > 0 || err == nil || !b.ready() {
					t.Errorf("then %q, %v", p, err)
				}
			}
		})
	}
}

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
		fatal.Same(t, u.url(target).RequestURI(), target, "%q as it would go through net/http", target)
	})
}
