package ingest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
)

// TestDemoIngest runs the whole demo in its short form: four streams, each
// read back, hold every acknowledged event once, and the demo fails where one
// does not, where a comparison is void, and where ingest costs more CPU.
func TestDemoIngest(t *testing.T) {
	needs.Node(t)
	if _, err := os.Stat("../../systems/ingest/stream/kinesis/kinesistest/node_modules"); err != nil {
		needs.Missing(t, "a Kinesis API", kinesistest.Install)
	}
	if _, err := os.Stat("../../systems/ingest/node/node_modules"); err != nil {
		needs.Missing(t, "the Node.js ingestion server", "make deps")
	}
	dir := t.TempDir()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), demo, "ingest", "--short", "--out", dir)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	b, err := os.ReadFile(filepath.Join(dir, "demo-ingest.json"))
	fatal.If(t, err)
	var figures struct {
		Audits []struct {
			Stream                                      string
			Acknowledged, Read, Missing, Twice, Changed int
		}
	}
	fatal.If(t, json.Unmarshal(b, &figures))
	if len(figures.Audits) != 4 {
		t.Fatalf("%d streams were read back: %s", len(figures.Audits), b)
	}
	for _, name := range []string{"Node.js, PutRecord ", "Node.js, PutRecords ", "Go, PutRecords ", "Go, fsync "} {
		if n := strings.Count(said.String(), "  "+name); n < 2 { // a row at each number of users
			t.Errorf("%d rows of %s:\n%s", n, name, said.String())
		}
	}
	for _, a := range figures.Audits {
		if a.Acknowledged < 200 || a.Read < a.Acknowledged || a.Missing+a.Twice+a.Changed > 0 {
			t.Errorf("%+v", a)
		}
	}
}
