package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"whittle/bench/server"
	"whittle/internal/table"
	"whittle/load/report"
)

// The setups, as the rows name them.
const (
	before  = "application before"
	waiting = "before, waiting 120 s"
	lighter = "before, a tenth of the work"
	alone   = "the service by itself"
	after   = "application after"
)

// published holds a setup's published results: Artillery's figures,
// in milliseconds, with latencies to the first byte.
type published struct{ sent, median, p95, p99 float64 }

// setup is one plan against one system.
type setup struct {
	name, plan string
	// change edits the plan as the publication says; nil: it is sent as it is.
	change func(plan string) string
	// start gives the system's processes and the URL that is asked.
	start func(ctx context.Context, s settings) ([]*server.Server, string, error)
	then  published // zero: nothing was published

	report report.Report
}

const base = "systems/count/plans/baseAppLoadTest.yml"

var setups = []*setup{
	{
		name: before, plan: base, start: startMonolith,
	},
	{
		// Artillery waited 120 s for a response when the figures were published.
		name: waiting, plan: base, start: startMonolith, then: published{4.64, 16351.4, 31296.4, 32614.5},
		change: func(plan string) string { return withTimeout(plan, 120) },
	},
	{
		name: lighter, plan: base, start: startMonolith, then: published{20.04, 27.1, 28, 30.1},
		change: func(plan string) string { return strings.ReplaceAll(plan, "10000000", "1000000") },
	},
	{
		name: alone, plan: "systems/count/plans/carvedServiceLoadTest.yml", start: startService, then: published{19.16, 42.6, 44.6, 47.1},
	},
	{
		name: after, plan: base, start: startCarved, then: published{19.14, 44.3, 46.2, 54},
	},
}

var durationLine = regexp.MustCompile(`(?m)^(\s*- duration:) \d+$`)

func withTimeout(plan string, seconds int) string {
	return strings.Replace(plan, "config:\n", fmt.Sprintf("config:\n  http: {timeout: %d}\n", seconds), 1)
}

// file is the plan to send: the system's own file wherever it holds as it is.
func (sc *setup) file(s settings) (string, error) {
	path := filepath.Join(s.root, sc.plan)
	if sc.change == nil && s.seconds == 0 && s.patience == 0 {
		return path, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read plan: %w", err)
	}
	plan := string(b)
	if s.seconds > 0 {
		plan = durationLine.ReplaceAllString(plan, "${1} "+strconv.Itoa(s.seconds))
	}
	if s.patience > 0 {
		plan = withTimeout(plan, int(s.patience.Seconds()))
	}
	if sc.change != nil {
		plan = sc.change(plan)
	}
	changed := filepath.Join(s.folder, filepath.Base(sc.plan))
	if err := os.WriteFile(changed, []byte(plan), 0o600); err != nil {
		return "", fmt.Errorf("write plan: %w", err)
	}
	return changed, nil
}

// completed is how many virtual users came to the end of their flow.
func completed(r *report.Report) int64 { return r.Users.Finished - r.Users.Failed }

// mostWaiting is the most users that were seen under way at once.
func mostWaiting(r *report.Report) (most int64) {
	for i := range r.Series {
		most = max(most, r.Series[i].InFlight)
	}
	return most
}

// run starts the system, sends the plan to it, and ends it.
func (sc *setup) run(ctx context.Context, s settings) error {
	plan, err := sc.file(s)
	if err != nil {
		return err
	}
	system, url, err := sc.start(ctx, s)
	defer func() {
		for _, p := range system {
			p.Kill() // the overloaded application would work on for half a minute, for nobody
		}
	}()
	if err != nil {
		return err
	}
	args := []string{"load", plan, "--target", url, "--json", "-"}
	for _, p := range system {
		args = append(args, "--watch-pid", strconv.Itoa(p.Pid()))
	}
	cmd := exec.CommandContext(ctx, s.whittle, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	// A void run ends with an error and has a report, which says so.
	if e := json.Unmarshal(out.Bytes(), &sc.report); e != nil || err != nil && sc.report.Void == "" {
		return fmt.Errorf("send the plan: %w\n%s", errors.Join(err, e), said.Bytes())
	}
	return nil
}

// rows adds the setup's figures to the table.
func (sc *setup) rows(t *table.T) {
	r := &sc.report
	add := func(metric string, value float64, unit string) { t.Add(sc.name, metric, value, unit) }
	add("requests", float64(r.Requests), "n")
	add("completed", float64(r.Completed), "n")
	add("users_completed", float64(completed(r)), "n")
	add("users_waiting_most", float64(mostWaiting(r)), "n")
	for kind, n := range r.Errors {
		add("errors_"+kind, float64(n), "n")
	}
	add("rate", r.Rate, "1/s")
	add("median", r.Median, "ms")
	add("p95", r.P95, "ms")
	add("p99", r.P99, "ms")
	add("cpu_per_request", r.CPUPerRequest, "ms")
}
