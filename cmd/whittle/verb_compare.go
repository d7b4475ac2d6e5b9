package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"whittle/cmdline"

	"whittle"
	"whittle/load"
	"whittle/load/cpu"
	"whittle/load/duel"
	"whittle/load/plan"
	"whittle/load/report"
)

type compareVerb struct {
	A string `arg:"" help:"The first target's URL, or a report saved by whittle load --json." placeholder:"A"`
	B string `arg:"" help:"The second target's URL, or report." placeholder:"B"`

	Plan     string        `group:"How much" placeholder:"FILE" help:"An Artillery YAML or JSON file, or a JMeter .jmx file."`
	Rate     float64       `group:"How much" help:"Open arrivals per second, to each target in its turn."`
	Duration time.Duration `group:"How much" short:"d" help:"How much of the plan each target gets; the comparison takes twice as long."`
	Users    []int         `group:"How much" short:"u" placeholder:"N,N" help:"Closed users. One number: in blocks, as rates. Several: a table, in whole runs at each of the numbers."`
	Runs     int           `group:"How much" help:"Whole runs of each target at every number of users (3)."`
	Ramp     time.Duration `group:"How much" help:"Spread the users' starts over this time, in whole runs (a tenth of a second for each user)."`
	Loops    int64         `group:"How much" help:"How often each user goes through its requests, in whole runs."`

	Method   string        `group:"One request" short:"X" help:"GET, or POST with a body, unless given."`
	Header   []string      `group:"One request" short:"H" sep:"none" placeholder:"NAME:VALUE" help:"A header. Repeatable."`
	JSONBody string        `group:"One request" name:"json-body" placeholder:"JSON" help:"Send this JSON."`
	Body     string        `group:"One request" placeholder:"TEXT" help:"Send this text."`
	Timeout  time.Duration `group:"One request" help:"Give a request up after this time (10s)."`
	Insecure bool          `group:"One request" short:"k" help:"Accept any TLS certificate."`

	Environment string            `group:"Of a plan" short:"e" placeholder:"NAME" help:"Which of an Artillery plan's environments."`
	Property    map[string]string `group:"Of a plan" short:"J" mapsep:"none" placeholder:"NAME=VALUE" help:"A JMeter property. Repeatable."`

	Block     time.Duration `group:"The comparison" help:"How long each turn is (a 120th of the duration, within 250ms and 5s)."`
	Warmup    time.Duration `group:"The comparison" default:"2s" help:"How long each target is loaded before anything counts (${default})."`
	FailIf    []string      `group:"The comparison" name:"fail-if" sep:"none" placeholder:"CONDITION" help:"Exit with status 1 if it holds, such as 'p99 ratio > 1.1'. Repeatable."`
	JSON      string        `group:"The comparison" name:"json" placeholder:"FILE" help:"Write the comparison as JSON (\"-\": standard output)."`
	HTML      string        `group:"The comparison" name:"html" placeholder:"FILE" help:"Write the comparison as one HTML file with plots."`
	WatchPIDA []int         `group:"The comparison" name:"watch-pid-a" placeholder:"PID" help:"Also measure the CPU time per request of this process of A. Repeatable."`
	WatchPIDB []int         `group:"The comparison" name:"watch-pid-b" placeholder:"PID" help:"The same of B."`
	WatchURLA []string      `group:"The comparison" name:"watch-url-a" placeholder:"URL" help:"The same by process_cpu_seconds_total of A's metrics page. Repeatable."`
	WatchURLB []string      `group:"The comparison" name:"watch-url-b" placeholder:"URL" help:"The same of B."`
	MaxLate   time.Duration `group:"The comparison" default:"10ms" help:"How late the generator may send at its 99th percentile without voiding the comparison (${default})."`
	Seed      uint64        `group:"The comparison" help:"Make the random choices repeatable, the order of the turns among them."`
}

// Help gives the examples.
func (compareVerb) Help() string {
	return `Both targets get the same arrivals in short turns, in an order that a coin decides, so that what the machine does meanwhile favours neither. The response is a ratio with a 95 % interval for each figure, and a sentence.

A condition is FIGURE ratio [surely|possibly] OP NUMBER: the ratio is B over A; FIGURE is median, p95, p99, rate, cpu or errors. Without a word the estimate decides, with surely the whole interval must be beyond the number, with possibly any of it.

Examples:
  whittle compare http://127.0.0.1:3000/Count http://127.0.0.1:8080/Count --rate 20 --duration 1m --json-body '{"times":1000000}'
  whittle compare http://127.0.0.1:3000 http://127.0.0.1:8080 --plan plan.yml --html compare.html
  whittle compare http://127.0.0.1:3000 http://127.0.0.1:8080 --plan plan.yml --fail-if 'p99 ratio surely > 1.1' --fail-if 'errors ratio > 1'
  whittle compare http://127.0.0.1:3000 http://127.0.0.1:3001 --plan plan.jmx --users 1,50,500,1000 --runs 3 --html table.html
  whittle compare before.json after.json`
}

// compared is what there is to say about two targets, however it was found.
type compared interface {
	WriteSummary(w io.Writer) error
	WriteHTML(w io.Writer) error
	Err(gates []duel.Gate) error
}

// Run compares the targets, or the reports, and prints the verdict.
func (v *compareVerb) Run(ctx context.Context, s cmdline.Streams) error {
	var gates []duel.Gate
	for _, text := range v.FailIf {
		g, err := duel.ParseGate(text)
		if err != nil {
			return err
		}
		gates = append(gates, g)
	}
	screen := cmdline.NewScreen(s, v.JSON)
	if !v.paired() {
		if err := duel.CheckUnpaired(gates); err != nil {
			return err
		}
	}
	c, err := v.compare(ctx, screen)
	if err != nil {
		return err
	}
	screen.Clear()
	if v.JSON != "" {
		if err := cmdline.WriteJSON(s, v.JSON, c); err != nil {
			return err
		}
	}
	if err := writeFile(v.HTML, c.WriteHTML); err != nil {
		return err
	}
	if v.JSON != "-" {
		if err := c.WriteSummary(s.Out); err != nil {
			return err
		}
	}
	return c.Err(gates)
}

func (v *compareVerb) compare(ctx context.Context, screen *cmdline.Screen) (compared, error) {
	switch a, b := isURL(v.A), isURL(v.B); {
	case a != b:
		return nil, whittle.Errorf(whittle.Invalid, "compare: one of %s and %s is a URL, the other is not", v.A, v.B).
			WithHint("give two targets, or two reports")
	case !a:
		return v.saved()
	}
	p, targets, err := v.plan()
	if err != nil {
		return nil, err
	}
	a := duel.Side{Target: targets[0], Watch: processes(v.WatchPIDA), WatchURLs: v.WatchURLA}
	b := duel.Side{Target: targets[1], Watch: processes(v.WatchPIDB), WatchURLs: v.WatchURLB}
	o := load.Options{Seed: v.Seed, MaxLate: v.MaxLate}
	if !v.paired() {
		return duel.Levels{
			Plan: p, A: a, B: b, Users: v.Users, Runs: v.Runs, Options: o,
			Closed:     plan.Closed{Ramp: v.Ramp, Loops: v.Loops, Duration: v.Duration},
			OnProgress: func(run string, at report.Progress) { screen.Progress("%s: %s", run, at) },
		}.Run(ctx)
	}
	warmup := v.Warmup
	if warmup == 0 {
		warmup = -1
	}
	return duel.Duel{
		Plan: p, A: a, B: b, Length: v.Duration, Block: v.Block, Warmup: warmup, Options: o,
		OnProgress: func(p duel.Progress) {
			screen.Progress("pair %d of %d  medians of the last: A %.3g ms  B %.3g ms  %s left", p.Done, p.Pairs, p.A, p.B, p.Left.Round(time.Second))
		},
	}.Run(ctx)
}

// paired says that blocks of two targets are compared, not whole runs or saved
// reports.
func (v *compareVerb) paired() bool { return isURL(v.A) && len(v.Users) <= 1 && v.Runs == 0 }

func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

func processes(pids []int) []cpu.Process {
	var out []cpu.Process
	for _, pid := range pids {
		out = append(out, cpu.Process{Name: fmt.Sprintf("process %d", pid), PID: pid})
	}
	return out
}

func (v *compareVerb) saved() (compared, error) {
	a, err := report.Read(v.A)
	if err != nil {
		return nil, err
	}
	b, err := report.Read(v.B)
	if err != nil {
		return nil, err
	}
	return duel.CompareReports(a, b, v.Seed)
}

// plan reads the plan's file, or makes a plan of the one request that the two
// URLs are for.
func (v *compareVerb) plan() (*plan.Plan, [2]string, error) {
	l := &loadVerb{
		Plan: v.Plan, Rate: v.Rate, Duration: v.Duration, Method: v.Method, Header: v.Header, JSONBody: v.JSONBody, Body: v.Body,
		Timeout: v.Timeout, Insecure: v.Insecure, Environment: v.Environment, Property: v.Property,
	}
	targets := [2]string{v.A, v.B}
	if v.Rate > 0 && len(v.Users) > 0 {
		return nil, targets, whittle.Errorf(whittle.Invalid, "either a rate of arrivals is given, or users")
	}
	if v.Rate == 0 {
		l.Duration = 0
	}
	if len(v.Users) == 1 && v.Runs == 0 {
		// In blocks: how long users go on is the block's matter.
		l.Users, l.Loops = v.Users[0], 1
	}
	if v.Plan == "" {
		l.Plan = v.A
		if v.Rate == 0 && len(v.Users) == 0 {
			return nil, targets, whittle.Errorf(whittle.Invalid, "compare: how much is to be sent?").
				WithHint("give --plan, --rate with --duration, or --users")
		}
		a, errA := url.Parse(v.A)
		b, errB := url.Parse(v.B)
		if errA != nil || errB != nil || a.RequestURI() != b.RequestURI() {
			return nil, targets, whittle.Errorf(whittle.Invalid, "compare: without a plan both URLs have the same path, unlike %s and %s", v.A, v.B).
				WithHint("write a plan whose requests hold for both, and give the base URLs")
		}
		targets = [2]string{a.Scheme + "://" + a.Host, b.Scheme + "://" + b.Host}
	}
	plan, err := l.plan()
	return plan, targets, err
}
