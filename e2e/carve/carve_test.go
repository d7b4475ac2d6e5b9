// Package carve runs the demo of the count system from its application to the carve.
package carve

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// TestDemoCount runs the whole demo in its short form: it fails where an act does not
// come out as it must, where the carved endpoint is slower or dearer than it was, and
// where the generator calls a run void. No user sees an error.
func TestDemoCount(t *testing.T) {
	fatal.If(t, process.NeedMonolith())
	built, err := process.Build("./cmd/demo", "./cmd/whittle", "./systems/count/cmd/...")
	fatal.If(t, err)
	dir := t.TempDir()
	said, err := exec.CommandContext(t.Context(), filepath.Join(built, "demo"), "count", "--short", "--out", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	text := []byte(fatal.Read(t, filepath.Join(dir, "demo-count.json")))
	var figures struct {
		Acts []struct {
			Act int
			OK  bool
		}
		Monolith, After struct {
			Completed int
			Void      string
			CPU       float64 `json:"cpu_ms_per_request"`
		}
		Rollout struct {
			Shares   []float64
			Requests int64
			Errors   int64 `json:"user_errors"`
		}
	}
	fatal.If(t, json.Unmarshal(text, &figures))
	if len(figures.Acts) != 7 || figures.Rollout.Requests == 0 || figures.Rollout.Errors != 0 {
		t.Errorf("%d acts, %d errors of %d requests\n%s", len(figures.Acts), figures.Rollout.Errors, figures.Rollout.Requests, said)
	}
	before, after := figures.Monolith, figures.After
	if before.Completed == 0 || after.Completed != before.Completed || after.CPU <= 0 || after.CPU >= before.CPU || before.Void+after.Void != "" {
		t.Errorf("before the carve %+v, after it %+v\n%s", before, after, said)
	}
}
