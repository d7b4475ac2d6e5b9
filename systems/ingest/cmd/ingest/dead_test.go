package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/systems/ingest/stream"
)

// TestServersWithoutAPlaceForDeadLetters: one whose sink is elsewhere needs no
// disk, and starts without a place for dead letters; any other must have one.
func TestServersWithoutAPlaceForDeadLetters(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sink, dead, logFirst string
		ok                   bool
	}{
		{"kafka", "", "", true},
		{"kafka", filepath.Join(file, "dead"), "", false},
		{"kafka", "", file, false},
		{"embedded", "", "", false},
		{"embedded", noDead, "", true},
	} {
		var log strings.Builder
		v := &serveVerb{LogFirst: c.logFirst}
		v.Sink, v.Data, v.Dead, v.DeadBytes = c.sink, file, c.dead, 64<<20
		s, err := v.openDead(slog.New(slog.NewTextHandler(&log, nil)))
		if (err == nil) != c.ok || s != stream.Stream(nil) {
			t.Errorf("%+v: %v, %v", c, s, err)
		}
		if warned := strings.Contains(log.String(), "what is rejected is not kept"); warned != (c.ok && c.dead == "") {
			t.Errorf("%+v: the log is %q", c, &log)
		}
	}
}
