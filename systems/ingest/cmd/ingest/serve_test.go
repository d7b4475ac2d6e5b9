package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/certtest"
	"whittle/internal/fatal"
	"whittle/internal/units"
	"whittle/systems/ingest/stream/embedded"
)

func writeKeys(t *testing.T, dir, text string) {
	t.Helper()
	fatal.If(t, os.WriteFile(filepath.Join(dir, "keys"), []byte(text), 0o600))
}

// TestDuplicatesAcrossAKeyRotation sends an event again by the next write key of
// its source, as a client's queue on disk does: while both keys are in the list,
// after a restart, and when the old one opens nothing any more.
func TestDuplicatesAcrossAKeyRotation(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) { writeKeys(t, dir, text) }
	const body = `{"userId":"u","event":"e","messageId":"once"}`
	send := func(p *running, key string) receipt {
		t.Helper()
		r, err := post(http.DefaultClient, p.public+"/v1/track", key, "application/json", body)
		fatal.If(t, err)
		return r
	}
	serve := func() *running {
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
	p.Kill()
	p = serve()
	if again := send(p, "new"); again.Status != "duplicate" || again.Position != first.Position {
		t.Errorf("by the next key after a kill: %+v", again)
	}
}

func TestSettingsFromEnvFile(t *testing.T) {
	dir := t.TempDir()
	text := "PORT=0\nINGEST_HOST=127.0.0.1\nINGEST_ADMIN=127.0.0.1:0\nINGEST_DATA=from-file\nINGEST_MAX_IMPORT=100\n"
	fatal.If(t, os.WriteFile(filepath.Join(dir, ".env"), []byte(text), 0o600))
	// The environment goes before the file, a flag before both.
	p := start(t, dir, []string{"INGEST_DATA=from-environment", "INGEST_MAX_IMPORT=50"}, "--max-import", "10")
	for body, want := range map[string]int{"0123456789": 200, "0123456789a": 413} {
		if a, err := post(http.DefaultClient, p.public+"/import", "", "text/plain", body); err != nil || a.code != want {
			t.Errorf("%d bytes: %+v, %v", len(body), a, err)
		}
	}
	p.End(t)
	if r, err := embedded.Verify(t.Context(), filepath.Join(dir, "from-environment")); r.Records != 1 || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "from-file")); err == nil {
		t.Error("the file went before the environment")
	}
}

func TestKeysAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) { writeKeys(t, dir, text) }
	write("one\n")
	p := start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--keys", "keys")
	code := func(key string) int {
		t.Helper()
		a, err := post(http.DefaultClient, p.public+"/import", key, "text/plain", "x")
		fatal.If(t, err)
		return a.code
	}
	if code("one") != 200 || code("two") != 401 || code("") != 401 {
		t.Error("the list is not what the file says")
	}
	write("two # again\n")
	process.Until(t, "the changed file is read", func() bool { return code("two") == 200 })
	fatal.Same(t, code("one"), 401, "a key that is gone")
	write("three\n")
	fatal.If(t, p.Signal(syscall.SIGHUP))
	process.Until(t, "the file is read on SIGHUP", func() bool { return code("three") == 200 })
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
		if res, text := process.Ask(t, http.MethodGet, p.admin+path, ""); res.StatusCode != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.200s", path, res.StatusCode, text)
		}
	}
	if res, _ := process.Ask(t, http.MethodGet, p.admin+"/metrics", "", "Host: rebound.example"); res.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign host name: %d", res.StatusCode)
	}
	if res, _ := process.Ask(t, http.MethodGet, p.public+"/metrics", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("metrics on the public port: %d", res.StatusCode)
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

// TestTLS serves HTTPS, on the fast path and off it, and takes a new certificate
// without a restart; a broken one leaves the old one in force.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	a := certtest.New(t)
	write := func(name string) {
		pair := a.For(t, name)
		pair.Write(t, dir, "cert.pem", "key.pem")
	}
	write("first")
	p := start(t, dir, nil, "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
	address := strings.TrimPrefix(p.public, "http://")
	served := func() string {
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test looks at the certificate itself
		fatal.If(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}} //nolint:gosec // as above
	defer client.CloseIdleConnections()
	for i := range 5 {
		a, err := post(client, "https://"+address+"/import", "", "text/plain", fmt.Sprint("event ", i))
		if err != nil || a.code != 200 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	big, err := post(client, "https://"+address+"/import", "", "text/plain", strings.Repeat("x", 400<<10)) // off the fast path
	if err != nil || big.code != 200 {
		t.Fatalf("%+v, %v", big, err)
	}
	for _, offered := range [][]string{nil, {"http/1.0"}, {"http/1.1", "http/1.0"}} { // curl --http1.0 offers that alone
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: offered}) //nolint:gosec // as above
		if err != nil {
			t.Errorf("a client that offers %q: %v", offered, err)
			continue
		}
		_, err = io.WriteString(c, "POST /import HTTP/1.0\r\nContent-Length: 1\r\n\r\nx")
		if said, _ := io.ReadAll(c); err != nil || !bytes.HasPrefix(said, []byte("HTTP/1.0 200")) {
			t.Errorf("a client that offers %q: %s, %v", offered, said, err)
		}
		c.Close()
	}
	if res, _ := process.Ask(t, http.MethodGet, p.public+"/import", ""); res.StatusCode != http.StatusBadRequest { // plain HTTP
		t.Errorf("plain HTTP is responded to with %d", res.StatusCode)
	}
	fatal.Same(t, served(), "first", "certificate")
	fatal.If(t, os.WriteFile(filepath.Join(dir, "cert.pem"), []byte("no certificate, for a moment"), 0o600))
	fatal.Same(t, served(), "first", "certificate while the file is broken")
	write("second")
	process.Until(t, "the new certificate is served", func() bool { return served() == "second" })
	p.End(t)
	for _, args := range [][]string{{"--tls-cert", "cert.pem"}, {"--tls-cert", "none.pem", "--tls-key", "key.pem"}} {
		var out, errs bytes.Buffer
		t.Chdir(dir)
		line := append([]string{"serve", "--env-file", "", "--port", "0", "--admin", "", "--data", t.TempDir()}, args...)
		if status := Run(t.Context(), line, streams{in: strings.NewReader(""), out: &out, err: &errs}); status != 2 || !strings.Contains(errs.String(), "--tls-") {
			t.Errorf("%q: status %d: %s", args, status, &errs)
		}
	}
}
