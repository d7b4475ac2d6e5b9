package passthrough

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// TestExpect: nobody waits for an upstream that never says 100, since the gateway does, and
// the upstream is not asked.
func TestExpect(t *testing.T) {
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
	var http1, http2 http.Protocols
	http1.SetHTTP1(true)
	http2.SetUnencryptedHTTP2(true)
	for i, size := range []int{10, 100_000, 10, 100_000} {
		p := []*http.Protocols{&http1, &http2}[i/2]
		tr := &http.Transport{Protocols: p, ExpectContinueTimeout: time.Hour}
		t.Cleanup(tr.CloseIdleConnections)
		req, _ := http.NewRequest(http.MethodPut, g.url("/"), strings.NewReader(strings.Repeat("b", size)))
		req.Header.Set("Expect", "100-continue")
		resp, err := (&http.Client{Transport: tr, Timeout: patience}).Do(req)
		fatal.If(t, err)
		if got, want := mustRead(t, resp.Body), fmt.Sprintf("%d []", size); resp.StatusCode != http.StatusOK || got != want {
			t.Errorf("%d %q, want %q", resp.StatusCode, got, want)
		}
		_ = resp.Body.Close()
	}
}
