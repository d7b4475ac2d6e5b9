package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// A connection keeps the deadline of its last request, which is past when a
// user has thought for longer, and in every block of a comparison.
func TestAnIdleConnectionIsKeptPastItsLastDeadline(t *testing.T) {
	for name, start := range map[string]func(http.Handler) *httptest.Server{"http": httptest.NewServer, "https": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			srv := start(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			defer srv.Close()
			e, err := parseEndpoint(srv.URL, true)
			fatal.If(t, err)
			d := newDialer(1, time.Now)
			c, err := d.dial(t.Context(), e, nil, time.Now().Add(time.Minute))
			fatal.If(t, err)
			defer d.close(c)
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nhost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			fatal.If(t, c.readResponse(http.MethodGet, 0, new(response)))
			fatal.If(t, c.SetDeadline(time.Unix(1, 0)))
			if c.closedByPeer() {
				t.Error("an open connection counts as closed")
			}
			srv.CloseClientConnections()
			fatal.If(t, c.SetDeadline(time.Time{}))
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Fatal("the server has closed nothing")
			}
			fatal.If(t, c.SetDeadline(time.Unix(1, 0)))
			if !c.closedByPeer() {
				t.Error("a closed connection counts as open")
			}
		})
	}
}
