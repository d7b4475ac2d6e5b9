package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/cmdline"
	"whittle/internal/fatal"
	"whittle/load/report"
)

func TestLogStepsPrintTheirLines(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Id", "a\tb") }))
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "plan.yml")
	plan := "config: {phases: [{duration: 0.1, arrivalCount: 2}]}\n" +
		"scenarios: [{flow: [{get: {url: /, capture: {header: x-id, as: id}}}, {log: 'got {{ id }}'}]}]"
	fatal.If(t, os.WriteFile(path, []byte(plan), 0o600))
	for _, asJSON := range []bool{false, true} {
		var out, err bytes.Buffer
		args := []string{"load", path, "--target", srv.URL, "--max-late", "1m"}
		where := &out
		if asJSON {
			args, where = append(args, "--json", "-"), &err
		}
		if status := Run(context.Background(), args, cmdline.Streams{In: strings.NewReader(""), Out: &out, Err: &err}); status != 0 {
			t.Fatalf("status %d: %s", status, err.String())
		}
		if n := strings.Count(where.String(), "  got a\uFFFDb\n"); n != 2 {
			t.Errorf("JSON on standard output %v: %d lines of the plan's in %q", asJSON, n, where.String())
		}
	}
}

// slowWriter waits before its first line until it is let go.
type slowWriter struct {
	bytes.Buffer
	wait chan struct{}
}

func (w *slowWriter) Write(b []byte) (int, error) {
	<-w.wait
	return w.Buffer.Write(b)
}

func TestLinesThatComeTooFastAreLeftOutAndCounted(t *testing.T) {
	w := &slowWriter{wait: make(chan struct{})}
	l := newPlanLog(cmdline.NewScreen(cmdline.Streams{Out: w}))
	const lines = logQueue + 500
	for i := range lines {
		l.line(0, fmt.Sprint(i))
	}
	l.progress(report.Progress{})
	left := l.left.Load()
	close(w.wait)
	l.close()
	if printed := int64(strings.Count(w.String(), "\n")) - 1; left < 400 || printed != lines+1-left {
		t.Errorf("%d of %d printed, %d left out", printed, lines, left)
	}
	if want := fmt.Sprintf("(%d more lines were not printed", left); !strings.Contains(w.String(), want) {
		t.Errorf("%q is not in what was printed", want)
	}
}
