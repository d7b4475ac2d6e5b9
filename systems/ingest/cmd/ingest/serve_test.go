package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"whittle/internal/units"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// held reads a log at rest and gives its records by position.
func held(t *testing.T, dir string) map[string]stream.Record {
	t.Helper()
	log, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(log)
	parts, err := log.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]stream.Record{}
	for _, p := range parts {
		err := stream.Walk(t.Context(), log, p, func(batch []stream.Entry) error {
			for i := range batch {
				r := batch[i].Record
				r.Value = append([]byte(nil), r.Value...)
				all[formatPosition(batch[i].Position)] = r
			}
			return nil
		}, func(e *stream.CorruptError) error { return e })
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestTermUnderLoad ends the real process while clients send: it ends cleanly,
// and every event that was acknowledged is in the log, at its
// position, byte for byte.
func TestTermUnderLoad(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0")
	type kept struct{ position, body string }
	var (
		mu        sync.Mutex
		receipts  []kept
		responded atomic.Int64
		senders   sync.WaitGroup
	)
	for sender := range 16 {
		senders.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for n := 0; ; n++ {
				body := fmt.Sprintf("sender %d event %d %s", sender, n, strings.Repeat("x", n%500))
				a, err := post(client, p.public+"/import", "", "text/plain", body)
				if err != nil {
					return // closed: it is ending
				}
				if a.code == 200 {
					mu.Lock()
					receipts = append(receipts, kept{a.Position, body})
					mu.Unlock()
					responded.Add(1)
				}
			}
		})
	}
	eventually(t, "events are acknowledged", func() bool { return responded.Load() > 500 })
	p.stop(t)
	senders.Wait()
	all := held(t, filepath.Join(dir, "ingest-data"))
	for _, r := range receipts {
		if got, ok := all[r.position]; !ok || string(got.Value) != r.body {
			t.Fatalf("%q was acknowledged at %s; there is %q", r.body, r.position, got.Value)
		}
	}
	if len(all) < len(receipts) {
		t.Errorf("%d receipts, %d records", len(receipts), len(all))
	}
}

// TestDuplicatesAcrossARestart sends an event again after the server was ended
// and after it was killed.
func TestDuplicatesAcrossARestart(t *testing.T) {
	dir := t.TempDir()
	const body = `{"userId":"u","event":"e","messageId":"once"}`
	args := []string{"--host", "127.0.0.1", "--port", "0", "--admin", ""}
	startIdle := func() *process { return start(t, dir, nil, args...) }
	p := startIdle()
	first, err := post(http.DefaultClient, p.public+"/v1/track", "", "application/json", body)
	if err != nil || first.Status != "accepted" {
		t.Fatalf("%+v, %v", first, err)
	}
	p.stop(t)
	p = startIdle()
	again, err := post(http.DefaultClient, p.public+"/v1/track", "", "application/json", body)
	if err != nil || again.Status != "duplicate" || again.Position != first.Position {
		t.Errorf("after a stop: %+v, %v", again, err)
	}
	p.kill()
	p = startIdle()
	again, err = post(http.DefaultClient, p.public+"/v1/track", "", "application/json", body)
	if err != nil || again.Status != "duplicate" || again.Position != first.Position {
		t.Errorf("after a kill: %+v, %v", again, err)
	}
}

// TestDuplicatesAcrossAKeyRotation sends an event again by the next write key of
// its source, as a client's queue on disk does: while both keys are in the list,
// after a restart, and when the old one opens nothing any more.
func TestDuplicatesAcrossAKeyRotation(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "keys"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const body = `{"userId":"u","event":"e","messageId":"once"}`
	send := func(p *process, key string) receipt {
		t.Helper()
		r, err := post(http.DefaultClient, p.public+"/v1/track", key, "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	serve := func() *process {
		return start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "", "--keys", "keys")
	}
	write("old name=shop\nnew name=shop\nother name=app\n")
	p := serve()
	first := send(p, "old")
	if again := send(p, "new"); again.Status != "duplicate" || again.Position != first.Position {
		t.Errorf("by the next key: %+v", again)
	}
	if theirs := send(p, "other"); theirs.Status != "accepted" {
		t.Errorf("of another source: %+v", theirs)
	}
	p.stop(t)
	write("old name=shop allow=none\nnew name=shop\n")
	p = serve()
	if again := send(p, "new"); again.Status != "duplicate" || again.Position != first.Position {
		t.Errorf("by the next key after a restart: %+v", again)
	}
	if no := send(p, "old"); no.code != 403 {
		t.Errorf("by a key that may nothing: %+v", no)
	}
}

func TestSettingsFromEnvFile(t *testing.T) {
	dir := t.TempDir()
	text := "PORT=0\nINGEST_HOST=127.0.0.1\nINGEST_ADMIN=127.0.0.1:0\nINGEST_DATA=from-file\nINGEST_MAX_IMPORT=100\n"
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// The environment goes before the file, a flag before both.
	p := start(t, dir, []string{"INGEST_DATA=from-environment", "INGEST_MAX_IMPORT=50"}, "--max-import", "10")
	for body, want := range map[string]int{"0123456789": 200, "0123456789a": 413} {
		if a, err := post(http.DefaultClient, p.public+"/import", "", "text/plain", body); err != nil || a.code != want {
			t.Errorf("%d bytes: %+v, %v", len(body), a, err)
		}
	}
	p.stop(t)
	if n := len(held(t, filepath.Join(dir, "from-environment"))); n != 1 {
		t.Errorf("%d records", n)
	}
	if _, err := os.Stat(filepath.Join(dir, "from-file")); err == nil {
		t.Error("the file went before the environment")
	}
}

func TestKeysAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "keys"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	p := start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--keys", "keys")
	code := func(key string) int {
		t.Helper()
		a, err := post(http.DefaultClient, p.public+"/import", key, "text/plain", "x")
		if err != nil {
			t.Fatal(err)
		}
		return a.code
	}
	if code("one") != 200 || code("two") != 401 || code("") != 401 {
		t.Error("the list is not what the file says")
	}
	write("two two\n")
	eventually(t, "the changed file is read", func() bool { return code("two") == 200 })
	if code("one") != 401 {
		t.Error("a key that is gone is still known")
	}
	write("three\n")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the file is read on SIGHUP", func() bool { return code("three") == 200 })
	write("")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code("three") != 200 || code("") != 401 {
		t.Error("an emptied file changed who may come in")
	}
}

// TestFilesThatChangeWhileItStarts changes a file behind its first reading, and sends
// a signal before anybody waits for it: either has it read again.
func TestFilesThatChangeWhileItStarts(t *testing.T) {
	for name, come := range map[string]func(file string, w *watcher) error{
		"change": func(file string, _ *watcher) error { return os.WriteFile(file, []byte("longer"), 0o600) },
		"signal": func(_ string, w *watcher) error { w.hup <- syscall.SIGHUP; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "keys")
			if err := os.WriteFile(file, []byte("short"), 0o600); err != nil {
				t.Fatal(err)
			}
			w := newWatcher()
			defer w.stop()
			ctx, end := context.WithCancel(t.Context())
			w.files = []watched{{"write keys", []string{file}, stampsOf([]string{file}), func() error { end(); return nil }}}
			if err := come(file, w); err != nil {
				t.Fatal(err)
			}
			w.watch(ctx, slog.New(slog.DiscardHandler)) // the reading ends it
		})
	}
}

// drainsWithOne tells a server with one request under way to end, and waits until it
// says that it is closing down.
func drainsWithOne(t *testing.T, p *process) {
	t.Helper()
	eventually(t, "the request is under way", func() bool {
		_, text := get(t, p.admin+"/metrics")
		return strings.Contains(text, "ingest_requests_in_flight 1\n")
	})
	p.ended = true
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it says that it is not ready", func() bool {
		code, text := get(t, p.admin+"/ready")
		return code == 503 && strings.Contains(text, "closing down")
	})
}

// TestReloadWhileItDrains sends SIGHUP to a server that is closing down: the request
// under way gets its response.
func TestReloadWhileItDrains(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keys"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--keys", "keys")
	slow := dial(t, p.public)
	if _, err := fmt.Fprintf(slow, "POST /import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer one\r\nContent-Length: 10\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	drainsWithOne(t, p)
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Write([]byte("defghij")); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(slow), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("%s", res.Status)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, p.log)
	}
}

func TestAdminPort(t *testing.T) {
	p := start(t, t.TempDir(), nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0")
	if _, err := post(http.DefaultClient, p.public+"/import", "", "text/plain", "x"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/live":                 `{"live":true}`,
		"/ready":                `"durability":"local-fsync"`,
		"/metrics":              `ingest_events_total{outcome="accepted"} 1`,
		"/debug/pprof/cmdline":  "--admin",
		"/debug/pprof/heap":     "",
		"/debug/pprof/symbol?0": "num_symbols",
	} {
		if code, text := get(t, p.admin+path); code != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.200s", path, code, text)
		}
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, p.admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.example"
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign host name: %d", res.StatusCode)
	}
	if code, _ := get(t, p.public+"/metrics"); code != 404 {
		t.Errorf("metrics on the public port: %d", code)
	}
}

// TestSecondSignal ends a server at once that is held up by a request whose
// body does not come.
func TestSecondSignal(t *testing.T) {
	p := start(t, t.TempDir(), nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--drain", "10m")
	hang := dial(t, p.public)
	if _, err := fmt.Fprintf(hang, "POST /import HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	drainsWithOne(t, p)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := p.cmd.Wait()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", err)
	}
}

// TestReserve: nothing of the disk stays free where 0 is asked for.
func TestReserve(t *testing.T) {
	for given, want := range map[units.Bytes]int64{0: -1, 1: 1, 64 << 20: 64 << 20} {
		v := serveVerb{logFlags: logFlags{Reserve: given}}
		if o, err := v.embeddedOptions(nil); err != nil || o.Reserve != want {
			t.Errorf("%d: %d, %v", given, o.Reserve, err)
		}
	}
}
