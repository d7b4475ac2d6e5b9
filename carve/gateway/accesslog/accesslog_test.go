package accesslog

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/redact"
)

func written(t *testing.T, fields []string, entries ...Entry) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	r, err := redact.New(redact.Rules{Headers: []string{"X-Tenant"}}, redact.NewKey())
	fatal.If(t, err)
	l := New(slog.New(slog.NewJSONHandler(&out, nil)), fields, r)
	for i := range entries {
		l.Write(t.Context(), &entries[i])
	}
	var lines []map[string]any
	for d := json.NewDecoder(&out); d.More(); {
		var line map[string]any
		fatal.If(t, d.Decode(&line))
		delete(line, "time")
		delete(line, "level")
		delete(line, "msg")
		lines = append(lines, line)
	}
	return lines
}

// TestFields has every field of a request, and none that it has not.
func TestFields(t *testing.T) {
	full := Entry{
		RequestID: "7", Method: "GET", Host: "h", Path: "/p", Proto: "HTTP/1.1", Peer: "1.2.3.4:5", Client: "6.7.8.9", TLS: tls.VersionTLS13, Route: "GET /p",
		Side: "candidate", Status: 200, In: 1, Out: 2, Took: 1234567 * time.Nanosecond, Upstream: "a:1", UpstreamTime: time.Second, Preview: true,
		Failure: whittle.FailedReset, Detail: "broke", Header: map[string][]string{"User-Agent": {"curl"}, "Referer": {"/"}, "X-A": {"1", "2"}},
	}
	all := append(append([]string(nil), Names...), "header:x-a", "header:None")
	got := written(t, all, full)[0]
	want := map[string]any{
		"request_id": "7", "method": "GET", "host": "h", "path": "/p", "proto": "HTTP/1.1", "tls": "TLS 1.3", "peer": "1.2.3.4:5", "client": "6.7.8.9",
		"route": "GET /p", "side": "candidate", "status": 200.0, "bytes_in": 1.0, "bytes_out": 2.0, "took": 0.001235, "upstream": "a:1", "upstream_time": 1.0,
		"user_agent": "curl", "referer": "/", "preview": true, "failure": "reset", "detail": "broke", "header:x-a": "1, 2",
	}
	fatal.Same(t, fmt.Sprint(got), fmt.Sprint(want), "the fields")
	got = written(t, all, Entry{Method: "GET"})[0]
	for _, name := range []string{"request_id", "tls", "side", "upstream", "upstream_time", "user_agent", "preview", "failure", "detail", "header:x-a"} {
		if _, there := got[name]; there {
			t.Errorf("%s is there: %v", name, got)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestAFileThatTakesNothing is said once, and not for each line.
func TestAFileThatTakesNothing(t *testing.T) {
	said := 0
	w := &watched{to: full{}, failed: func(err error) {
		if said++; !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
	}}
	for range 3 {
		if _, err := w.Write([]byte("{}\n")); err == nil {
			t.Error("written")
		}
	}
	fatal.Same(t, said, 1, "times said")
}
