package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// during calls a function once, within the first line that has a text.
type during struct {
	slog.Handler
	text string
	once *sync.Once
	do   func()
}

func (h during) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, h.text) {
		h.once.Do(h.do)
	}
	return h.Handler.Handle(ctx, r)
}

// A config that changes while the one that was missed is read is read as well: nobody else
// looks at it until the next change.
func TestConfigThatChangesWhileTheMissedOneIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whittle.yaml")
	if err := os.WriteFile(path, []byte("monolith: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	d := &deployment{replacement: newReplacement(inherited{sockets: &listening.Set{}})}
	d.log = slog.New(during{
		Handler: slog.NewTextHandler(&lines, nil), text: "config refused", once: new(sync.Once), do: func() { d.reload("SIGHUP") },
	})
	d.file.Store(&config.File{Path: path})

	d.missed.Store(true)
	d.afterFailure()
	if got := lines.String(); strings.Count(got, "config refused") != 2 || d.missed.Load() {
		t.Errorf("missed %t: %s", d.missed.Load(), got)
	}
}
