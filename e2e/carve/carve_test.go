// Package carve holds the direction of the published figures: the load plan
// that breaks the application is nothing to it once the endpoint is carved out.
// All of it is real processes, scaled down from ten seconds to five.
package carve

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"whittle/e2e/process"
)

func TestTheCarveTakesTheLoadThatBrokeTheApplication(t *testing.T) {
	dir := t.TempDir()
	if _, err := os.Stat(filepath.Join(process.Repository, "systems/count/carved/node_modules/express")); err != nil {
		t.Fatal("the Node services' packages are not installed: run `make deps`")
	}
	built, err := process.Build("./cmd/whittle", "./systems/count/cmd/count", "./bench/carve")
	if err != nil {
		t.Fatal(err)
	}
	bench := exec.CommandContext(t.Context(), filepath.Join(built, "carve"), "-short", "-seconds", "5", "-patience", "3s",
		"-root", process.Repository, "-whittle", filepath.Join(built, "whittle"), "-service", filepath.Join(built, "count"), "-out", dir)
	said, err := bench.CombinedOutput()
	if err != nil {
		t.Fatalf("run the benchmark: %v\n%s", err, said)
	}
	before, after := read(t, filepath.Join(dir, "bench-carve.json"))

	// 20 users a second want more than a core of Node draws: they queue, and
	// give up where the machine is not much faster than any of today's.
	if before["errors_timeout"] == 0 && before["users_waiting_most"] < 20 {
		t.Errorf("the application kept up\n%s", said)
	}
	if before["requests"] != 100 || after["requests"] != 100 {
		t.Errorf("not 20 a second for 5 seconds\n%s", said)
	}
	if after["users_completed"] < 95 || after["errors_timeout"] >= max(before["errors_timeout"], 1) {
		t.Errorf("the carved application did not keep up\n%s", said)
	}
	if after["users_waiting_most"] >= before["users_waiting_most"] {
		t.Errorf("the queue is as long as before\n%s", said)
	}
	// The kernels are some thirty times apart; the hop between the two takes its
	// part, and what the first responses cost V8.
	if ratio := before["cpu_per_request"] / after["cpu_per_request"]; !(ratio > 5) {
		t.Errorf("CPU per request fell by a factor of %.1f only\n%s", ratio, said)
	}
}

// read gives the metrics of both applications.
func read(t *testing.T, path string) (before, after map[string]float64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows struct {
		Rows []struct {
			Subject, Metric string
			Value           float64
		}
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	by := map[string]map[string]float64{}
	for _, r := range rows.Rows {
		if by[r.Subject] == nil {
			by[r.Subject] = map[string]float64{}
		}
		by[r.Subject][r.Metric] = r.Value
	}
	return by["application before"], by["application after"]
}

// TestDemoCount runs the whole demo in its short form: it fails where an act does not
// come out as it must, where the carved endpoint is slower or dearer than it was, and
// where the generator calls a run void. No user sees an error.
func TestDemoCount(t *testing.T) {
	if err := process.NeedMonolith(); err != nil {
		t.Fatal(err)
	}
	built, err := process.Build("./cmd/demo", "./cmd/whittle", "./systems/count/cmd/...")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	said, err := exec.CommandContext(t.Context(), filepath.Join(built, "demo"), "count", "--short", "--out", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	text, err := os.ReadFile(filepath.Join(dir, "demo-count.json"))
	if err != nil {
		t.Fatal(err)
	}
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
	if err := json.Unmarshal(text, &figures); err != nil {
		t.Fatal(err)
	}
	if len(figures.Acts) != 9 || figures.Rollout.Requests == 0 || figures.Rollout.Errors != 0 {
		t.Errorf("%d acts, %d errors of %d requests\n%s", len(figures.Acts), figures.Rollout.Errors, figures.Rollout.Requests, said)
	}
	before, after := figures.Monolith, figures.After
	if before.Completed == 0 || after.Completed != before.Completed || after.CPU <= 0 || after.CPU >= before.CPU || before.Void+after.Void != "" {
		t.Errorf("before the carve %+v, after it %+v\n%s", before, after, said)
	}
}
