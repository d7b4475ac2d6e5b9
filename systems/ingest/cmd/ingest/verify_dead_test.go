package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/deadlog"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// TestVerifyOfTrimmedDeadLetters: letters that went because of the log's bound are
// not missing; a folder of dead letters with nothing in it is not whole.
func TestVerifyOfTrimmedDeadLetters(t *testing.T) {
	data := closedLog(t, 3)
	verify := func() (int, string) {
		var out bytes.Buffer
		status := Run(t.Context(), []string{"verify", "--env-file", "", "--data", data}, streams{in: strings.NewReader(""), out: &out, err: &out})
		return status, out.String()
	}
	if status, out := verify(); status != 0 || strings.Contains(out, "dead letters in") {
		t.Fatalf("none: %d %s", status, out)
	}
	dir := filepath.Join(data, "dead")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if status, out := verify(); status != 1 || !strings.Contains(out, "verify dead letters: ") {
		t.Fatalf("empty: %d %s", status, out)
	}
	closedDeadLetters(t, dir, 256<<10, 400)
	if status, out := verify(); status != 0 || !strings.Contains(out, "up to 400") || strings.Contains(out, "offsets 0 up to 400") {
		t.Fatalf("trimmed: %d %s", status, out)
	}
}

// closedDeadLetters makes a log of dead letters in a folder, bounded to so many bytes, with n
// letters of 3,000, and closes it.
func closedDeadLetters(t *testing.T, dir string, most int64, n int) {
	t.Helper()
	log, err := deadlog.Open(dir, deadlog.Options{Most: most, Log: embedded.Options{MaxRecord: 4 << 10, MaxBatch: 8 << 10, SegmentBytes: 64 << 10, Reserve: -1, ScrubRate: -1}})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		l := deadletter.Letter{Path: "/v1/track", Source: "shop", Body: make([]byte, 3000)}
		log.Append(t.Context(), []stream.Record{l.Record()})
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
