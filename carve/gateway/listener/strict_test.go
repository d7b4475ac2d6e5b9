package listener

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"whittle/internal/http1/smuggling"
)

// bytesConn is a connection that gives its bytes in pieces of a size.
type bytesConn struct {
	net.Conn
	rest []byte
	step int
}

func (c *bytesConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.step, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}

func strictly(b []byte, step int) (passed []byte, refused bool) {
	var malformed atomic.Int64
	g := newStrictConn(&bytesConn{rest: b, step: step}, 64<<10, &malformed, nil)
	passed, err := io.ReadAll(g)
	return passed, errors.Is(err, errFraming)
}

// TestStrictPassesPrefix holds that bytes are only ever held back from the line
// that is wrong on, and that it does not matter how they arrive.
func TestStrictPassesPrefix(t *testing.T) {
	good := "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	for _, tc := range []struct {
		text    string
		refused bool
	}{
		{good + good, false},
		{good + "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n\n\n\n" + good, false},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\n\n", false},
		{"GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: x\r\n\r\n\n\x00frames", false},
		{"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: x\r\n\r\n\n\x00frames", true}, // nobody will leave HTTP for this
		{"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + good, false},
		{"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: H2C\r\n\r\n\n\x00frames", true},
		{"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: \r\n\r\n" + good, false},
		{"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade:\t \r\n\r\nGET / HTTP/1.1\nHost: h\n\n", true},
		{good + "GET / HTTP/1.1\r\nHost: h\n\r\n", true},
		{good + "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", true},
		{"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", true},
	} {
		for _, step := range []int{1, 2, 5, 16, 4096} {
			passed, refused := strictly([]byte(tc.text), step)
			if refused != tc.refused || !strings.HasPrefix(tc.text, string(passed)) || !refused && string(passed) != tc.text {
				t.Errorf("%q by %d: refused %v after %q", tc.text, step, refused, passed)
			}
		}
	}
}

// TestNoRequestIsMadeOfWhatIsRefused finds that net/http cannot read a request with
// its body from what has been handed on before a refusal, however it is cut.
func TestNoRequestIsMadeOfWhatIsRefused(t *testing.T) {
	for _, c := range smuggling.Cases("request") {
		for _, step := range []int{1, 7, 16, 4096} {
			passed, refused := strictly([]byte(c.Message), step)
			if refused != (c.Status != 0) && c.Name != "HTTP/0.9" { // of which no line end comes
				t.Errorf("%s by %d: refused %v", c.Name, step, refused)
			}
			if !refused {
				continue
			}
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(passed)))
			if err != nil {
				continue
			}
			if body, err := io.ReadAll(r.Body); err == nil {
				t.Errorf("%s by %d: %q was handed on, a %s with the body %q", c.Name, step, passed, r.Method, body)
			}
		}
	}
}

// TestOneEmptyLineIsIgnored finds that net/http does not see an empty line before
// a request, first or later (RFC 9112, section 2.2), and that nothing but one whole
// empty line is forgiven.
func TestOneEmptyLineIsIgnored(t *testing.T) {
	get := "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	post := "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
	for _, tc := range []struct {
		text, passed string
		refused      bool
	}{
		{get + "\r\n", get, false},
		{"\r\n" + get + "\r\n" + post + "\r\n" + get, get + post + get, false},
		{post + "\r", post, false},
		{get + "\r\n\r\n" + get, get, true},
		{"\r\n\r\n" + get, "", true},
		{get + "\n" + get, get, true},
		{get + "\r" + get, get, true},
		{"\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x01", "PRI * HTTP/2.0", true},
	} {
		for _, step := range []int{1, 2, 3, 5, 16, 4096} {
			passed, refused := strictly([]byte(tc.text), step)
			if refused != tc.refused || !strings.HasPrefix(tc.passed, string(passed)) || !refused && string(passed) != tc.passed {
				t.Errorf("%q by %d: refused %v after %q", tc.text, step, refused, passed)
			}
		}
	}
}

// TestIdleConnectionKeepsNoHead finds that nothing of a large head or trailer that
// came in pieces is held on to while the next request is waited for.
func TestIdleConnectionKeepsNoHead(t *testing.T) {
	long := strings.Repeat("X: "+strings.Repeat("y", 100)+"\r\n", 300)
	text := "POST / HTTP/1.1\r\nHost: h\r\n" + long + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n" + long + "\r\n"
	var malformed atomic.Int64
	g := newStrictConn(&bytesConn{rest: []byte(text), step: 1000}, 64<<10, &malformed, nil)
	if passed, err := io.ReadAll(g); err != nil || string(passed) != text {
		t.Fatalf("%d of %d bytes passed, %v", len(passed), len(text), err)
	}
	r := &g.requests
	if r.Part() != nil || r.Head.Len() > 0 || r.Head.Raw() != nil || r.Body.Trailer().Len() > 0 || r.Body.Trailer().Raw() != nil {
		t.Errorf("kept: %d bytes in part, %d of the head, %d of the trailer", len(r.Part()), len(r.Head.Raw()), len(r.Body.Trailer().Raw()))
	}
}

// TestNothingIsFreeButWhatIsUpgraded: whatever is not checked any more is
// treated as an upgrade, after which the connection takes no other request.
func TestNothingIsFreeButWhatIsUpgraded(t *testing.T) {
	lines := []string{"", "Upgrade:", "Upgrade: h2c", "Upgrade: x", "Upgrade: \t", "Upgrade: ,"}
	asks := []string{"", "Connection: upgrade", "Connection: keep-alive", "Connection: close, UPGRADE", "Connection:"}
	free := 0
	for _, a := range lines {
		for _, b := range lines {
			for _, c := range asks {
				for _, proto := range []string{"HTTP/1.0", "HTTP/1.1"} {
					text := "GET / " + proto + "\r\nHost: h\r\n"
					for _, line := range []string{a, b, c} {
						if line != "" {
							text += line + "\r\n"
						}
					}
					text += "\r\n"
					var malformed atomic.Int64
					g := newStrictConn(&bytesConn{rest: []byte(text), step: len(text)}, 64<<10, &malformed, nil)
					r, err := http.ReadRequest(bufio.NewReader(g))
					if err != nil {
						t.Fatalf("%q: %v", text, err)
					}
					if g.free {
						free++
						if UpgradeOf(r) == "" {
							t.Errorf("%q is passed on as plain, and nothing behind it is checked", text)
						}
					}
				}
			}
		}
	}
	if free == 0 {
		t.Error("no upgrade was recognised")
	}
}

// FuzzStrict holds the check against net/http's parser: where it lets one
// request and its body through, net/http finds the same one of the same length;
// and the result does not depend on how the bytes are cut.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabcd",
		"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nabcd\r\n0\r\nT: v\r\n\r\n",
		"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	for _, c := range smuggling.Cases("request") {
		f.Add([]byte(c.Message))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		passed, refused := strictly(b, len(b)+1)
		if again, refusedAgain := strictly(b, 1); refusedAgain != refused {
			t.Errorf("refused %v at once, %v byte by byte (%q, %q)", refused, refusedAgain, passed, again)
		}
		if refused || strings.HasPrefix(string(b), "PRI ") {
			return
		}
		r := bufio.NewReaderSize(bytes.NewReader(b), max(16, len(b)))
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil || UpgradeOf(req) != "" {
			return
		}
		// A second request put behind must be found by both at the same place.
		used := len(b) - r.Buffered()
		tail := "GET /tail HTTP/1.1\r\nHost: h\r\n\r\n"
		whole := append(bytes.Clone(b[:used]), tail...)
		if passed, refused := strictly(whole, 7); refused {
			t.Errorf("behind %q (body %q) a good request was refused after %q", b[:used], body, passed)
		}
		if _, refused := strictly(append(bytes.Clone(b[:used]), "GET / HTTP/1.1\r\nHost: h\n\r\n"...), 7); !refused {
			t.Errorf("behind %q (body %q) a bad request passed", b[:used], body)
		}
	})
}
