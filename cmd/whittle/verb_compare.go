package main

import (
	"context"
	"fmt"
	"time"

	"whittle"
	"whittle/cmdline"

	"whittle/load"
	"whittle/load/cpu"
	"whittle/load/duel"
)

type compareVerb struct {
	A string `arg:"" help:"The first target's URL." placeholder:"A"`
	B string `arg:"" help:"The second target's URL." placeholder:"B"`

	Plan     string        `group:"How much" placeholder:"FILE" help:"An Artillery YAML or JSON file, or a JMeter .jmx file."`
	Rate     *float64      `group:"How much" help:"Open arrivals per second, to each target in its turn."`
	Duration time.Duration `group:"How much" short:"d" bound:">0" help:"How much of the plan each target gets; the comparison takes twice as long."`
	Users    []int         `group:"How much" short:"u" placeholder:"N,N" help:"Closed users. One number: in short turns, as with --rate. Several: whole runs with each number, in a table."`
	Runs     int           `group:"How much" bound:">0" help:"Whole runs of each target at every number of users (3)."`
	Ramp     time.Duration `group:"How much" bound:">0" help:"Spread the users' starts over this time, in whole runs (a tenth of a second for each user)."`
	Loops    int64         `group:"How much" bound:">0" help:"How often each user goes through its requests, in whole runs."`

	Method   string        `group:"One request" short:"X" help:"Default: GET, or POST with a body."`
	Header   []string      `group:"One request" short:"H" sep:"none" placeholder:"NAME:VALUE" help:"A header. Repeatable."`
	JSONBody string        `group:"One request" name:"json-body" placeholder:"JSON" help:"Send this JSON."`
	Body     string        `group:"One request" placeholder:"TEXT" help:"Send this text."`
	Timeout  time.Duration `group:"One request" bound:">0" help:"Give up on a request after this time (10s)."`
	Insecure bool          `group:"One request" short:"k" help:"Accept any TLS certificate."`

	Protocol string `group:"Over what" default:"http/1.1" enum:"http/1.1,h2" help:"http/1.1, or h2 (HTTP/2: negotiated over https, assumed over http). Default: ${default}."`

	Environment string            `group:"Of a plan" short:"e" placeholder:"NAME" help:"Which of an Artillery plan's environments."`
	Property    map[string]string `group:"Of a plan" short:"J" mapsep:"none" placeholder:"NAME=VALUE" help:"A JMeter property. Repeatable."`

	Block     time.Duration `group:"The comparison" bound:">0" help:"How long each turn is (a 120th of the duration, from 250ms to 5s)."`
	Warmup    time.Duration `group:"The comparison" default:"2s" help:"How long each target is loaded before anything counts, with each number of users (${default})."`
	FailIf    []string      `group:"The comparison" name:"fail-if" sep:"none" placeholder:"CONDITION" help:"Exit with status 1 if this holds, such as 'p99 ratio > 1.1'. Repeatable."`
	JSON      string        `group:"The comparison" name:"json" placeholder:"FILE" help:"Write the comparison as JSON (\"-\": standard output)."`
	WatchPIDA []int         `group:"The comparison" name:"watch-pid-a" placeholder:"PID" help:"Also measure the CPU time per request of this process of A. Repeatable."`
	WatchPIDB []int         `group:"The comparison" name:"watch-pid-b" placeholder:"PID" help:"The same for B."`
	WatchURLA []string      `group:"The comparison" name:"watch-url-a" placeholder:"URL" help:"The same, by process_cpu_seconds_total on A's metrics page. Repeatable."`
	WatchURLB []string      `group:"The comparison" name:"watch-url-b" placeholder:"URL" help:"The same for B."`
	MaxLate   time.Duration `group:"The comparison" bound:">0" default:"10ms" help:"How late the generator may send at its 99th percentile without voiding the comparison (${default})."`
	Seed      uint64        `group:"The comparison" help:"Make the random choices repeatable, the order of the turns among them."`
}

// Help gives the examples.
func (compareVerb) Help() string {
	return `Both targets get the same arrivals in short turns, in an order that a coin decides, so that what the
machine does meanwhile favours neither. The result is a ratio with a 95 % interval for each figure, and a sentence.

A condition is FIGURE ratio [surely|possibly] OP NUMBER: the ratio is B over A; FIGURE is median, p95, p99, rate, cpu
or errors. Without a word the estimate decides, with surely the whole interval must be beyond the number, with
possibly any of it.

Examples:
  whittle compare http://127.0.0.1:3000/Count http://127.0.0.1:8080/Count --rate 20 --duration 1m --json-body '{"times":1000000}'
  whittle compare http://127.0.0.1:3000 http://127.0.0.1:8080 --plan plan.yml
  whittle compare http://127.0.0.1:3000 http://127.0.0.1:8080 --plan plan.yml --fail-if 'p99 ratio surely > 1.1' --fail-if 'errors ratio > 1'
  whittle compare http://127.0.0.1:3000 http://127.0.0.1:3001 --plan plan.jmx --users 1,50,500,1000 --runs 3`
}

// Run compares the targets, and prints the verdict.
func (v *compareVerb) Run(ctx context.Context, s cmdline.Streams) error {
	screen := cmdline.NewScreen(s, v.JSON)
	q, err := v.request()
	if err != nil {
		return err
	}
	if err := cmdline.Writable(v.JSON); err != nil {
		return err
	}
	q.OnProgress = func(line string) { screen.Progress("%s", line) }
	c, err := q.Run(ctx)
	if err != nil {
		return err
	}
	screen.Clear()
	if err := cmdline.WriteSummary(s, v.JSON, c); err != nil {
		return err
	}
	return c.Err(q.Gates)
}

// request is what the flags say.
func (v *compareVerb) request() (duel.Request, error) {
	gates, err := duel.ParseGates(v.FailIf)
	if err != nil {
		return duel.Request{}, err
	}
	if err := aboveZero("--rate", v.Rate); err != nil {
		return duel.Request{}, err
	}
	if v.Warmup < 0 {
		return duel.Request{}, whittle.Errorf(whittle.Invalid, "--warmup is below 0")
	}
	warmup := v.Warmup
	if warmup == 0 {
		warmup = -1 // none
	}
	return duel.Request{
		A: v.A, B: v.B,
		What: load.Workload{
			Plan: v.Plan, Rate: given(v.Rate), Duration: v.Duration, Environment: v.Environment, Properties: v.Property,
			Request: load.Request{
				Method: v.Method, Headers: v.Header, JSON: v.JSONBody, Body: v.Body, Timeout: v.Timeout, Insecure: v.Insecure,
			},
		},
		Users: v.Users, Runs: v.Runs, Ramp: v.Ramp, Loops: v.Loops, Block: v.Block, Warmup: warmup,
		Processes: [2][]cpu.Process{processes(v.WatchPIDA), processes(v.WatchPIDB)},
		Pages:     [2][]string{v.WatchURLA, v.WatchURLB},
		Gates:     gates, Options: load.Options{Seed: v.Seed, MaxLate: v.MaxLate, Protocol: v.Protocol},
	}, nil
}

// processes names processes by their ids.
func processes(pids []int) []cpu.Process {
	var out []cpu.Process
	for _, pid := range pids {
		out = append(out, cpu.Process{Name: fmt.Sprintf("process %d", pid), PID: pid})
	}
	return out
}
