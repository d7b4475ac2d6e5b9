package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle"
)

// TestSlowClientsHoldUpNobody: clients that take nothing of their responses, or send
// nothing of their uploads, lose the monolith's connections to users who wait for one.
func TestSlowClientsHoldUpNobody(t *testing.T) {
	streams := func(w http.ResponseWriter, size int) {
		for range 4 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), size/4))
			_ = http.NewResponseController(w).Flush()
		}
	}
	says := func(w http.ResponseWriter, r *http.Request, end <-chan struct{}) {
		switch r.URL.Path {
		case "/short": // of a length that nobody knows, and never whole
			streams(w, 64)
			select {
			case <-r.Context().Done():
			case <-end:
			}
		case "/long":
			streams(w, 64<<20)
		case "/announced":
			w.Header().Set("Content-Length", strconv.Itoa(64<<20))
			streams(w, 64<<20)
		case "/upload":
			_, _ = io.Copy(io.Discard, r.Body)
		default:
			_, _ = io.WriteString(w, "small")
		}
	}
	for _, tt := range []struct {
		name          string
		conns         int // of the monolith
		clients, each int
		path          string
		http1, sends  bool
		mirrored      bool
	}{
		{name: "HTTP/2 without a window, short streams", conns: 1024, clients: 5, each: 250, path: "/short"},
		{name: "HTTP/2 without a window, short streams, mirrored", conns: 1024, clients: 5, each: 250, path: "/short", mirrored: true},
		{name: "HTTP/2 without a window, long streams", conns: 4, clients: 1, each: 8, path: "/long"},
		{name: "HTTP/2 without a window, long responses", conns: 4, clients: 1, each: 8, path: "/announced"},
		{name: "HTTP/1.1, long streams", conns: 4, clients: 8, each: 1, path: "/long", http1: true},
		{name: "HTTP/1.1, long responses", conns: 4, clients: 8, each: 1, path: "/announced", http1: true},
		{name: "HTTP/1.1, uploads", conns: 4, clients: 8, each: 1, path: "/upload", http1: true, sends: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // they wait
			m := upstreamAt(hanging(t, false, says).URL)
			m.MaxConns, m.WaitTimeout = tt.conns, time.Minute
			spec := everything()
			spec.Match.Pattern = "/{rest...}"
			spec.Candidate = &whittle.Upstream{URL: nobody}
			o := Options{Monolith: m, Limits: whittle.Limits{StallTimeout: time.Hour, Grace: time.Second}}
			if tt.mirrored {
				o.Routes = []whittle.Route{spec}
			}
			ls, urls := facing(t, 1)
			g := behind(t, ls[0], o)
			g.Apply("/work", whittle.Position{Generation: 1, Phase: whittle.PhaseShadow})
			for range tt.clients {
				if tt.http1 {
					slowHTTP1(t, urls[0], tt.path, tt.sends)
					continue
				}
				h := h2To(t, urls[0], 0)
				for range tt.each {
					h.asks(":method", "GET", ":scheme", "http", ":path", tt.path, ":authority", "a.example")
				}
			}
			entry := g.table.Load().monolith
			waits(t, time.Minute, func() bool { return entry.Free() == 0 })
			for range 3 {
				if status, text := ask(t, http.MethodGet, urls[0]+"/small", ""); status != http.StatusOK || text != "small" {
					t.Errorf("an honest user got %d %.40q", status, text)
				}
			}
		})
	}
}

// slowHTTP1 asks and reads nothing, or begins an upload and sends no more of it.
func slowHTTP1(t *testing.T, url, path string, sends bool) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if sends {
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", path)
	} else {
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}
