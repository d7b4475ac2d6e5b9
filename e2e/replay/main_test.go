// Package replay replays what real servers were recorded with, by the built
// command: the Node monolith's random responses against both Go services, and
// JSON endpoints whose differences become tests that really run.
package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/journal"
	"whittle/record/replay"
)

// built is where the commands are.
var built string

func TestMain(m *testing.M) { process.Main(m, build) }

func build() (err error) {
	if err := process.NeedMonolith(); err != nil {
		return err
	}
	built, err = process.Build("./cmd/whittle", "./systems/count/cmd/...")
	return err
}

// start runs a server until the test ends, and gives where it listens.
func start(t *testing.T, argv ...string) string {
	t.Helper()
	return "http://" + process.Start(t, argv...).Public
}

// record asks a monolith and keeps what it returns in a journal's folder.
func record(t *testing.T, monolith, route string, n int, request func(i int) whittle.Request) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recorded")
	w, err := journal.Create(dir, journal.Options{})
	fatal.If(t, err)
	client := &http.Client{Timeout: process.Patience}
	defer client.CloseIdleConnections()
	for i := range n {
		q := request(i)
		hq, err := http.NewRequestWithContext(t.Context(), q.Method, monolith+q.Target, bytes.NewReader(q.Body))
		fatal.If(t, err)
		hq.Header = http.Header(q.Header)
		at := time.Now()
		resp, err := client.Do(hq)
		fatal.If(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fatal.If(t, err)
		e := &capture.Entry{
			Route: route, Conn: uint64(i%4 + 1), At: at, Request: q,
			Response: whittle.Response{Status: resp.StatusCode, Header: whittle.Header(resp.Header), Body: body, Latency: time.Since(at)},
		}
		fatal.If(t, w.Append(e))
	}
	fatal.If(t, w.Close())
	return dir
}

// replayed runs the command and gives its exit status and its report.
func replayed(t *testing.T, args ...string) (int, *replay.Report) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.CommandContext(t.Context(), filepath.Join(built, "whittle"), append([]string{"replay", "--json", file}, args...)...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	fatal.If(t, err)
	var r replay.Report
	fatal.If(t, json.Unmarshal(b, &r))
	if r.Ledger.Sum() != r.Ledger.Total {
		t.Errorf("the ledger does not add up: %+v", r.Ledger)
	}
	return cmd.ProcessState.ExitCode(), &r
}
