package table

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteKeepsEveryRowAndTheMachine(t *testing.T) {
	tb := New("probe")
	tb.Add("count", "cpu round 1", 11.5, "ms")
	tb.Add("count", "cpu round 2", 11.25, "ms")
	tb.Add("count", "ratio to nothing", math.Inf(1), "x")
	dir := filepath.Join(t.TempDir(), "out")
	if err := tb.Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "bench-probe.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got document[Row]
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := []Row{{"count", "cpu round 1", 11.5, "ms"}, {"count", "cpu round 2", 11.25, "ms"}}
	if len(got.Rows) != 2 || got.Rows[0] != want[0] || got.Rows[1] != want[1] {
		t.Errorf("rows = %v, want %v", got.Rows, want)
	}
	if got.Machine.Cores < 1 || got.Machine.Go == "" || got.At.IsZero() {
		t.Errorf("machine = %+v at %v, want it described", got.Machine, got.At)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteWithoutRowsIsAnEmptyList(t *testing.T) {
	dir := t.TempDir()
	if err := New("empty").Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "bench-empty.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"rows": []`) {
		t.Errorf("rows are not an empty list: %s", text)
	}
}

func TestPrintLinesUp(t *testing.T) {
	tb := New("probe")
	tb.Add("node", "cpu", 240.0312, "ms")
	tb.Add("as-published", "cpu", 0.00123456, "ms")
	var b strings.Builder
	tb.Print(&b)
	for _, want := range []string{"bench-probe on ", "SUBJECT       METRIC  VALUE", "node          cpu     240.0", "as-published  cpu     0.001235"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestFieldOf(t *testing.T) {
	text := []byte("MemTotal:       16384 kB\nmodel name\t: Some CPU: fast\nmodel name\t: Other\n")
	for _, c := range []struct{ key, want string }{
		{"MemTotal", "16384 kB"},
		{"model name", "Some CPU: fast"},
		{"absent", "unknown"},
	} {
		if got := fieldOf(text, c.key); got != c.want {
			t.Errorf("fieldOf(%q) = %q, want %q", c.key, got, c.want)
		}
	}
	if got := mebibytes("16384 kB"); got != 16 {
		t.Errorf("mebibytes = %d, want 16", got)
	}
	if got := mebibytes("unknown"); got != 0 {
		t.Errorf("mebibytes of unknown = %d, want 0", got)
	}
}
