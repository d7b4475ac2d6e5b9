package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"whittle"
	"whittle/load"
)

type loadVerb struct {
	Plan     string        `arg:"" help:"The plan: an Artillery YAML or JSON file." placeholder:"PLAN"`
	Target   string        `placeholder:"URL" help:"Send to this base URL instead of the plan's."`
	JSON     string        `name:"json" placeholder:"FILE" help:"Write the report as JSON (\"-\": standard output)."`
	WatchPID []int         `name:"watch-pid" placeholder:"PID" help:"Also measure this process's CPU time per request. Repeatable."`
	MaxLate  time.Duration `default:"10ms" help:"How late the generator may send at its 99th percentile without voiding the run (${default})."`
	Seed     uint64        `help:"Make the run's random choices repeatable."`
}

// Help gives the examples.
func (loadVerb) Help() string {
	return `Arrivals are open: each comes at its intended time whether or not the server keeps up, and latency counts from that time. A run in which the generator itself was late declares itself void (exit status 3). Ctrl-C ends a run early and still reports.

Examples:
  whittle load systems/count/plans/baseAppLoadTest.yml
  whittle load plan.yml --target http://127.0.0.1:8080 --json report.json
  whittle load plan.yml --watch-pid $(pidof node)`
}

// Run loads the target and prints the report.
func (v *loadVerb) Run(ctx context.Context, s streams) error {
	plan, err := load.ReadPlan(v.Plan)
	if err != nil {
		return err
	}
	screen := newScreen(s)
	if v.JSON == "-" {
		screen.w = s.err
		screen.tty = false
	}
	o := load.Options{Target: v.Target, Seed: v.Seed, MaxLate: v.MaxLate, OnProgress: func(p load.Progress) { screen.progress("%s", p) }}
	for _, pid := range v.WatchPID {
		o.Watch = append(o.Watch, load.Process{Name: fmt.Sprintf("process %d", pid), PID: pid})
	}
	report, err := load.Run(ctx, plan, o)
	if err != nil {
		return err
	}
	screen.clear()
	if v.JSON != "" {
		if err := writeJSON(s, v.JSON, report); err != nil {
			return err
		}
	}
	if v.JSON != "-" {
		if err := report.WriteSummary(s.out); err != nil {
			return err
		}
	}
	if report.Void != "" {
		return whittle.Errorf(whittle.Unavailable, "the run is void: %s", report.Void).
			WithHint("give the generator a core of its own, lower the rate, or allow more with --max-late")
	}
	return nil
}

// writeJSON writes v to a file, or to standard output for "-".
func writeJSON(s streams, path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return whittle.Errorf(whittle.Internal, "encode %s: %w", path, err)
	}
	b = append(b, '\n')
	if path == "-" {
		_, err = s.out.Write(b)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return whittle.Errorf(whittle.Unavailable, "write report: %w", err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return whittle.Errorf(whittle.Unavailable, "write report: %w", err)
	}
	return nil
}
