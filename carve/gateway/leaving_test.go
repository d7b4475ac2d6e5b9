package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
)

// TestLeaving: how many requests clients may have at once at a gateway that accepts no more is
// known by its connections, unless one of them may have many.
func TestLeaving(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	ask := func(c net.Conn) {
		t.Helper()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	for name, streams := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			ls, urls := facing(t, 1)
			g := behind(t, ls[0], Options{Monolith: upstreamAt(server.URL), Limits: whittle.Limits{Grace: time.Minute}})
			var open []net.Conn
			for range 2 {
				c, err := net.Dial("tcp", strings.TrimPrefix(urls[0], "http://"))
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				open = append(open, c)
				ask(c) // so that it is accepted
			}
			if n := g.Leaving(); n != -1 {
				t.Errorf("%d while it accepts", n)
			}
			if streams {
				r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
				r.ProtoMajor = 2
				g.ServeHTTP(httptest.NewRecorder(), r)
			}
			g.Replace()
			waits(t, time.Minute, g.clients.Draining)
			two, one := 2, 1
			if streams {
				two, one = -1, -1
			}
			if n := g.Leaving(); n != two {
				t.Errorf("%d with two connections", n)
			}
			ask(open[0]) // its last response
			waits(t, time.Minute, func() bool { return g.clients.Open() == 1 })
			if n := g.Leaving(); n != one {
				t.Errorf("%d with one", n)
			}
			open[1].Close()
			waits(t, time.Minute, func() bool { return g.Leaving() == 0 })
		})
	}
}
