package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/load"
)

func TestServedIsReadFromStubStatus(t *testing.T) {
	const status = "Active connections: 1 \nserver accepts handled requests\n 12 12 345 \nReading: 0 Writing: 1 Waiting: 0 \n"
	if n, err := servedIn([]byte(status)); err != nil || n != 344 {
		t.Errorf("%d, %v; want 344: the asking itself does not count", n, err)
	}
	if _, err := servedIn([]byte("<html>")); err == nil {
		t.Error("a page without a count was read")
	}
}

func TestLatenessIsReadFromAReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	for text, ok := range map[string]bool{
		`{"latency":{"schedule_error":{"count":9,"p50_ms":0.02,"p99_ms":0.15}}}`: true,
		`{"latency":{}}`: false,
		`{`:              false,
	} {
		fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
		if p50, p99, err := lateness(path); (err == nil) != ok || ok && (p50 != 0.02 || p99 != 0.15) {
			t.Errorf("%s: %v, %v, %v", text, p50, p99, err)
		}
	}
}

func TestEveryToolGetsTheSame(t *testing.T) {
	s := settings{folder: t.TempDir(), duration: 4 * time.Second, conns: 32, rate: 10_000, whittle: "whittle"}
	tools, err := findTools(t.Context(), s, "127.0.0.1:1234", "127.0.0.1:1235")
	fatal.If(t, err)
	for _, x := range tools {
		for _, a := range append(x.saturated, x.paced...) {
			if strings.Contains(a, "{{") {
				t.Errorf("%s: %q was not filled in", x.name, a)
			}
		}
	}
	for _, name := range []string{"paced.yml", "templated.yml"} {
		p, err := load.ReadPlan(filepath.Join(s.folder, name))
		fatal.If(t, err)
		if p.HTTP.Pool != 32 || p.Phases[0].Planned() != 40_000 {
			t.Errorf("%s: pool %d, %d planned", name, p.HTTP.Pool, p.Phases[0].Planned())
		}
	}
}
