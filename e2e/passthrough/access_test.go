package passthrough

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"whittle/carve/gateway"
	"whittle/carve/gateway/accesslog"
	"whittle/internal/fatal"
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

func logged(a *accessLines, respond bool) func(*options) {
	return func(o *options) {
		fields := append(append([]string(nil), accesslog.Names...), "header:X-Tenant")
		if respond { // else everyday requests pass in bytes
			fields = append(fields, "response_header:X-Cache")
		}
		o.Access = accesslog.New(slog.New(slog.NewJSONHandler(a, nil)), fields, nil)
		o.RequestID = gateway.RequestID{Header: "X-Request-Id", Respond: respond}
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
			fatal.If(t, err)
			got := mustRead(t, resp.Body)
			if kept := c.good && trust; kept && got != firstLine(c.ids[0]) || !kept && len(got) != 32 || len(resp.Header["X-Request-Id"]) != 1 || resp.Header.Get("X-Request-Id") != got {
				t.Errorf("%q, trusted %v: the upstream got %q, the client %q", c.ids, trust, got, resp.Header["X-Request-Id"])
			}
			_ = resp.Body.Close()
		}
	}
}
