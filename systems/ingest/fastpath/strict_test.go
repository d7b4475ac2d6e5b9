package fastpath

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"whittle/internal/http1/smuggling"
)

// TestNoRequestWithTwoReadings sends what servers are known to read differently,
// first and behind an everyday request, in one piece and byte by byte: what
// internal/http1 refuses never reaches the handler, nor does anything behind it.
func TestNoRequestWithTwoReadings(t *testing.T) {
	s := open(t, &http.Server{})
	before := post("/before", "x")
	const behind = "GET /smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	for _, c := range smuggling.Cases("request") {
		if c.Status == 0 {
			continue
		}
		for name, pieces := range map[string][]string{
			"first":  {c.Message + behind},
			"second": {before + c.Message + behind},
			"torn":   strings.SplitAfter(before+c.Message+behind, "\n"),
		} {
			back := s.exchangeUntilClosed(pieces...)
			if strings.Contains(back, "/smuggled") && !strings.Contains(c.Message, "/smuggled") {
				t.Errorf("%s, %s: what is behind it is served: %q", c.Name, name, back)
			}
			for i, a := range responsesIn(t, back) {
				everyday := name != "first" && i == 0
				// Where it is the body that is wrong, the handler has begun, and cannot read it.
				unread := strings.HasPrefix(a, "200 ") && !strings.HasSuffix(a, "<nil>")
				if everyday != strings.HasPrefix(a, "200 ") && !unread {
					t.Errorf("%s, %s: response %d is %q", c.Name, name, i, a)
				}
			}
		}
	}
}

// exchangeUntilClosed is exchange with a server that may close while it is sent to.
func (s *testServer) exchangeUntilClosed(pieces ...string) string {
	s.Helper()
	c := s.dial()
	defer c.Close()
	for _, p := range pieces {
		if _, err := io.WriteString(c, p); err != nil {
			break
		}
	}
	_ = c.CloseWrite()
	back, _ := io.ReadAll(c)
	return string(back)
}

// pipe is a connection that hands out bytes by so many.
type pipe struct {
	net.Conn
	rest []byte
	step int
}

func (p *pipe) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.step)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// strictly reads bytes as net/http would, by so many at a time.
func strictly(text []byte, step int) (passed []byte, refused bool) {
	g := newStrictConn(&pipe{rest: bytes.Clone(text), step: step})
	b := make([]byte, 4096)
	for {
		n, err := g.Read(b)
		passed = append(passed, b[:n]...)
		if err != nil {
			return passed, !errors.Is(err, io.EOF)
		}
	}
}

// FuzzStrict: what is passed on is a beginning of what came, the same however
// it is torn; and what is refused has not come whole to net/http.
func FuzzStrict(f *testing.F) {
	for _, c := range smuggling.Cases("request") {
		f.Add([]byte(post("/a", "x")+c.Message), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, step uint8) {
		passed, refused := strictly(text, len(text)+1)
		if !bytes.HasPrefix(text, passed) || !refused && len(passed) != len(text) {
			t.Fatalf("%q became %q, refused %v", text, passed, refused)
		}
		again, refusedAgain := strictly(text, int(step)+1)
		if refused != refusedAgain || !bytes.HasPrefix(text, again) {
			t.Fatalf("%q by %d: %q, refused %v; at once %q, %v", text, step, again, refusedAgain, passed, refused)
		}
	})
}

func TestStrictBodies(t *testing.T) {
	for text, want := range map[string]bool{
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + post("/a", "x"): false,
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n":                    true,
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX-T: 1\r\n\r\n":     false,
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n":                     true,
		"\r\n" + post("/a", "x"): true,
		post("/a", "x") + "\n":   true,
	} {
		for _, step := range []int{1, 2, 7, 4096} {
			if passed, refused := strictly([]byte(text), step); refused != want {
				t.Errorf("%s by %d: refused %v after %q", fmt.Sprintf("%q", text), step, refused, passed)
			}
		}
	}
}
