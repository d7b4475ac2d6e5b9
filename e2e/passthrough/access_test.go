package passthrough

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"whittle/carve/gateway"
	"whittle/carve/gateway/accesslog"
)

// accessLines takes the lines of an access log.
type accessLines struct {
	mu    sync.Mutex
	lines []map[string]any
}

func (a *accessLines) Write(p []byte) (int, error) {
	var line map[string]any
	if err := json.Unmarshal(p, &line); err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, line)
	return len(p), nil
}

// next waits for the line behind the first n.
func (a *accessLines) next(t *testing.T, n int) (line map[string]any) {
	t.Helper()
	eventually(t, "a line of the access log", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.lines) > n {
			line = a.lines[n]
		}
		return line != nil
	})
	return line
}

func logged(a *accessLines, respond bool) func(*options) {
	return func(o *options) {
		fields := append(append([]string(nil), accesslog.Names...), "header:X-Tenant")
		if respond { // else everyday requests pass in bytes
			fields = append(fields, "response_header:X-Cache")
		}
		o.Access = accesslog.New(slog.New(slog.NewJSONHandler(a, nil)), fields, 1, nil)
		o.RequestID = gateway.RequestID{Header: "X-Request-Id", Respond: respond}
	}
}

// TestAccessLog has a line of each kind of request, the same on both ways.
func TestAccessLog(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Cache", "hit")
		w.Header().Set("X-Seen", r.Header.Get("X-Request-Id"))
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/piece":
			for range 3 {
				_, _ = io.WriteString(w, "abc")
				w.(http.Flusher).Flush()
			}
		case "/switch":
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_ = rw.Flush()
			_, _ = io.CopyN(c, rw, 5)
			_ = c.Close()
		case "/break":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "ab")
			panic(http.ErrAbortHandler)
		default:
			n, _ := io.Copy(io.Discard, r.Body)
			_, _ = fmt.Fprintf(w, "took %d", n)
		}
	})
	address := strings.TrimPrefix(u.URL, "http://")
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := dead.Addr().String()
	_ = dead.Close()
	for _, respond := range []bool{false, true} {
		var lines accessLines
		g := through(t, u.URL, logged(&lines, respond), func(o *options) { o.Limits.BodyBytes = 5000 })
		for i, c := range []struct {
			request, more string
			want          map[string]any
		}{
			{"GET /a?secret=1 HTTP/1.1\r\nx-request-id: forged\r\nUser-Agent: ua\r\nReferer: r\r\nX-Tenant: t\r\n", "", map[string]any{"method": "GET", "path": "/a", "status": 200.0, "bytes_in": 0.0, "bytes_out": 6.0, "user_agent": "ua", "referer": "r", "header:X-Tenant": "t", "response_header:X-Cache": "hit"}},
			{"POST / HTTP/1.1\r\nContent-Length: 1000\r\n", strings.Repeat("x", 1000), map[string]any{"bytes_in": 1000.0, "bytes_out": 9.0}},
			{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n", map[string]any{"bytes_in": 3.0, "bytes_out": 6.0}},
			{"POST / HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n", "abc", map[string]any{"bytes_in": 3.0}},
			{"HEAD / HTTP/1.1\r\n", "", map[string]any{"status": 200.0, "bytes_out": 0.0, "method": "HEAD"}},
			{"GET / HTTP/1.0\r\n", "", map[string]any{"proto": "HTTP/1.0", "bytes_out": 6.0}},
			{"GET /gone HTTP/1.1\r\n", "", map[string]any{"status": 404.0, "bytes_out": 0.0}},
			{"GET /piece HTTP/1.1\r\n", "", map[string]any{"status": 200.0, "bytes_out": 9.0}},
			{"GET /switch HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: echo\r\n", "hello", map[string]any{"status": 101.0, "bytes_in": 5.0, "bytes_out": 5.0}},
			{"GET /break HTTP/1.1\r\n", "", map[string]any{"status": 502.0, "failure": "reset"}},
			{"POST / HTTP/1.1\r\nContent-Length: 6000\r\n", "", map[string]any{"status": 413.0, "failure": "canceled", "side": nil, "upstream": nil}},
		} {
			ending := "Connection: close\r\n"
			if strings.Contains(c.request, "Connection") {
				ending = ""
			}
			got := exchange(t, g.addr, c.request+ending+"Host: h\r\n\r\n"+c.more)
			line := lines.next(t, i)
			want := map[string]any{"host": "h", "side": "monolith", "upstream": address, "route": "", "client": "127.0.0.1"}
			maps.Copy(want, c.want)
			if !respond {
				delete(want, "response_header:X-Cache")
			}
			for name, v := range want {
				if line[name] != v {
					t.Errorf("%q: %s is %v, want %v: %v", firstLine(c.request), name, line[name], v, line)
				}
			}
			id, _ := line["request_id"].(string)
			if len(id) != 32 || line["took"].(float64) < 0 || line["time"] == nil || strings.Contains(fmt.Sprint(line), "secret") {
				t.Errorf("%q: %v", firstLine(c.request), line)
			}
			if line["upstream"] != nil && line["status"] == 200.0 && !strings.Contains(got, "X-Seen: "+id) {
				t.Errorf("%q: the upstream did not get the id %s: %q", firstLine(c.request), id, got)
			}
			if line["status"] != 101.0 && strings.Contains(got, "X-Request-Id: "+id) != respond {
				t.Errorf("%q: respond %v: %q", firstLine(c.request), respond, got)
			}
		}
	}
	var lines accessLines
	g := through(t, "http://"+nobody, logged(&lines, true))
	exchange(t, g.addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if line := lines.next(t, 0); line["status"] != 502.0 || line["failure"] != "connect" || line["upstream"] != nobody || line["detail"] == nil {
		t.Errorf("%v", line)
	}
}

// TestRequestIDs: a trusted peer's id is kept if it is one, and nobody else's.
func TestRequestIDs(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header["X-Request-Id"], "|"))
	})
	for _, trust := range []bool{false, true} {
		var lines accessLines
		g := through(t, u.URL, logged(&lines, true), func(o *options) {
			if trust {
				o.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}
		})
		for _, c := range []struct {
			ids  []string
			good bool
		}{
			{[]string{"abc-124\r\nConnection: x-request-id"}, true},
			{[]string{"abc-123"}, true},
			{[]string{strings.Repeat("x", 200)}, true},
			{[]string{strings.Repeat("x", 201)}, false},
			{[]string{"a b"}, false},
			{[]string{"é"}, false},
			{[]string{""}, false},
			{[]string{"a", "b"}, false},
			{nil, false},
		} {
			text := "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
			for _, id := range c.ids {
				text += "x-request-id: " + id + "\r\n"
			}
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(exchange(t, g.addr, text+"\r\n"))), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := mustRead(t, resp.Body)
			if kept := c.good && trust; kept && got != firstLine(c.ids[0]) || !kept && len(got) != 32 || len(resp.Header["X-Request-Id"]) != 1 || resp.Header.Get("X-Request-Id") != got {
				t.Errorf("%q, trusted %v: the upstream got %q, the client %q", c.ids, trust, got, resp.Header["X-Request-Id"])
			}
			_ = resp.Body.Close()
		}
	}
}

// TestAccessLogHTTP2 has the same of a request by HTTP/2.
func TestAccessLogHTTP2(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprintf(w, "took %d", n)
	})
	files, roots := certificate(t, t.TempDir(), "one")
	var lines accessLines
	g := through(t, u.URL, logged(&lines, true), func(o *options) { o.TLS = &files })
	resp, err := tlsClient(t, roots, true).Post("https://"+g.addr+"/p", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	_ = mustRead(t, resp.Body)
	_ = resp.Body.Close()
	line := lines.next(t, 0)
	if line["proto"] != "HTTP/2.0" || line["tls"] != "TLS 1.3" || line["bytes_in"] != 5.0 || line["bytes_out"] != 6.0 || line["request_id"] != resp.Header.Get("X-Request-Id") {
		t.Errorf("%v, %v", line, resp.Header)
	}
}
