package http1

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/internal/http1/smugglingtest"
)

var update = flag.Bool("update", false, "write what net/http does to smuggling/cases.json")

// TestSmuggling holds every row to its status, whole and byte by byte, and to
// what net/http does with it. A row that net/http accepts and this package
// refuses is where this package is stricter; there is no other list.
func TestSmuggling(t *testing.T) {
	rows := smugglingtest.Cases("")
	if len(rows) < 100 {
		t.Fatalf("%d cases", len(rows))
	}
	for i := range rows {
		row := &rows[i]
		read, theirs := readRequest, netHTTPServer
		if row.Side == "response" {
			read, theirs = readResponse, netHTTPClient
		}
		for _, step := range []int{len(row.Message), 1, 7} {
			got := read([]byte(row.Message), step, 0)
			if status := statusOf(got.err); status != row.Status {
				t.Errorf("%s %q by %d: %v, want status %d", row.Side, row.Name, step, got.err, row.Status)
			}
		}
		verdict := "refuses"
		if theirs(t, row.Message) {
			verdict = "accepts"
		}
		if *update {
			row.NetHTTP = verdict
		}
		if row.NetHTTP != verdict {
			t.Errorf("%s %q: net/http %s it", row.Side, row.Name, verdict)
		}
		if row.Nginx == "" || row.Envoy == "" {
			t.Errorf("%s %q does not say what nginx and Envoy do", row.Side, row.Name)
		}
	}
	if *update {
		text, err := json.MarshalIndent(rows, "", " ")
		fatal.If(t, err)
		fatal.If(t, os.WriteFile("smuggling/cases.json", append(text, '\n'), 0o644))
	}
}

func statusOf(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return -1
}

// netHTTPServer reports whether a net/http server hands the request with its
// whole body to a handler.
func netHTTPServer(t *testing.T, message string) bool {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	whole := make(chan struct{}, 10)
	s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			whole <- struct{}{}
		}
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	fatal.If(t, err)
	_, _ = io.WriteString(c, message)
	_ = c.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, c)
	_ = c.Close()
	_ = s.Close()
	<-done
	return len(whole) > 0
}

// netHTTPClient reports whether net/http reads the response with its whole body.
func netHTTPClient(t *testing.T, message string) bool {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(message)), nil)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil
}
