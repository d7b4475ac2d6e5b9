package accesslog

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/record/redact"
)

func written(t *testing.T, fields []string, every int, entries ...Entry) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	r, err := redact.New(redact.Rules{Headers: []string{"X-Tenant"}}, redact.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	l := New(slog.New(slog.NewJSONHandler(&out, nil)), fields, every, r)
	for i := range entries {
		l.Write(t.Context(), &entries[i])
	}
	var lines []map[string]any
	for d := json.NewDecoder(&out); d.More(); {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
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
		Reply: map[string][]string{"Cache-Control": {"no-store"}},
	}
	all := append(append([]string(nil), Names...), "header:x-a", "response_header:cache-control", "header:None")
	got := written(t, all, 1, full)[0]
	want := map[string]any{
		"request_id": "7", "method": "GET", "host": "h", "path": "/p", "proto": "HTTP/1.1", "tls": "TLS 1.3", "peer": "1.2.3.4:5", "client": "6.7.8.9",
		"route": "GET /p", "side": "candidate", "status": 200.0, "bytes_in": 1.0, "bytes_out": 2.0, "took": 0.001235, "upstream": "a:1", "upstream_time": 1.0,
		"user_agent": "curl", "referer": "/", "preview": true, "failure": "reset", "detail": "broke", "header:x-a": "1, 2", "response_header:cache-control": "no-store",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	got = written(t, all, 1, Entry{Method: "GET"})[0]
	for _, name := range []string{"request_id", "tls", "side", "upstream", "upstream_time", "user_agent", "preview", "failure", "detail", "header:x-a"} {
		if _, there := got[name]; there {
			t.Errorf("%s is there: %v", name, got)
		}
	}
}

// TestSample: of what went well one in so many, of the rest all.
func TestSample(t *testing.T) {
	var entries []Entry
	for i := range 100 {
		entries = append(entries, Entry{Status: 200, Path: fmt.Sprint(i)})
		switch i % 4 {
		case 0:
			entries = append(entries, Entry{Status: 503})
		case 1:
			entries = append(entries, Entry{Status: 0})
		case 2:
			entries = append(entries, Entry{Status: 200, Failure: whittle.FailedReset})
		}
	}
	well := 0
	lines := written(t, []string{"status", "failure"}, 10, entries...)
	for _, l := range lines {
		if l["status"] == 200.0 && l["failure"] == nil {
			well++
		}
	}
	if well != 10 || len(lines) != 85 {
		t.Errorf("%d of 100 that went well, %d lines", well, len(lines))
	}
}

// TestSecrets: none is in a line, wherever it stands.
func TestSecrets(t *testing.T) {
	const token, card = "ghp_0123456789abcdefghij0123456789abcdef", "4111111111111111"
	e := Entry{
		Status: 200, Path: "/u/" + token, Detail: "bad " + token,
		Header: map[string][]string{"Authorization": {"Bearer abcdefghijklmnop"}, "Cookie": {"session=abcdefghijklmnop"}, "X-Tenant": {"shop"}, "User-Agent": {"x " + card}, "Referer": {"https://h/?token=" + token}},
		Reply:  map[string][]string{"Set-Cookie": {"session=abcdefghijklmnop"}, "Location": {"/?code=" + token}},
	}
	line := fmt.Sprint(written(t, []string{"path", "detail", "user_agent", "referer", "header:Authorization", "header:Cookie", "header:X-Tenant", "response_header:Set-Cookie", "response_header:Location"}, 1, e))
	for _, secret := range []string{token, card, "abcdefghijklmnop", ":shop"} {
		if strings.Contains(line, secret) {
			t.Errorf("%q is in %s", secret, line)
		}
	}
	if !strings.Contains(line, "/u/redacted-") || e.Header["Cookie"][0] != "session=abcdefghijklmnop" {
		t.Errorf("%s; the request's own header: %v", line, e.Header)
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
	if said != 1 {
		t.Errorf("said %d times", said)
	}
}

// TestRotate renames the file as logrotate does: no line is lost, and each is whole.
func TestRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	o, err := ToFile(path, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	l := New(o.Logger(), []string{"path"}, 1, nil)
	requests := make(chan os.Signal)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.Rotate(ctx, requests, func(err error) { t.Error(err) })
	}()
	const rotations, each = 5, 200
	for i := range rotations {
		for k := range each {
			l.Write(t.Context(), &Entry{Path: fmt.Sprint(i*each + k), Status: 200})
		}
		if err := os.Rename(path, fmt.Sprintf("%s.%d", path, i)); err != nil {
			t.Fatal(err)
		}
		requests <- os.Interrupt
		for began := time.Now(); ; {
			if _, err := os.Stat(path); err == nil {
				break
			} else if time.Since(began) > time.Minute {
				t.Fatalf("not opened again: %v", err)
			}
		}
	}
	l.Write(t.Context(), &Entry{Path: "last", Status: 200})
	stop()
	<-ended
	if err := o.Close(time.Minute); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	files, _ := filepath.Glob(path + "*")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var v struct{ Time, Path, Level, Msg string }
			if err := json.Unmarshal([]byte(line), &v); err != nil || v.Time == "" || v.Level != "" || v.Msg != "" {
				t.Errorf("%q: %v", line, err)
			}
			seen[v.Path] = true
		}
	}
	if len(files) != rotations+1 || len(seen) != rotations*each+1 {
		t.Errorf("%d files, %d lines", len(files), len(seen))
	}
}

// TestRotateFails: a file that cannot be opened again is written on.
func TestRotateFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Open(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	if f.Reopen() == nil {
		t.Error("opened in a folder that is not there")
	}
	if _, err := f.Write([]byte("x\n")); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir+".moved", "log")); string(b) != "x\n" {
		t.Errorf("%q", b)
	}
}
