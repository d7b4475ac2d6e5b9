package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestARefusalIsOfOneStream: what ends an HTTP/1.1 client's connection, since the rest
// of a body was not read, ends one stream of an HTTP/2 client's. Its connection serves
// the next request, and those of others who share it.
func TestARefusalIsOfOneStream(t *testing.T) {
	const most = 1000 // a body of 2000 bytes has no end within it
	monolith := rawServer(t, func(c net.Conn) {
		b := make([]byte, 64)
		if n, _ := c.Read(b); strings.HasPrefix(string(b[:n]), "GET") {
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		}
	})
	ls, urls := facing(t, 1)
	o := Options{Monolith: quick(monolith)}
	o.Limits.BodyBytes = most
	behind(t, ls[0], o)
	var dialled atomic.Int64
	client := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialled.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	client.Protocols.SetUnencryptedHTTP2(true)
	defer client.CloseIdleConnections()
	for i, tt := range []struct {
		method string
		body   int64
		status int
	}{{"GET", 0, 204}, {"POST", 3 * most, 413}, {"GET", 0, 204}, {"POST", -1, 413}, {"GET", 0, 204}, {"CONNECT", 0, 501}, {"GET", 0, 204}} {
		r, w := io.Pipe() // whose end does not come: it is not read
		defer w.Close()
		q, err := http.NewRequest(tt.method, urls[0]+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if q.ContentLength = tt.body; tt.body != 0 {
			q.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(strings.NewReader(strings.Repeat("x", 2*most)), r), r}
		}
		resp, err := client.RoundTrip(q)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("request %d: status %d, want %d", i, resp.StatusCode, tt.status)
		}
	}
	if n := dialled.Load(); n != 1 {
		t.Errorf("the client needed %d connections", n)
	}
}
