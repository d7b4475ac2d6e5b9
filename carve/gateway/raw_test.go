package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/carve/gateway/accesslog"
	"whittle/internal/fatal"
)

// TestPassingThroughInBytesIsAsByName: what a monolith sees of a request that only
// passes through is the same however it goes. With a response's
// header in the access log, none goes in bytes.
func TestPassingThroughInBytesIsAsByName(t *testing.T) {
	var mu sync.Mutex
	users := map[string]string{} // by connection, as NTLM has it
	m := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if a := r.Header.Get("Authorization"); a != "" {
			users[r.RemoteAddr] = a
		}
		_, _ = io.WriteString(w, r.Host+" is asked by "+users[r.RemoteAddr])
	}))
	t.Cleanup(m.Close)
	at := strings.TrimPrefix(m.URL, "http://")
	ls, _ := facing(t, 2)
	behind(t, ls[0], Options{Monolith: upstreamAt(m.URL)})
	behind(t, ls[1], Options{Monolith: upstreamAt(m.URL), Access: accesslog.New(slog.New(slog.DiscardHandler), []string{"response_header:x"}, nil)})
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
		} {
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n"+tt.fields+"\r\n"); err != nil {
				t.Fatal(err)
			}
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
	m := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("X-Request-Id")) }))
	t.Cleanup(m.Close)
	var out bytes.Buffer
	ls, _ := facing(t, 1)
	g := behind(t, ls[0], Options{
		Monolith: upstreamAt(m.URL), RequestID: RequestID{Header: "X-Request-Id"},
		Access: accesslog.New(slog.New(slog.NewJSONHandler(&out, nil)), accesslog.Default, nil),
	})
	resp, err := http.Get("http://" + ls[0].Addr().String() + "/a")
	fatal.If(t, err)
	id, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	g.active.wait(time.Minute) // a request is counted once it was answered
	if err != nil || g.counts.inBytes.Load() != 1 {
		t.Fatalf("%d in bytes, %v", g.counts.inBytes.Load(), err)
	}
	var line struct {
		ID, Path, Side string
		RequestID      string `json:"request_id"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.RequestID != string(id) || len(id) != 32 || line.Path != "/a" || line.Side != "monolith" {
		t.Errorf("%+v, %v; the monolith got %s", line, err, id)
	}
}
