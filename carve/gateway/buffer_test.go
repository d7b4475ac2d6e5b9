package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/carve/gateway/accesslog"
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
				g, url := running(t, o)
				begin, rest := slowly(t, url, tt.path, tt.http2, body[:200_000])
				begin()
				waits(t, time.Minute, func() bool { return g.buffered.Load() > 0 })
				waits(t, time.Minute, func() bool { return g.table.Load().monolith.Free() == 1 })
				for range 3 {
					if status, text := ask(t, http.MethodGet, url+"/small", ""); status != http.StatusOK || text != "small" {
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
	tr := speaking(t, http2)
	tr.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 64 << 10}
	tr.DialContext = (&net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
	}}).DialContext
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, http.NoBody)
	fatal.If(t, err)
	in, out := io.Pipe()
	if path == "/upload" {
		r.Method, r.Body, r.ContentLength = http.MethodPost, in, int64(len(sent))
	}
	upload := func(p []byte) {
		if path == "/upload" {
			_, _ = out.Write(p)
		}
	}
	responses, half := make(chan *http.Response, 1), len(sent)/2
	begin = func() {
		go func() {
			resp, err := tr.RoundTrip(r)
			if err != nil {
				t.Error(err)
				resp = &http.Response{Body: http.NoBody}
			}
			responses <- resp
		}()
		upload(sent[:half])
	}
	return begin, func() []byte {
		upload(sent[half:])
		_ = out.Close()
		resp := <-responses
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil || path == "/unknown" && resp.Trailer.Get("X-Sum") != "sum" {
			t.Errorf("%v, trailer %v", err, resp.Trailer)
		}
		return got
	}
}

// byConnection responds with the user who was named on the connection last, as NTLM has it.
func byConnection() http.HandlerFunc {
	var mu sync.Mutex
	users := map[string]string{}
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		connection := fmt.Sprint(r.RemoteAddr, r.Context().Value(http.LocalAddrContextKey)) // monolith and candidate may see one port
		if a := r.Header.Get("Authorization"); a != "" {
			users[connection] = a
		}
		_, _ = io.WriteString(w, users[connection])
	}
}

// TestPassingThroughInBytesIsAsByName: what a monolith sees of a request that only
// passes through is the same however it goes. With a response's
// header in the access log, none goes in bytes.
func TestPassingThroughInBytesIsAsByName(t *testing.T) {
	known := byConnection()
	m := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+" is asked by ")
		known(w, r)
		_, _ = io.WriteString(w, r.Header.Get("Traceparent")+r.Header.Get("Tracestate"))
	}))
	at := strings.TrimPrefix(m, "http://")
	ls, _ := facing(t, 2)
	behind(t, ls[0], Options{Monolith: upstreamAt(m)})
	behind(t, ls[1], Options{Monolith: upstreamAt(m), Access: accesslog.New(slog.New(slog.DiscardHandler), []string{"response_header:x"}, nil)})
	for i, way := range []string{"in bytes", "by name"} {
		c, err := net.Dial("tcp", ls[i].Addr().String())
		fatal.If(t, err)
		t.Cleanup(func() { c.Close() })
		from := bufio.NewReader(c)
		for _, tt := range []struct{ fields, want string }{
			{"Host: h\r\nAuthorization: NTLM alice\r\n", "h is asked by NTLM alice"},
			{"Host: h\r\n", "h is asked by "},
			{"Host: h\r\nauthorization: negotiate bob\r\n", "h is asked by negotiate bob"},
			{"Host: \r\n", at + " is asked by "},
			{"Host: h\r\nTraceparent: 00-parent\r\nTracestate: vendor=1\r\n", "h is asked by 00-parentvendor=1"},
		} {
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\n"+tt.fields+"\r\n")
			fatal.If(t, err)
			resp, err := http.ReadResponse(from, nil)
			fatal.If(t, err)
			got, err := io.ReadAll(resp.Body)
			if err != nil || string(got) != tt.want {
				t.Errorf("%s, %q: %q, %v, want %q", way, tt.fields, got, err, tt.want)
			}
		}
	}
}

// TestAccessLogInBytes: the usual access log takes no request out of the way in bytes.
func TestAccessLogInBytes(t *testing.T) {
	m := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("X-Request-Id")) }))
	var out bytes.Buffer
	g, url := running(t, Options{
		Monolith: upstreamAt(m), RequestID: "X-Request-Id",
		Access: accesslog.New(slog.New(slog.NewJSONHandler(&out, nil)), accesslog.Default, nil),
	})
	_, id := ask(t, http.MethodGet, url+"/a", "")
	g.active.wait(time.Minute) // a request is counted once it was answered
	if g.counts.inBytes.Load() != 1 {
		t.Fatalf("%d in bytes", g.counts.inBytes.Load())
	}
	var line struct {
		ID, Path, Side string
		RequestID      string `json:"request_id"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.RequestID != id || len(id) != 32 || line.Path != "/a" || line.Side != "monolith" {
		t.Errorf("%+v, %v; the monolith got %s", line, err, id)
	}
}

// TestAuthenticatedConnectionsAreNotShared: a monolith that takes a connection for its
// first user's, as NTLM has it, never takes one user for another, by whichever way the
// requests go, mirrored ones too.
func TestAuthenticatedConnectionsAreNotShared(t *testing.T) {
	for _, scheme := range []string{"NTLM", "negotiate"} {
		for _, body := range []string{"", strings.Repeat("x", 128<<10)} {
			says := byConnection()
			c := serving(t, says)
			spec := everything()
			spec.Safe, spec.Mirror.RepeatEvery = true, 1
			spec.Candidate = new(upstreamAt(c))
			s := open(t, spec, says, nil)
			for _, share := range []whittle.Share{0, whittle.All} {
				s.apply(share, whittle.PhaseShift)
				for _, a := range []string{scheme + " alice", "", scheme + " bob", ""} {
					r := s.sends(http.MethodPost, body, "X-User", "u")
					if a != "" {
						r.Header.Set("Authorization", a)
					}
					if status, got := s.gets(r); status != http.StatusOK || got != a {
						t.Errorf("%s with %d bytes, share %d: %q was taken for %q", scheme, len(body), share, a, got)
					}
					s.rests()
				}
			}
		}
	}
}
