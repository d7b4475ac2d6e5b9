package passthrough

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// TestABodyThatIsThereIsNotWaitedFor: a request whose body came with its head goes on
// at once, also to an upstream that never says 100, and the body with it.
func TestABodyThatIsThereIsNotWaitedFor(t *testing.T) {
	heads := make(chan http.Header, 1)
	addr := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		req, body, err := readRequest(r)
		if err != nil {
			t.Error(err)
			return
		}
		heads <- req.Header
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	})
	g := through(t, addr)
	for _, request := range []string{
		"PUT /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody",
		"PUT /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
	} {
		c := dial(t, g.addr)
		_, _ = io.WriteString(c, request)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err == nil && resp.StatusCode == http.StatusContinue {
			resp, err = http.ReadResponse(r, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, resp.Body); resp.StatusCode != http.StatusOK || got != "body" {
			t.Errorf("%d %q", resp.StatusCode, got)
		}
		if h := <-heads; h.Get("Expect") != "" {
			t.Errorf("the upstream is asked for a 100 that nobody waits for: %v", h)
		}
	}
}
