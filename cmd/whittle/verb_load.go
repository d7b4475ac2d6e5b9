package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/alecthomas/kong"

	"whittle"
	"whittle/cmdline"
	"whittle/load"
	"whittle/load/export"
	"whittle/load/report"
	"whittle/load/wire"
)

type loadVerb struct {
	Plan   string `arg:"" help:"An Artillery YAML or JSON file, a JMeter .jmx file, or the URL to send to." placeholder:"PLAN|URL"`
	Target string `placeholder:"URL" help:"Send to this base URL instead of the plan's."`

	Rate     *float64      `group:"How much" help:"Open arrivals per second."`
	Duration time.Duration `group:"How much" short:"d" bound:">0" help:"How long arrivals or users go on."`
	Users    *int          `group:"How much" short:"u" help:"Closed users: each sends its next request after the answer to the one before. Also in place of a plan's own users or arrivals."`
	Ramp     time.Duration `group:"How much" help:"Spread the users' starts over this time."`
	Think    time.Duration `group:"How much" help:"How long each user waits between a response and its next request."`
	Requests *int64        `group:"How much" short:"n" help:"How many requests a URL gets in all: of all users together, or at --rate."`
	Loops    *int64        `group:"How much" help:"How often each user goes through its requests. Without it and --duration: once."`

	Method   string        `group:"One request" short:"X" help:"GET, or POST with a body, unless given."`
	Header   []string      `group:"One request" short:"H" sep:"none" placeholder:"NAME:VALUE" help:"A header. Repeatable."`
	JSONBody string        `group:"One request" name:"json-body" placeholder:"JSON" help:"Send this JSON. {{ templates }} are those of Artillery."`
	Body     string        `group:"One request" placeholder:"TEXT" help:"Send this text."`
	BodyFile string        `group:"One request" placeholder:"FILE" help:"Send this file."`
	Name     string        `group:"One request" help:"What the report calls the request."`
	Timeout  time.Duration `group:"One request" bound:">0" help:"Give a request up after this time (10s)."`
	Insecure bool          `group:"One request" short:"k" help:"Accept any TLS certificate."`

	Protocol   string `group:"Over what" default:"http/1.1" enum:"http/1.1,h2,grpc" help:"http/1.1, h2 (HTTP/2: by ALPN over https, known beforehand over http) or grpc (calls of a post's JSON to /package.Service/Method; a stream of messages is a JSON list). ${default} unless given."`
	Descriptor string `group:"Over what" placeholder:"FILE" help:"gRPC's contract: a binary FileDescriptorSet, as buf build or protoc --descriptor_set_out write it."`

	StreamMessages int           `group:"Over what" name:"stream-messages" placeholder:"N" help:"End a call whose responses stream after so many of them."`
	StreamTime     time.Duration `group:"Over what" name:"stream-time" help:"End it after this time."`
	StreamPause    time.Duration `group:"Over what" name:"stream-pause" help:"Wait between two messages of a client's stream."`
	StreamTurns    int           `group:"Over what" name:"stream-turns" placeholder:"N" help:"Where both sides stream, send the next message once so many of the server's have come for the one before."`

	Environment string            `group:"Of a plan" short:"e" placeholder:"NAME" help:"Which of an Artillery plan's environments."`
	Variables   string            `group:"Of a plan" placeholder:"JSON" help:"Variables of an Artillery plan, over its own, for its settings too."`
	Overrides   string            `group:"Of a plan" placeholder:"JSON" help:"What is merged into an Artillery plan, lists replaced."`
	Config      string            `group:"Of a plan" placeholder:"FILE" help:"A file with an Artillery plan's config, over its own."`
	Scenario    string            `group:"Of a plan" name:"scenario-name" placeholder:"NAME" help:"Run only the scenario of that name, or that matches this pattern."`
	Property    map[string]string `group:"Of a plan" short:"J" mapsep:"none" placeholder:"NAME=VALUE" help:"A JMeter property, for __P and __property. Repeatable."`

	FailIf       []string `group:"The run" name:"fail-if" not:"dry-run" sep:"none" placeholder:"CONDITION" help:"Exit with status 1 if it holds, such as 'p99 > 200ms' or 'errors > 1%'. Repeatable."`
	DryRun       bool     `group:"The run" name:"dry-run" help:"Print the first requests of each scenario, and send nothing."`
	JSON         string   `group:"The run" name:"json" not:"dry-run" placeholder:"FILE" help:"Write the report as JSON (\"-\": standard output)."`
	loadOutputs  `embed:""`
	Prometheus   []string      `group:"The run" name:"prometheus-write" not:"dry-run" sep:"none" placeholder:"URL" help:"Also write the run's figures, every 5s and at its end, to a Prometheus server (or what takes its remote write). Repeatable."`
	OTLP         []string      `group:"The run" name:"otlp" not:"dry-run" sep:"none" placeholder:"URL" help:"The same over OTLP/HTTP, to an OpenTelemetry collector. Repeatable."`
	ExportHeader []string      `group:"The run" name:"export-header" not:"dry-run" sep:"none" placeholder:"NAME:VALUE" help:"A header of these, such as a tenant or a token. Repeatable."`
	WatchPID     []int         `group:"The run" name:"watch-pid" not:"dry-run" placeholder:"PID" help:"Also measure this process's CPU time per request. Repeatable."`
	WatchURL     []string      `group:"The run" name:"watch-url" not:"dry-run" placeholder:"URL" help:"Also follow process_cpu_seconds_total of this Prometheus metrics page, or the CPU profile of this /debug/pprof/ URL. Repeatable."`
	MaxLate      time.Duration `group:"The run" not:"dry-run" bound:">0" default:"10ms" help:"How late the generator may send at its 99th percentile without voiding the run (${default})."`
	Seed         uint64        `group:"The run" help:"Make the run's random choices repeatable."`

	severalMachines `embed:"" group:"Several machines"`
}

// Help gives the examples.
func (loadVerb) Help() string {
	return `Arrivals are open: each comes at its intended time whether or not the server keeps up, and latency counts from that time. Users (--users, JMeter's thread groups) are closed: the report then also gives the latency corrected for what they did not send while they waited. A run in which the generator itself was late declares itself void (exit status 3). A run in which not one request succeeded, and bounds that a plan sets (Artillery's ensure) and that do not hold, make the exit status 1. --fail-if adds conditions of its own. Ctrl-C ends a run early and still reports.

Examples:
  whittle load systems/count/plans/baseAppLoadTest.yml
  whittle load plan.yml --environment staging --target http://127.0.0.1:8080 --json report.json
  whittle load plan.jmx --property users=500 --property ramp=50
  whittle load http://127.0.0.1:3000/Count --rate 200 --duration 30s --json-body '{"times":1000}'
  whittle load http://127.0.0.1:3000/ --users 50 --ramp 5s --loops 10 --watch-pid $(pidof node)
  whittle load plan.yml --workers nats://nats.internal:4222 --expect 4

Names may also be written with one dash: -rate 200 -users 50. After one dash, -json is the request's body, as --json-body.`
}

// Run loads the target and prints the report.
func (v *loadVerb) Run(ctx context.Context, s cmdline.Streams) error {
	if strings.HasPrefix(v.JSON, "{") || strings.HasPrefix(v.JSON, "[") {
		return whittle.Errorf(whittle.Invalid, "--json names the file for the report").
			WithHint("the request's body is --json-body, or -json with one dash")
	}
	outputs := []string{v.JSON, v.JSONArtillery, v.CSV, v.HTML}
	if n := len(slices.DeleteFunc(slices.Clone(outputs), func(path string) bool { return path != "-" })); n > 1 {
		return whittle.Errorf(whittle.Invalid, "%d outputs are \"-\", and there is one standard output", n)
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
		Streams: wire.Streams{Messages: v.StreamMessages, Time: v.StreamTime, Pause: v.StreamPause, Turns: v.StreamTurns},
	}
	if v.Descriptor != "" {
		if o.Descriptor, err = whittle.ReadFile("descriptor", v.Descriptor, load.MaxBodyFile); err != nil {
			return err
		}
	}
	if o.Exports, err = v.exports(); err != nil {
		return err
	}
	if v.DryRun {
		return dryRun(ctx, s, w, o)
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

// dryRun shows what would be sent.
func dryRun(ctx context.Context, s cmdline.Streams, w load.Workload, o load.Options) error {
	plan, err := w.Read()
	if err != nil {
		return err
	}
	runner, err := load.NewRunner(plan, o)
	if err != nil {
		return err
	}
	return runner.DryRun(ctx, s.Out)
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

// exports are the targets of the run's figures.
func (v *loadVerb) exports() (out []*export.Target, err error) {
	for _, to := range []struct {
		flag string
		urls []string
		make func(string, []string) (*export.Target, error)
	}{{"--prometheus-write", v.Prometheus, export.Prometheus}, {"--otlp", v.OTLP, export.OTLP}} {
		for _, u := range to.urls {
			t, err := to.make(u, v.ExportHeader)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", to.flag, err)
			}
			out = append(out, t)
		}
	}
	if len(out) == 0 && len(v.ExportHeader) > 0 {
		return nil, whittle.Errorf(whittle.Invalid, "--export-header goes with --prometheus-write or --otlp")
	}
	return out, nil
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
	words := v.JSON != "-"
	for _, out := range []struct {
		path  string
		write func(io.Writer) error
	}{{v.JSONArtillery, r.WriteArtillery}, {v.CSV, r.WriteCSV}, {v.HTML, r.WriteHTML}} {
		if out.path == "-" {
			words = false
			failed = append(failed, out.write(s.Out))
			continue
		}
		failed = append(failed, cmdline.WriteFile(out.path, out.write))
	}
	failed = append(failed, cmdline.WriteJSON(s, v.JSON, r))
	if words {
		failed = append(failed, r.WriteSummary(s.Out))
	}
	return errors.Join(failed...)
}

// longNames are the flags of the load verb, which may be written with one dash as wrk's and
// vegeta's are.
var longNames = sync.OnceValue(func() (names []string) {
	for _, f := range kong.Must(&loadVerb{}).Model.Flags {
		names = append(names, f.Name)
	}
	return names
})

// secondDash gives the load verb's flags of one dash their second. What
// follows "--" is left as it is, and so is every other verb.
func secondDash(args []string) []string {
	if len(args) == 0 || args[0] != "load" {
		return args
	}
	out := eachItsFlag(args)
	for i, a := range out {
		if a == "--" {
			break
		}
		name, ok := strings.CutPrefix(a, "-")
		if !ok || strings.HasPrefix(name, "-") {
			continue
		}
		switch bare, val, valued := strings.Cut(name, "="); {
		case bare == "json" && valued:
			out[i] = "--json-body=" + val
		case bare == "json":
			out[i] = "--json-body"
		case slices.Contains(longNames(), bare):
			out[i] = "-" + a
		}
	}
	return out
}

// condition and below tell what follows a flag: a further condition of --fail-if, and
// a number below 0, which is no flag of its own.
var (
	condition = regexp.MustCompile(`^[a-z]\w* *[<>]=? *[\d.]`)
	below     = regexp.MustCompile(`^-[\d.]`)
)

// eachItsFlag gives each condition after the first of a --fail-if a flag of its own, and
// puts numbers below 0 to their flags, so that they are refused as what they are.
func eachItsFlag(args []string) []string {
	var out []string
	failing := false // the argument before is a condition
	for i, a := range args {
		flag := i > 0 && strings.TrimLeft(args[i-1], "-") == "fail-if" && strings.HasPrefix(args[i-1], "-")
		switch {
		case a == "--":
			return append(out, args[i:]...)
		case failing && condition.MatchString(a):
			out = append(out, "--fail-if="+a)
			continue
		case below.MatchString(a) && i > 1 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "="):
			if len(args[i-1]) > len("-n") {
				a = "=" + a
			}
			out[len(out)-1] += a
			continue
		}
		failing = flag
		out = append(out, a)
	}
	return out
}

// loadOutputs are the files that a load report can be written to in addition to its
// own JSON.
type loadOutputs struct {
	JSONArtillery string `group:"The run" name:"json-artillery" not:"dry-run" placeholder:"FILE" help:"Write the report as Artillery 2 would (\"-\": standard output)."`
	CSV           string `group:"The run" name:"csv" not:"dry-run" placeholder:"FILE" help:"Write a row for each request's name, and one for all, as CSV (\"-\": standard output)."`
	HTML          string `group:"The run" name:"html" not:"dry-run" placeholder:"FILE" help:"Write the report as one HTML file with plots."`
}

// logQueue bounds the lines that wait to be printed.
const logQueue = 1024

// planLog prints a load run's progress, as a view where there is room for one, and the lines of the plan's log steps. Virtual
// users write those on the threads that send load, so a line never waits: it is
// queued, or dropped and counted if the queue is full.
type planLog struct {
	screen *cmdline.Screen // belongs to the goroutine of newPlanLog until close, and so does live
	live   report.Live
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
	l.put(func() {
		l.live.Add(p)
		if lines := l.live.Lines(l.screen.Size()); lines != nil {
			l.screen.Redraw(lines)
			return
		}
		l.screen.Progress("%s", p)
	})
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
		l.screen.Say("%s", fmt.Sprintf("(%d further lines were not printed: they came faster than they could be)", n))
	}
}
