package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle/cmdline"
	"whittle/internal/chart"

	"whittle"
	"whittle/internal/latency"
	"whittle/record/recorder"
	"whittle/record/redact"
	"whittle/record/replay"
)

type replayVerb struct {
	Log     string `arg:"" help:"A folder that whittle record wrote, one of its segments, or a .har file." placeholder:"LOG"`
	Against string `required:"" placeholder:"URL" help:"The candidate. Nothing is sent anywhere else."`

	Config string   `short:"c" group:"What is compared, and how" placeholder:"FILE" help:"Take routes, contract, comparison and write contract from this config. Without it every request goes as it is."`
	Route  []string `group:"What is compared, and how" sep:"none" placeholder:"ROUTE" help:"Only this route. Repeatable."`
	Ignore []string `group:"What is compared, and how" sep:"none" placeholder:"PATH" help:"A JSON path that is not compared, such as '$.id'. Repeatable."`

	Unordered   []string `group:"What is compared, and how" sep:"none" placeholder:"PATH" help:"A JSON path of an array whose order does not matter. Repeatable."`
	Monolith    string   `group:"What is compared, and how" placeholder:"URL" help:"Ask the monolith as well, once in --repeat-every requests that change nothing, to learn what differs by itself or has changed since."`
	RepeatEvery int      `group:"What is compared, and how" name:"repeat-every" default:"10" help:"How often the monolith is asked: once in so many (${default})."`

	Speed       string        `group:"How it is sent" default:"1x" help:"A multiple of the recorded pace, such as 10x, or max: as fast as the connections allow (${default})."`
	Connections int           `group:"How it is sent" default:"16" help:"How many requests may be under way (${default})."`
	Key         string        `group:"How it is sent" default:"connection" help:"What keeps requests in order: connection, header:NAME, cookie:NAME, path, body:$.PATH or none (${default})."`
	Header      []string      `group:"How it is sent" short:"H" sep:"none" placeholder:"NAME:VALUE" help:"Set a header on every request, such as a real Authorization in place of a redacted one. Repeatable."`
	AllowWrites bool          `group:"How it is sent" name:"allow-writes" help:"Send requests that may change something."`
	Timeout     time.Duration `group:"How it is sent" help:"Give a request up after this time (the route's, or 10s)."`
	Insecure    bool          `group:"How it is sent" short:"k" help:"Accept any TLS certificate."`

	RedactKey string `group:"What is secret beside the defaults" name:"redact-key" placeholder:"FILE" help:"The key of the log's tokens (LOG.key, beside the folder, where that is)."`
	redacting

	FailIf  []string `group:"The outcome" name:"fail-if" enum:"undecided,differs" placeholder:"WHAT" help:"Also exit with status 1 if the verdict is undecided, or if any response differs (differs). Repeatable."`
	ToTests string   `group:"The outcome" name:"to-tests" placeholder:"DIR" help:"Make a Go test package of what differs, with the recorded responses as what is right."`
	Cover   bool     `group:"The outcome" help:"With --to-tests: of distinct requests of every shape, whether they differ or not."`
	JSON    string   `group:"The outcome" name:"json" placeholder:"FILE" help:"Write the report as JSON (\"-\": standard output)."`
	HTML    string   `group:"The outcome" name:"html" placeholder:"FILE" help:"Write the report as one HTML file."`
}

// Help gives the examples.
func (replayVerb) Help() string {
	return `The recorded responses stand for the monolith: each request is sent to the candidate again, and the two responses are compared as on live traffic. Requests of one connection keep their order. What may change something is not sent, unless the config says safe: true or dry_run:, or --allow-writes is given.

Exit status: 0 EQUIVALENT, or nothing shown to differ; 1 DIFFERENT, or what --fail-if says. Ctrl-C ends early and still reports.

Examples:
  whittle replay recorded --against http://127.0.0.1:8090
  whittle replay recorded --against http://127.0.0.1:8090 -c whittle.yaml --route 'POST /Count' --speed max --connections 32
  whittle replay session.har --against http://127.0.0.1:8090 --speed 10x --ignore '$.at' --fail-if differs
  whittle replay recorded --against http://127.0.0.1:8090 --speed max --to-tests regression --cover
  (cd regression && TARGET_URL=http://127.0.0.1:8090 go test .)
  whittle replay recorded --against http://127.0.0.1:8090 --monolith http://127.0.0.1:3000 --header 'Authorization: Bearer …' --html replay.html`
}

// Run replays the log and prints the report.
func (v *replayVerb) Run(ctx context.Context, s cmdline.Streams) error {
	o, rules, err := v.options()
	if err != nil {
		return err
	}
	log, err := replay.OpenLog(v.Log)
	if err != nil {
		return err
	}
	key, err := v.key()
	if err != nil {
		return err
	}
	if err := o.RedactLike(ctx, log, rules, key); err != nil {
		return ofFlag(err)
	}
	screen := cmdline.NewScreen(s, v.JSON)
	o.OnProgress = func(p replay.Progress) { screen.Progress("%s", progressOf(&p, o.Speed)) }
	r, err := replay.Run(ctx, log, o)
	screen.Clear()
	if err != nil {
		return err
	}
	if err := v.write(s, r, o.Cases); err != nil {
		return err
	}
	return r.Err(v.FailIf)
}

func (v *replayVerb) options() (replay.Options, redact.Rules, error) {
	o := replay.Options{
		Against: v.Against, Only: v.Route, Timeout: v.Timeout, Insecure: v.Insecure, Connections: v.Connections,
		AllowWrites: v.AllowWrites, Ignore: v.Ignore, Unordered: v.Unordered, Monolith: v.Monolith, RepeatEvery: v.RepeatEvery,
		Header: whittle.Header{},
	}
	if v.Cover && v.ToTests == "" {
		return o, redact.Rules{}, whittle.Errorf(whittle.Invalid, "--cover goes with --to-tests DIR")
	}
	if v.ToTests != "" {
		o.Cases = replay.NewCases(v.Cover)
	}
	var err error
	if o.Speed, err = parseSpeed(v.Speed); err != nil {
		return o, redact.Rules{}, err
	}
	if o.Key, err = replay.ParseKey(v.Key); err != nil {
		return o, redact.Rules{}, err
	}
	for _, line := range v.Header {
		name, value, ok := strings.Cut(line, ":")
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		if !ok || name == "" || strings.ContainsAny(value, "\r\n") {
			return o, redact.Rules{}, whittle.Errorf(whittle.Invalid, "--header %q is none", line).WithHint("write NAME:VALUE")
		}
		o.Header[name] = append(o.Header[name], strings.TrimSpace(value))
	}
	rules := redact.Rules{}
	if v.Config != "" {
		f, err := readConfig(v.Config)
		if err != nil {
			return o, redact.Rules{}, err
		}
		o.Routes, rules = f.Routes, redact.Rules(f.Redact)
	}
	return o, v.rules(rules), nil
}

// key reads the key of the log's tokens; nil where there is none.
func (v *replayVerb) key() ([]byte, error) {
	if v.RedactKey != "" {
		return recorder.LoadKey(v.RedactKey)
	}
	if strings.EqualFold(filepath.Ext(v.Log), ".har") { // an archive has no key of its own
		return nil, nil
	}
	folder := v.Log
	if st, err := os.Stat(folder); err == nil && !st.IsDir() {
		folder = filepath.Dir(folder) // a segment
	}
	key, err := recorder.LoadKey(recorder.KeyPath(folder))
	if whittle.CodeOf(err) == whittle.NotFound {
		return nil, nil
	}
	return key, err
}

// parseSpeed reads "10x", "0.5x" or "max", which is 0.
func parseSpeed(s string) (float64, error) {
	if s == "max" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(s, "x"), 64)
	if err != nil || !(f > 0 && f <= 1e6) {
		return 0, whittle.Errorf(whittle.Invalid, "--speed %q is none", s).WithHint("write 1x for the recorded pace, 10x, 0.5x or max")
	}
	return f, nil
}

func progressOf(p *replay.Progress, speed float64) string {
	line := fmt.Sprintf("%d of %d  %d compared  %d differ  %d failed  %d skipped", p.Done, p.Total, p.Compared, p.Differing, p.Failed, p.Skipped)
	if seconds := p.Elapsed.Seconds(); seconds > 0 && speed == 0 {
		line += fmt.Sprintf("  %.0f/s", float64(p.Done)/seconds)
	}
	if p.Left > time.Second {
		line += "  " + p.Left.Round(time.Second).String() + " left"
	}
	if p.Late > 10*time.Millisecond {
		line += fmt.Sprintf("  %s late", p.Late.Round(time.Millisecond))
	}
	return line
}

// write puts the report where it is wanted.
func (v *replayVerb) write(s cmdline.Streams, r *replay.Report, cases *replay.Cases) error {
	if v.JSON != "" {
		if err := cmdline.WriteJSON(s, v.JSON, r); err != nil {
			return err
		}
	}
	if err := writeFile(v.HTML, r.WriteHTML); err != nil {
		return err
	}
	if v.JSON != "-" {
		showReplay(s.Out, r)
	}
	if v.ToTests == "" {
		return nil
	}
	n, err := cases.Write(v.ToTests, r)
	switch {
	case err != nil || v.JSON == "-":
	case n == 0:
		fmt.Fprintln(s.Out, "Tests        none: there is nothing to make one of")
	default:
		fmt.Fprintf(s.Out, "Tests        %d in %s, of %s; run them by: cd %s && TARGET_URL=%s go test .\n", n, v.ToTests, cases.Coverage(r), v.ToTests, v.Against)
	}
	return err
}

func showReplay(w io.Writer, r *replay.Report) {
	fmt.Fprintln(w, r.Summary)
	if r.Interrupted {
		fmt.Fprintln(w, "The replay was ended early.")
	}
	for i := range r.Routes {
		showReplayed(w, &r.Routes[i])
	}
	fmt.Fprintf(w, "\nExchanges    %d in %s: %d compared, %d failed; %d got a different response\n",
		r.Ledger.Total, r.Log, r.Ledger.Compared, r.Ledger.Failed, r.Differing)
	for _, why := range slices.Sorted(maps.Keys(r.Ledger.Skipped)) {
		fmt.Fprintf(w, "  skipped    %d: %s\n", r.Ledger.Skipped[why], replay.SkipText(why))
	}
	fmt.Fprintf(w, "Shapes       %d of %d recorded shapes of request met, %d differ\n", r.Shapes.Met, r.Shapes.Recorded, r.Shapes.Differing)
	fmt.Fprintf(w, "Inputs       %d of %s compared, %d differ\n", r.Inputs.Compared, r.Inputs.Text(), r.Inputs.Differing)
	for i := range r.Shapes.Unmet[:min(5, len(r.Shapes.Unmet))] {
		one := &r.Shapes.Unmet[i]
		fmt.Fprintf(w, "  not met    %s (%d recorded): %s\n", one.Shape, one.Recorded, replay.SkipText(one.Why))
	}
	showTimes(w, r)
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
}

func showReplayed(w io.Writer, o *replay.Route) {
	if o.Ledger.Compared+o.Ledger.Failed == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s  (%s; %d compared, %d differ; median %s then, %s now)\n", o.Route, o.Kind, o.Ledger.Compared, o.Differing,
		inMilliseconds(o.Recorded.P50), inMilliseconds(o.Now.P50))
	showFindings(w, &o.Verdict)
	if len(o.Noise) > 0 {
		fmt.Fprintf(w, "\nThe monolith changes by itself: %s\n", strings.Join(o.Noise, ", "))
	}
}

func showTimes(w io.Writer, r *replay.Report) {
	l := &r.Latency
	fmt.Fprintf(w, "Latency      recorded: median %s, p99 %s   now: median %s, p99 %s\n",
		inMilliseconds(l.Recorded.P50), inMilliseconds(l.Recorded.P99), inMilliseconds(l.Now.P50), inMilliseconds(l.Now.P99))
	s := &r.Schedule
	if s.Speed == 0 {
		fmt.Fprintf(w, "Pace         as fast as %d connections allow: %.0f requests a second\n", s.Connections, s.PerSecond)
		return
	}
	fmt.Fprintf(w, "             from when each was due: median %s, p99 %s\n", inMilliseconds(l.Intended.P50), inMilliseconds(l.Intended.P99))
	fmt.Fprintf(w, "Pace         %gx the recorded one, %.1f requests a second; sent late by %s at the median, %s at p99 (whittle's own: %s)\n",
		s.Speed, s.PerSecond, inMilliseconds(s.Late.P50), inMilliseconds(s.Late.P99), inMilliseconds(s.Own.P99))
}

func inMilliseconds(d time.Duration) string {
	if ms := latency.Milliseconds(d); ms >= 100 {
		return chart.Milliseconds(ms)
	}
	return strconv.FormatFloat(latency.Milliseconds(d), 'g', 3, 64) + " ms"
}
