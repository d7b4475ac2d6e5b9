package passthrough

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
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

// TestExpectOverHTTP2: nobody waits for an upstream that never says 100, since the gateway
// does, and the upstream is not asked.
func TestExpectOverHTTP2(t *testing.T) {
	addr := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		req, body, err := readRequest(r)
		if err != nil {
			t.Error(err)
			return
		}
		got := fmt.Sprintf("%d %q", len(body), req.Header["Expect"])
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(got), got)
	})
	g := through(t, addr)
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p, ExpectContinueTimeout: time.Hour}
	t.Cleanup(tr.CloseIdleConnections)
	for _, size := range []int{10, 100_000} {
		req, _ := http.NewRequest(http.MethodPut, g.url("/"), strings.NewReader(strings.Repeat("b", size)))
		req.Header.Set("Expect", "100-continue")
		resp, err := (&http.Client{Transport: tr, Timeout: patience}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := mustRead(t, resp.Body), fmt.Sprintf("%d []", size); resp.StatusCode != http.StatusOK || got != want {
			t.Errorf("%d %q, want %q", resp.StatusCode, got, want)
		}
		_ = resp.Body.Close()
	}
}
