package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"whittle"
	"whittle/cmdline"
	"whittle/record/recorder"
	"whittle/record/redact"
	"whittle/record/replay"
)

type replayVerb struct {
	Log     string `arg:"" help:"A folder that whittle record wrote, one of its segments, or a .har file." placeholder:"LOG"`
	Against string `required:"" placeholder:"URL" help:"The candidate. Nothing is sent anywhere else."`

	Config string   `short:"c" group:"What is compared, and how" placeholder:"FILE" help:"Take routes, contract and comparison from this config. Without it, every request is sent as it is."`
	Route  []string `group:"What is compared, and how" sep:"none" placeholder:"ROUTE" help:"Only this route. Repeatable."`
	Ignore []string `group:"What is compared, and how" sep:"none" placeholder:"PATH" help:"A JSON path that is not compared, such as '$.id'. Repeatable."`

	Unordered   []string `group:"What is compared, and how" sep:"none" placeholder:"PATH" help:"A JSON path of an array whose order does not matter. Repeatable."`
	Monolith    string   `group:"What is compared, and how" placeholder:"URL" help:"Also ask the monolith, now and then (--repeat-every), to learn what varies by itself or has changed since."`
	RepeatEvery int      `bound:">0" group:"What is compared, and how" name:"repeat-every" needs:"monolith" default:"10" help:"Ask the monolith once in this many requests (${default})."`

	Speed       string        `group:"How it is sent" default:"1x" help:"A multiple of the recorded pace, such as 10x, or max: as fast as the connections allow (${default})."`
	Connections int           `bound:">0" group:"How it is sent" default:"16" help:"How many requests may be under way (${default})."`
	Key         string        `group:"How it is sent" default:"connection" help:"What keeps requests in order: connection, header:NAME or none (${default})."`
	Header      []string      `group:"How it is sent" short:"H" sep:"none" placeholder:"NAME:VALUE" help:"Set a header on every request, such as a real Authorization. Repeatable."`
	AllowWrites bool          `group:"How it is sent" name:"allow-writes" help:"Send requests that may change something."`
	Timeout     time.Duration `bound:">=0" group:"How it is sent" help:"Give up on a request after this time (the route's, or 10s)."`
	Insecure    bool          `group:"How it is sent" short:"k" help:"Accept any TLS certificate."`

	RedactKey string `group:"What is secret too" name:"redact-key" placeholder:"FILE" help:"The key of the log's tokens (default: LOG.key next to the folder, if it exists)."`
	recorder.Flags

	FailIf []string `group:"The outcome" name:"fail-if" enum:"undecided,differs" placeholder:"WHAT" help:"Also exit with status 1 if the verdict is undecided, or any response differs. Repeatable."`
	JSON   string   `group:"The outcome" name:"json" placeholder:"FILE" help:"Write the report as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (replayVerb) Help() string {
	return `The recorded responses stand for the monolith: each request is sent to the candidate again, and the two
responses are compared as on live traffic. Requests of one connection keep their order. Requests that may change
something are not sent, unless the config says safe: true or dry_run:, or --allow-writes is given.

Exit status: 0 EQUIVALENT, or nothing shown to differ; 1 DIFFERENT, or what --fail-if says; 2 bad usage, or a log that
cannot be read; 3 nothing responded, or nothing could be compared. Ctrl-C ends early and still reports.

Examples:
  whittle replay recorded --against http://127.0.0.1:8090
  whittle replay recorded --against http://127.0.0.1:8090 -c whittle.yaml --route 'POST /Count' --speed max --connections 32
  whittle replay session.har --against http://127.0.0.1:8090 --speed 10x --ignore '$.at' --fail-if differs
  whittle replay recorded --against http://127.0.0.1:8090 --speed max --fail-if differs --fail-if undecided
  whittle replay recorded --against http://127.0.0.1:8090 --monolith http://127.0.0.1:3000 --header 'Authorization: Bearer …'`
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
	if err := o.RedactLike(log, rules, key); err != nil {
		return recorder.OfFlag(err)
	}
	if err := cmdline.Writable(v.JSON); err != nil {
		return err
	}
	screen := cmdline.NewScreen(s, v.JSON)
	o.OnProgress = func(p replay.Progress) { screen.Progress("%s", replay.ProgressLine(&p, o.Speed)) }
	r, err := replay.Run(ctx, log, o)
	screen.Clear()
	if err != nil {
		return err
	}
	if err := cmdline.WriteJSON(s, v.JSON, r); err != nil {
		return err
	}
	if v.JSON != "-" {
		if err := r.WriteSummary(s.Out); err != nil {
			return err
		}
	}
	return r.Err(v.FailIf)
}

func (v *replayVerb) options() (replay.Options, redact.Rules, error) {
	o := replay.Options{
		Against: v.Against, Only: v.Route, Timeout: v.Timeout, Insecure: v.Insecure, Connections: v.Connections,
		AllowWrites: v.AllowWrites, Ignore: v.Ignore, Unordered: v.Unordered, Monolith: v.Monolith, RepeatEvery: v.RepeatEvery,
		Header: whittle.Header{},
	}
	var err error
	if o.Speed, err = replay.ParseSpeed(v.Speed); err != nil {
		return o, redact.Rules{}, err
	}
	if o.Key, err = replay.ParseKey(v.Key); err != nil {
		return o, redact.Rules{}, err
	}
	for _, line := range v.Header {
		name, value, ok := strings.Cut(line, ":")
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		if !ok || name == "" || strings.ContainsAny(value, "\r\n") {
			return o, redact.Rules{}, whittle.Errorf(whittle.Invalid, "--header %q is not a header", line).WithHint("write NAME:VALUE")
		}
		o.Header[name] = append(o.Header[name], strings.TrimSpace(value))
	}
	rules := redact.Rules{}
	if v.Config != "" {
		f, err := readConfig(v.Config)
		if err != nil {
			return o, redact.Rules{}, err
		}
		o.Routes, rules = f.Routes, f.Redact
	}
	return o, v.Rules(rules), nil
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
