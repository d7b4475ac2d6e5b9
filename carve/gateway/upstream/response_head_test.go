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
		if resp.StatusCode != h.status {
			t.Errorf("status %d against %d", h.status, resp.StatusCode)
		}
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

// pipeTo serves one pool connection from a script of packets.
func pipeTo(t *testing.T, packets ...string) *conn {
	t.Helper()
	near, far := net.Pipe()
	p := newPool(nil, &slots{limit: 1}, patienceOf(&whittle.Upstream{}))
	p.slots.taken = 1
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
	return newConn(p, near)
}

func exchange(t *testing.T, packets ...string) (whittle.Response, error) {
	t.Helper()
	c := pipeTo(t, packets...)
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
