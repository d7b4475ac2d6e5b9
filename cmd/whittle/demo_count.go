package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"whittle"
	"whittle/bench/table"
	"whittle/carve/admin"
	"whittle/load"
	"whittle/load/plan"
	"whittle/load/report"
)

const (
	demoRoute = "POST /Count"
	// demoUsers is how many users the load pretends to be; stickiness is by
	// their X-User header, so a share of 1 % is a few of them.
	demoUsers = 500
	// pollEvery is how often the demo looks at the gateway's status.
	pollEvery = 25 * time.Millisecond
)

// countDemo owns the processes and tells the story.
type countDemo struct {
	screen *screen
	house  checkout
	work   string
	node   string

	monolith, published, mended, gateway *process
	admin                                *admin.Client
	recorded                             bool // enough is
	story                                countStory
}

// newCountDemo starts every server but the gateway's candidates' routes: the
// first config passes everything through.
func newCountDemo(ctx context.Context, s *screen, work string) (_ *countDemo, err error) {
	house, err := findCheckout()
	if err != nil {
		return nil, err
	}
	d := &countDemo{screen: s, house: house, work: work}
	d.story = countStory{Format: "whittle.demo-count/1", Started: time.Now(), Machine: table.ThisMachine()}
	if d.node, err = house.node("systems/count/monolith"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.stopAll()
		}
	}()
	s.heading("whittle demo count: carve a hot endpoint out of a monolith")
	if d.monolith, err = start(ctx, "monolith", []string{d.node, house.path("systems/count/monolith/server.js"), "--port", "0"}, []string{"NODE_ENV=production"}, work); err != nil {
		return nil, err
	}
	if d.published, err = d.startService(ctx, "count-as-published", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if d.mended, err = d.startService(ctx, "count", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if err := d.writeConfig(nil); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "find whittle itself: %w", err)
	}
	if d.gateway, err = start(ctx, "gateway", []string{self, "run", "-c", d.configPath()}, nil, work); err != nil {
		return nil, err
	}
	if d.admin, err = admin.Dial(d.gateway.admin, ""); err != nil {
		return nil, err
	}
	for _, p := range []*process{d.monolith, d.published, d.mended, d.gateway} {
		s.say("started %s", p)
	}
	return d, nil
}

func (d *countDemo) startService(ctx context.Context, name, address string) (*process, error) {
	path, err := d.house.binary(name)
	if err != nil {
		return nil, err
	}
	return start(ctx, name, []string{path, "-listen", address, "-admin", "127.0.0.1:0", "-env-file", ""}, nil, d.work)
}

// stopAll ends every process that was started, the gateway first.
func (d *countDemo) stopAll() {
	if d.admin != nil {
		d.admin.Close()
	}
	for _, p := range []*process{d.gateway, d.mended, d.published, d.monolith} {
		if p != nil {
			p.stop()
		}
	}
}

func (d *countDemo) configPath() string { return filepath.Join(d.work, "whittle.yaml") }

var demoConfig = template.Must(template.New("whittle.yaml").Parse(`listen: 127.0.0.1:0
admin: 127.0.0.1:0
monolith: http://{{.Monolith}}
state: {{.Work}}/whittle.db
log: {level: warn}
{{- if .Record}}
record: {dir: {{.Record}}, sample: 100%}
{{- end}}
{{- if .Candidate}}
routes:
  - match: POST /Count
    candidate:
      url: http://{{.Candidate}}
      timeout: 20s
      rpc: {protocol: twirp, descriptor: {{.Descriptor}}, method: twirp.carved.Carved/Count}
      response: {content_type: text/html; charset=utf-8, template: "Counted to {{"{{.Sum}}"}} \n"}
    safe: true                      # this POST changes nothing
    compare: {kind: statistical, value: number in the body, per: request.times}
    mirror: {shed_above: off}       # sizes differ by the million, so latency says nothing here
    # At 120 requests a second the default budget of 0.5% takes some minutes: a demo has less.
    rollout: {steps: [1, 5, 25, 50, 100], hold: 2s, min_requests: 5, harm: 3%, sticky_by: header:X-User}
    guard: {errors: 1%, p99: 3x, mismatch: 0.1%}
{{end}}
`))

// writeConfig puts a config in place, whole or not at all; nil leaves the
// route without a candidate.
func (d *countDemo) writeConfig(candidate *process) error {
	at := struct{ Monolith, Work, Record, Candidate, Descriptor string }{
		Monolith: d.monolith.public, Work: d.work, Descriptor: d.house.path("systems/count/count.binpb"),
	}
	if !d.recorded {
		at.Record = d.recordedPath()
	}
	if candidate != nil {
		at.Candidate = candidate.public
	}
	var b bytes.Buffer
	if err := demoConfig.Execute(&b, at); err != nil {
		return whittle.Errorf(whittle.Internal, "render config: %w", err)
	}
	next := d.configPath() + ".next"
	if err := os.WriteFile(next, b.Bytes(), 0o600); err != nil {
		return whittle.Errorf(whittle.Unavailable, "write config: %w", err)
	}
	if err := os.Rename(next, d.configPath()); err != nil {
		return whittle.Errorf(whittle.Unavailable, "write config: %w", err)
	}
	return nil
}

// shadow writes a config with a candidate and waits until the gateway has it
// in force, with no evidence yet.
func (d *countDemo) shadow(ctx context.Context, candidate *process) error {
	if err := d.writeConfig(candidate); err != nil {
		return err
	}
	_, err := d.await(ctx, 10*time.Second, "the gateway to take the new config", func(r *whittle.RouteStatus) bool {
		return r.Phase == whittle.PhaseShadow && r.Verdict.Compared == 0
	})
	return err
}

// await polls the route until done, for at most a bound.
func (d *countDemo) await(ctx context.Context, bound time.Duration, what string, done func(*whittle.RouteStatus) bool) (*whittle.RouteStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	var last *whittle.RouteStatus
	for {
		r, err := d.admin.Route(ctx, demoRoute)
		switch {
		case err == nil:
			last = &r
			d.note(last)
			if done(last) {
				return last, nil
			}
		case whittle.CodeOf(err) != whittle.NotFound && ctx.Err() == nil:
			return last, err
		}
		select {
		case <-ctx.Done():
			return last, whittle.Errorf(whittle.FallsShort, "waited %s for %s: %s", bound, what, standing(last))
		case <-poll.C:
		}
	}
}

func standing(r *whittle.RouteStatus) string {
	if r == nil {
		return "the route is not there"
	}
	return fmt.Sprintf("it is %s at %g %%: %s", r.Phase, r.Percent, r.Verdict.Summary)
}

// note keeps what the pictures show over time.
func (d *countDemo) note(r *whittle.RouteStatus) {
	s := &d.story
	if n := len(s.shares); n == 0 || s.shares[n-1].share != r.Percent {
		s.shares = append(s.shares, sharePoint{time.Now(), r.Percent})
	}
	for _, b := range r.Verdict.Bounds {
		if b.What != "mean" {
			continue
		}
		if n := len(s.bounds); n == 0 || r.Verdict.Compared < s.bounds[n-1].compared || r.Verdict.Compared >= s.bounds[n-1].compared+20 {
			s.bounds = append(s.bounds, boundPoint{r.Verdict.Compared, b.Low, b.High, b.MarginHigh})
		}
	}
}

// traffic is load in the background of an act.
type traffic struct {
	cancel context.CancelFunc
	done   chan struct{}
	report *report.Report
	err    error
}

// send starts a plan against the gateway at a steady rate.
func (d *countDemo) send(ctx context.Context, name string, rate float64, most time.Duration) (*traffic, error) {
	p, err := load.ReadPlan(d.house.path("systems/count/plans", name))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	t := &traffic{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		t.report, t.err = load.Run(ctx, patient(p.WithPhases(plan.Constant(rate, most))), d.loadOptions(nil))
	}()
	return t, nil
}

// end ends the load where its report no longer matters.
func (t *traffic) end() {
	t.cancel()
	<-t.done
}

// stop ends the load, lets what is under way finish, and gives its report.
func (t *traffic) stop() (*report.Report, error) {
	t.end()
	return t.report, t.err
}

// patient waits for answers as long as the seed's users did.
func patient(p *plan.Plan) *plan.Plan {
	p.HTTP.Timeout = time.Minute
	p.HTTP.Pool = 256
	return p
}

func (d *countDemo) loadOptions(watch []load.Process) load.Options {
	return load.Options{
		Target: "http://" + d.gateway.public,
		Watch:  watch,
		Grace:  30 * time.Second,
		// The generator shares two cores with what it loads.
		MaxLate:    100 * time.Millisecond,
		OnProgress: func(p report.Progress) { d.screen.progress("%s", p) },
		Headers: func(pairs []string, i int64) []string {
			return append(pairs, "X-User", "user-"+strconv.FormatInt(i%demoUsers, 10))
		},
	}
}

// counter reads one of the gateway's counters for the route from its metrics.
func (d *countDemo) counter(ctx context.Context, name string) (int64, error) {
	text, err := fetch(ctx, "http://"+d.gateway.admin+"/metrics")
	if err != nil {
		return 0, err
	}
	prefix := fmt.Sprintf("%s{route=%q} ", name, demoRoute)
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return 0, whittle.Errorf(whittle.Internal, "read metric %s: %w", name, err)
			}
			return int64(f), nil
		}
	}
	return 0, whittle.Errorf(whittle.NotFound, "read metric %s: it is not there", name)
}
