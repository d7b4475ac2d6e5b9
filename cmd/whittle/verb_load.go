package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"whittle"
	"whittle/cmdline"
	"whittle/load"
	"whittle/load/report"
)

type loadVerb struct {
	Plan   string `arg:"" help:"An Artillery YAML or JSON file, a JMeter .jmx file, or the URL to send to." placeholder:"PLAN|URL"`
	Target string `placeholder:"URL" help:"Send to this base URL instead of the plan's."`

	Rate     *float64      `group:"How much" help:"Open arrivals per second."`
	Duration time.Duration `group:"How much" short:"d" bound:">0" help:"How long arrivals or users go on."`
	Users    *int          `group:"How much" short:"u" help:"Closed users: each sends its next request after the response to the one before. Replaces a plan's own users or arrivals."`
	Ramp     time.Duration `group:"How much" help:"Spread the users' starts over this time."`
	Think    time.Duration `group:"How much" help:"How long each user waits between a response and its next request."`
	Requests *int64        `group:"How much" short:"n" help:"How many requests a URL gets in all, from all users together or at --rate."`
	Loops    *int64        `group:"How much" help:"How often each user goes through its requests. Without it and --duration: once."`

	Method   string        `group:"One request" short:"X" help:"Default: GET, or POST with a body."`
	Header   []string      `group:"One request" short:"H" sep:"none" placeholder:"NAME:VALUE" help:"A header. Repeatable."`
	JSONBody string        `group:"One request" name:"json-body" placeholder:"JSON" help:"Send this JSON. {{ templates }} are those of Artillery."`
	Body     string        `group:"One request" placeholder:"TEXT" help:"Send this text."`
	BodyFile string        `group:"One request" placeholder:"FILE" help:"Send this file."`
	Name     string        `group:"One request" help:"What the report calls the request."`
	Timeout  time.Duration `group:"One request" bound:">0" help:"Give up on a request after this time (10s)."`
	Insecure bool          `group:"One request" short:"k" help:"Accept any TLS certificate."`

	Protocol string `group:"Over what" default:"http/1.1" enum:"http/1.1,h2" help:"http/1.1, or h2 (HTTP/2: negotiated over https, assumed over http). Default: ${default}."`

	Environment string            `group:"Of a plan" short:"e" placeholder:"NAME" help:"Which of an Artillery plan's environments."`
	Variables   string            `group:"Of a plan" placeholder:"JSON" help:"Variables for an Artillery plan, in place of its own of the same name; its settings see them too."`
	Overrides   string            `group:"Of a plan" placeholder:"JSON" help:"Merge this into an Artillery plan; lists are replaced."`
	Config      string            `group:"Of a plan" placeholder:"FILE" help:"A file with a config that is merged over an Artillery plan's own."`
	Scenario    string            `group:"Of a plan" name:"scenario-name" placeholder:"NAME" help:"Run only the scenario of that name, or that matches this pattern."`
	Property    map[string]string `group:"Of a plan" short:"J" mapsep:"none" placeholder:"NAME=VALUE" help:"A JMeter property, for __P and __property. Repeatable."`

	FailIf      []string `group:"The run" name:"fail-if" sep:"none" placeholder:"CONDITION" help:"Exit with status 1 if this holds, such as 'p99 > 200ms' or 'errors > 1%'. Repeatable."`
	JSON        string   `group:"The run" name:"json" placeholder:"FILE" help:"Write the report as JSON (\"-\": standard output)."`
	loadOutputs `embed:""`
	WatchPID    []int         `group:"The run" name:"watch-pid" placeholder:"PID" help:"Also measure this process's CPU time per request. Repeatable."`
	WatchURL    []string      `group:"The run" name:"watch-url" placeholder:"URL" help:"Also follow process_cpu_seconds_total of this Prometheus metrics page. Repeatable."`
	MaxLate     time.Duration `group:"The run" bound:">0" default:"10ms" help:"How late the generator may send at its 99th percentile without voiding the run (${default})."`
	Seed        uint64        `group:"The run" help:"Make the run's random choices repeatable."`

	severalMachines `embed:"" group:"Several machines"`
}

// Help gives the examples.
func (loadVerb) Help() string {
	return `Arrivals are open: each comes at its intended time whether or not the server keeps up, and latency counts
from that time. Users (--users, JMeter's thread groups) are closed: the report then also gives the latency corrected
for what they did not send while they waited. Ctrl-C ends a run early and still reports.

Exit status: 0 the plan ran; 1 no request succeeded, a bound of the plan (Artillery's ensure) does not hold, or a --fail-if does; 2 bad usage or plan; 3 void, because the generator itself was late.

Examples:
  whittle load systems/count/plans/baseAppLoadTest.yml
  whittle load plan.yml --environment staging --target http://127.0.0.1:8080 --json report.json
  whittle load plan.jmx --property users=500 --property ramp=50
  whittle load http://127.0.0.1:3000/Count --rate 200 --duration 30s --json-body '{"times":1000}'
  whittle load http://127.0.0.1:3000/ --users 50 --ramp 5s --loops 10 --watch-pid $(pidof node)
  whittle load plan.yml --workers nats://nats.internal:4222 --expect 4`
}

// Run loads the target and prints the report.
func (v *loadVerb) Run(ctx context.Context, s cmdline.Streams) error {
	if strings.HasPrefix(v.JSON, "{") || strings.HasPrefix(v.JSON, "[") {
		return whittle.Errorf(whittle.Invalid, "--json names the file for the report").
			WithHint("the request's body is --json-body")
	}
	outputs := []string{v.JSON, v.HTML}
	if n := len(slices.DeleteFunc(slices.Clone(outputs), func(path string) bool { return path != "-" })); n > 1 {
		return whittle.Errorf(whittle.Invalid, "%d outputs are \"-\", but there is only one standard output", n)
	}
	w, err := v.workload()
	if err != nil {
		return err
	}
	failIf, err := report.ParseFailIf(v.FailIf)
	if err != nil {
		return err
	}
	screen := cmdline.NewScreen(s, outputs...)
	o := load.Options{
		FailIf: failIf, Target: v.Target, Seed: v.Seed, MaxLate: v.MaxLate, Watch: processes(v.WatchPID), WatchURLs: v.WatchURL, Protocol: v.Protocol,
	}
	if err := cmdline.Writable(outputs...); err != nil {
		return err
	}
	said := newPlanLog(screen)
	o.OnProgress, o.OnLog = said.progress, said.line
	r, err := v.run(ctx, w, o, said)
	said.close()
	if err != nil {
		return err
	}
	if err := v.write(s, r); err != nil {
		return err
	}
	err = r.Err()
	if whittle.CodeOf(err) == whittle.Unavailable {
		return whittle.Errorf(whittle.Unavailable, "%w", err).
			WithHint(voidHint(r))
	}
	return err
}

// voidHint says what to do about a void run.
func voidHint(r *report.Report) string {
	if len(r.Workers) > 0 {
		return "a worker that was late or lost needs a core of its own and a steady connection to NATS, or a lower rate"
	}
	return "give the generator a core of its own, lower the rate, or allow more with --max-late"
}

// workload is what the flags say.
func (v *loadVerb) workload() (load.Workload, error) {
	if err := cmp.Or(v.check(), aboveZero("--rate", v.Rate), aboveZero("--users", v.Users), aboveZero("--loops", v.Loops), aboveZero("-n", v.Requests)); err != nil {
		return load.Workload{}, err
	}
	return load.Workload{
		Plan: v.Plan, Rate: given(v.Rate), Duration: v.Duration, Users: given(v.Users), Ramp: v.Ramp, Loops: given(v.Loops), Requests: given(v.Requests),
		Environment: v.Environment, Properties: v.Property, Target: v.Target,
		Variables: v.Variables, Overrides: v.Overrides, Config: v.Config, Scenario: v.Scenario,
		Request: load.Request{
			Method: v.Method, Headers: v.Header, JSON: v.JSONBody, Body: v.Body, BodyFile: v.BodyFile, Name: v.Name,
			Timeout: v.Timeout, Think: v.Think, Insecure: v.Insecure,
		},
	}, nil
}

// given is a flag's number; 0 where it was not given.
func given[T int | int64 | float64](flag *T) (n T) {
	if flag != nil {
		n = *flag
	}
	return n
}

// aboveZero refuses a number that was given and means nothing: 0 is not "none".
func aboveZero[T int | int64 | float64](name string, flag *T) error {
	if flag != nil && !(*flag > 0) { //nolint:staticcheck // NaN is refused, too
		return whittle.Errorf(whittle.Invalid, "%s %v is not above 0", name, *flag)
	}
	return nil
}

// write puts the report where it is wanted: files, and words for people unless standard
// output is a machine's. These words come even where a file cannot be written.
func (v *loadVerb) write(s cmdline.Streams, r *report.Report) error {
	var failed []error
	if v.HTML == "-" {
		failed = append(failed, r.WriteHTML(s.Out))
	} else {
		failed = append(failed, cmdline.WriteFile(v.HTML, r.WriteHTML))
	}
	failed = append(failed, cmdline.WriteJSON(s, v.JSON, r))
	if v.JSON != "-" && v.HTML != "-" {
		failed = append(failed, r.WriteSummary(s.Out))
	}
	return errors.Join(failed...)
}

// loadOutputs are the files that a load report can be written to in addition to its
// own JSON.
type loadOutputs struct {
	HTML string `group:"The run" name:"html" placeholder:"FILE" help:"Write the report as one HTML file with plots."`
}

// logQueue bounds the lines that wait to be printed.
const logQueue = 1024

// planLog prints a load run's progress and the lines of the plan's log steps. Virtual users
// write those on the threads that send load, so a line never waits: it is queued, or
// dropped and counted if the queue is full.
type planLog struct {
	screen *cmdline.Screen // belongs to the goroutine of newPlanLog until close
	queue  chan func()
	left   atomic.Int64
	done   chan struct{}
}

func newPlanLog(s *cmdline.Screen) *planLog {
	l := &planLog{screen: s, queue: make(chan func(), logQueue), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for show := range l.queue {
			show()
		}
	}()
	return l
}

func (l *planLog) put(show func()) {
	select {
	case l.queue <- show:
	default:
		l.left.Add(1)
	}
}

// progress shows how the run stands.
func (l *planLog) progress(p report.Progress) {
	l.put(func() { l.screen.Progress("%s", p) })
}

// line prints one line of virtual user i's. What a target's response may have
// brought into it cannot move the cursor.
func (l *planLog) line(_ int64, text string) {
	l.put(func() {
		l.screen.Say("%s", strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return unicode.ReplacementChar
			}
			return r
		}, text))
	})
}

// close waits for what is queued. Nobody may use the log after it.
func (l *planLog) close() {
	close(l.queue)
	<-l.done
	l.screen.Clear()
	if n := l.left.Load(); n > 0 {
		l.screen.Say("%s", fmt.Sprintf("(%d more lines were not printed: they came too fast)", n))
	}
}
