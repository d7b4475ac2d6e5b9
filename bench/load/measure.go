package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"whittle/internal/table"
	"whittle/load/report"
)

// The metrics, as the rows name them.
const (
	saturatedCPU = "cpu_per_request"
	pacedCPU     = "paced_cpu_per_request"
	perCore      = "requests_per_core"
	late50       = "schedule_error_p50"
	late99       = "schedule_error_p99"
)

// outcome is what one run of a tool came to.
type outcome struct {
	requests int
	cpu      time.Duration // user and system, all threads, from start to end
}

// costs measures every tool in turn, at saturation and at the fixed rate.
func costs(ctx context.Context, s settings, to *target, tools []tool, r *table.Results) error {
	all := table.Rounds{}
	if err := table.InTurn(tools, s.rounds, func(x tool, counted bool) error {
		if counted {
			return measure(ctx, s, to, &x, r.T, all)
		}
		return measure(ctx, s, to, &x, table.New("warm-up"), table.Rounds{}) // which nobody reads
	}); err != nil {
		return err
	}
	for i := range tools {
		name := tools[i].name
		r.Conclude(name, saturatedCPU+"_median", all.Median(name, saturatedCPU), "us")
		r.Conclude(name, pacedCPU+"_median", all.Median(name, pacedCPU), "us")
	}
	for _, metric := range []string{saturatedCPU, pacedCPU} {
		for i := range tools {
			if x := &tools[i]; x.baseline != "" {
				r.Conclude(x.baseline, metric+"_to_"+x.name, all.Ratio(metric, x.baseline, x.name), "x")
			}
		}
	}
	r.Conclude(templated, perCore+"_median", all.Median(templated, perCore), "1/s")
	r.Conclude(ours, late50+"_median", all.Median(ours, late50), "us")
	r.Conclude(ours, late99+"_median", all.Median(ours, late99), "us")
	return nil
}

// measure runs one tool once in each way that it knows.
func measure(ctx context.Context, s settings, to *target, x *tool, t *table.T, all table.Rounds) error {
	o, err := to.under(ctx, x, x.saturated)
	if err != nil {
		return err
	}
	all.Add(t, x.name, saturatedCPU, o.each(), "us")
	if x.name == templated {
		all.Add(t, x.name, perCore, float64(o.requests)/o.cpu.Seconds(), "1/s")
	}
	if x.paced == nil {
		return nil
	}
	if o, err = to.under(ctx, x, x.paced); err != nil {
		return err
	}
	if want := float64(s.rate) * s.duration.Seconds(); float64(o.requests) < 0.95*want {
		// A figure of a rate that was not sent is none of that rate.
		fmt.Printf("%s sent %d of %.0f at %d a second: not counted\n", x.name, o.requests, want, s.rate)
		all.Add(t, x.name, pacedCPU, math.NaN(), "us")
	} else {
		all.Add(t, x.name, pacedCPU, o.each(), "us")
	}
	if x.name != ours {
		return nil
	}
	p50, p99, err := lateness(filepath.Join(s.folder, "paced.json"))
	if err != nil {
		return err
	}
	all.Add(t, x.name, late50, p50*1e3, "us")
	all.Add(t, x.name, late99, p99*1e3, "us")
	return nil
}

// each is the CPU time of a request, in microseconds.
func (o outcome) each() float64 { return o.cpu.Seconds() * 1e6 / float64(o.requests) }

// under runs a tool against the target to its end.
func (t *target) under(ctx context.Context, x *tool, args []string) (outcome, error) {
	before, err := served(ctx, t.Addr)
	if err != nil {
		return outcome{}, err
	}
	cmd := exec.CommandContext(ctx, x.binary, args...)
	cmd.Stdin = strings.NewReader(x.stdin)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return outcome{}, fmt.Errorf("run %s: %w\n%s", x.name, err, said.Bytes())
	}
	after, err := served(ctx, t.Addr)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{after - before - 1, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if o.requests < 1 {
		return o, fmt.Errorf("run %s: it sent nothing\n%s", x.name, said.Bytes())
	}
	return o, nil
}

// readReport reads what whittle load has written.
func readReport(path string) (*report.Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	r := &report.Report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	return r, nil
}

// lateness reads the schedule error out of whittle's report, in milliseconds.
func lateness(path string) (p50, p99 float64, err error) {
	r, err := readReport(path)
	if err != nil {
		return 0, 0, err
	}
	late := &r.Latency.ScheduleError
	if late.Count == 0 {
		return 0, 0, fmt.Errorf("read report %s: no schedule error in it", path)
	}
	return table.Millis(late.P50), table.Millis(late.P99), nil
}
