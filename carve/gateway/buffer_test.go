package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// TestSlowClientsHoldNoConnection: what fits into the buffers is taken from a client,
// and from the monolith, without the other's waiting for it. The slow client gets all
// of its response all the same, and the memory comes back.
func TestSlowClientsHoldNoConnection(t *testing.T) {
	const size = 6 << 20 // more than the kernel holds
	body := random(size)
	says := func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		switch r.URL.Path {
		case "/known":
			w.Header().Set("Content-Length", strconv.Itoa(size))
			_, _ = w.Write(body)
		case "/unknown":
			w.Header().Set("Trailer", "X-Sum")
			for piece := body; len(piece) > 0; piece = piece[min(len(piece), 50_000):] {
				_, _ = w.Write(piece[:min(len(piece), 50_000)])
				_ = http.NewResponseController(w).Flush()
			}
			w.Header().Set("X-Sum", "sum")
		case "/upload":
			got, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprint(w, bytes.Equal(got, body[:len(got)]), len(got), err)
		default:
			_, _ = io.WriteString(w, "small")
		}
	}
	for _, tt := range []struct {
		name, path string
		http2      bool
		mirrored   bool
	}{
		{name: "HTTP/1.1, length known", path: "/known"},
		{name: "HTTP/1.1, length unknown", path: "/unknown"},
		{name: "HTTP/1.1, mirrored", path: "/unknown", mirrored: true},
		{name: "HTTP/2, length known", path: "/known", http2: true},
		{name: "HTTP/2, length unknown", path: "/unknown", http2: true},
		{name: "HTTP/1.1, upload", path: "/upload"},
		{name: "HTTP/2, upload", path: "/upload", http2: true},
	} {
		for _, netHTTP := range []bool{false, true} {
			if netHTTP && tt.http2 {
				continue
			}
			t.Run(fmt.Sprintf("%s, net/http %v", tt.name, netHTTP), func(t *testing.T) {
				t.Parallel() // they wait
				m := upstreamAt(hanging(t, false, says).URL)
				m.MaxConns, m.WaitTimeout = 1, time.Minute
				o := Options{Monolith: m, NetHTTP: netHTTP, Limits: whittle.Limits{StallTimeout: time.Hour, Grace: time.Second, BufferBytes: 2 * size}}
				if tt.mirrored {
					spec := everything()
					spec.Match.Pattern = "/{rest...}"
					spec.Candidate = &whittle.Upstream{URL: nobody}
					o.Routes = []whittle.Route{spec}
				}
				ls, urls := facing(t, 1)
				g := behind(t, ls[0], o)
				begin, rest := slowly(t, urls[0], tt.path, tt.http2, body[:200_000])
				begin()
				waits(t, time.Minute, func() bool { return g.buffered.Load() > 0 })
				waits(t, time.Minute, func() bool { return g.table.Load().monolith.Free() == 1 })
				for range 3 {
					if status, text := ask(t, http.MethodGet, urls[0]+"/small", ""); status != http.StatusOK || text != "small" {
						t.Errorf("an honest user got %d %.40q", status, text)
					}
				}
				got := rest()
				switch {
				case tt.path == "/upload" && string(got) != "true 200000 <nil>":
					t.Errorf("the monolith got %.40q", got)
				case tt.path != "/upload" && !bytes.Equal(got, body):
					t.Errorf("%d bytes came, of %d, or others", len(got), size)
				}
				waits(t, time.Minute, func() bool { return g.buffered.Load() == 0 })
			})
		}
	}
}

func random(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// slowly gives what begins an exchange, of which the client neither reads nor sends
// more, and what ends it and gives the response's body.
func slowly(t *testing.T, url, path string, http2 bool, sent []byte) (begin func(), rest func() []byte) {
	t.Helper()
	if path != "/upload" {
		sent = nil
	}
	if http2 {
		return slowlyHTTP2(t, url, path, sent)
	}
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
	}}
	c, err := d.Dial("tcp", strings.TrimPrefix(url, "http://"))
	fatal.If(t, err)
	t.Cleanup(func() { c.Close() })
	half := len(sent) / 2
	begin = func() {
		if sent == nil {
			_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
			return
		}
		_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", path, len(sent), sent[:half])
	}
	return begin, func() []byte {
		_, _ = c.Write(sent[half:])
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		fatal.If(t, err)
		got, err := io.ReadAll(resp.Body)
		if err != nil || path == "/unknown" && resp.Trailer.Get("X-Sum") != "sum" {
			t.Errorf("%v, trailer %v", err, resp.Trailer)
		}
		return got
	}
}

// slowlyHTTP2 is slowly over HTTP/2.
func slowlyHTTP2(t *testing.T, url, path string, sent []byte) (begin func(), rest func() []byte) {
	t.Helper()
	h := h2To(t, url, 0)
	var stream uint32
	half := len(sent) / 2
	begin = func() {
		fields := []string{":method", http.MethodGet, ":scheme", "http", ":path", path, ":authority", "a.example"}
		if sent == nil {
			stream = h.asks(fields...)
			return
		}
		fields[1] = http.MethodPost
		stream = h.begins(append(fields, "content-length", strconv.Itoa(len(sent)))...)
		h.sends(stream, sent[:half], false)
	}
	return begin, func() []byte {
		if sent != nil {
			h.sends(stream, sent[half:], true)
		}
		h.must(0, h.fr.WriteWindowUpdate(0, 1<<30))
		h.must(0, h.fr.WriteWindowUpdate(stream, 1<<30))
		return h.body(stream)
	}
}
