package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/state"
	"whittle/internal/listening"
)

// A state file that could not be opened again is an error of whoever needs it: a reload with
// a new route loads one, and must not end the gateway.
func TestStateThatIsGone(t *testing.T) {
	var s stateFile
	if _, err := s.Load("GET /a"); whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("Load: %v", err)
	}
	if err := s.Save("GET /a", state.Record{}); whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("Save: %v", err)
	}
}

// A config that changed while another process was about to take over is read by this one if
// that does not.
func TestConfigThatWasMissed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whittle.yaml")
	if err := os.WriteFile(path, []byte("monolith: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	d := &deployment{log: slog.New(slog.NewTextHandler(&lines, nil)), replacement: newReplacement(inherited{sockets: &listening.Set{}})}
	d.file.Store(&config.File{Path: path})

	d.reloading.Lock() // as replace holds it
	d.reload("the file changed")
	d.reloading.Unlock()
	if got := lines.String(); !strings.Contains(got, "config not read") || strings.Contains(got, "refused") {
		t.Fatalf("while another process is about to take over: %s", got)
	}
	d.afterFailure()
	if got := lines.String(); strings.Count(got, "config refused") != 1 {
		t.Errorf("after that did not: %s", got)
	}
	d.afterFailure()
	if got := lines.String(); strings.Count(got, "config refused") != 1 {
		t.Errorf("read twice: %s", got)
	}
}
