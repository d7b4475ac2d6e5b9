package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"whittle"
	"whittle/bench/table"
	"whittle/carve/admin"
)

const (
	demoRoute = "POST /Count"
	// demoUsers is how many users the load pretends to be; stickiness is by
	// their X-User header, so a share of 1 % is a few of them.
	demoUsers = 500
)

// countSize is how long the demo takes.
type countSize struct {
	seed time.Duration // of the seed's plan
	// mixed is the rate of the load with counts whose sums pass 32 bits, which hold the
	// monolith for more than a second each; rate is that of the loads by which the mended
	// service is proved and shifted to, which have none.
	mixed, rate float64
	// shadow and shift are how long an act waits at most for a verdict, and for a share.
	shadow, shift time.Duration
	// hold and soak are the rollout's.
	hold, soak time.Duration
	// harm is the budget of users' wrong responses, in percent, that so little traffic
	// can show to be kept.
	harm int
	// late is how late a request may be sent before a run is void.
	late time.Duration
}

// The demo's own size, and the short form, which a machine that is busy with other
// things may not void.
var (
	countFull  = countSize{seed: 4 * time.Second, mixed: 16, rate: 120, shadow: time.Minute, shift: 90 * time.Second, hold: 2 * time.Second, soak: 5 * time.Second, harm: 3, late: 100 * time.Millisecond}
	countShort = countSize{seed: time.Second, mixed: 5, rate: 120, shadow: 4 * time.Minute, shift: 4 * time.Minute, hold: 100 * time.Millisecond, soak: 2 * time.Second, harm: 10, late: time.Minute}
)

// countDemo owns the processes and runs the acts.
type countDemo struct {
	*stage
	size                                 countSize
	monolith, published, mended, gateway *process
	admin                                *admin.Client
	recorded                             bool // enough is
	figures                              countFigures
}

// newCountDemo starts every server but the gateway's candidates' routes: the
// first config passes everything through.
func newCountDemo(ctx context.Context, on *stage, size countSize) (*countDemo, error) {
	d := &countDemo{stage: on, size: size}
	d.figures = countFigures{Format: "whittle.demo-count/1", Started: time.Now(), Machine: table.ThisMachine()}
	d.figures.Rollout.budget = size.harm
	node, err := on.root.node("systems/count/monolith")
	if err != nil {
		return nil, err
	}
	on.screen.Heading("demo count: carve a hot endpoint out of a monolith")
	if d.monolith, err = on.start(ctx, "monolith", []string{node, on.root.path("systems/count/monolith/server.js"), "--port", "0"}, []string{"NODE_ENV=production"}); err != nil {
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
	d.gateway, d.admin, err = on.startGateway(ctx, "gateway", d.configPath())
	return d, err
}

// startGateway starts whittle by a config.
func (s *stage) startGateway(ctx context.Context, name, config string) (*process, *admin.Client, error) {
	p, err := s.startBuilt(ctx, name, "whittle", []string{"run", "-c", config}, nil)
	if err != nil {
		return nil, nil, err
	}
	c, err := admin.Dial(p.Admin, "")
	if err == nil {
		s.ends = append(s.ends, c.Close)
	}
	return p, c, err
}

func (d *countDemo) startService(ctx context.Context, name, address string) (*process, error) {
	return d.startBuilt(ctx, name, name, []string{"-listen", address, "-admin", "127.0.0.1:0", "-env-file", ""}, nil)
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
    # At 120 requests a second the default budget of 0.5% takes some minutes, and soak: 5m as long: a demo has less.
    rollout: {steps: [1, 5, 25, 50, 100], hold: {{.Hold}}, soak: {{.Soak}}, min_requests: 5, harm: {{.Harm}}%, sticky_by: header:X-User}
    guard: {errors: 1%, p99: 3x, mismatch: 0.1%}
{{end}}
`))

// writeConfig puts a config in place, whole or not at all; nil leaves the
// route without a candidate.
func (d *countDemo) writeConfig(candidate *process) error {
	at := struct {
		Monolith, Work, Record, Candidate, Descriptor string
		Harm                                          int
		Hold, Soak                                    time.Duration
	}{Monolith: d.monolith.Public, Work: d.work, Descriptor: d.root.path("systems/count/count.binpb"), Harm: d.size.harm, Hold: d.size.hold, Soak: d.size.soak}
	if !d.recorded {
		at.Record = d.recordedPath()
	}
	if candidate != nil {
		at.Candidate = candidate.Public
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
// in force.
func (d *countDemo) shadow(ctx context.Context, candidate *process) error {
	if err := d.writeConfig(candidate); err != nil {
		return err
	}
	return d.afresh(ctx)
}

// afresh waits until the route is in shadow with nothing known of the candidate.
// No traffic is under way then, so what is known later has come since.
func (d *countDemo) afresh(ctx context.Context) error {
	_, err := d.await(ctx, 10*time.Second, "evidence that begins at 0, in shadow", func(r *whittle.RouteStatus) bool {
		return r.Phase == whittle.PhaseShadow && atZero(r)
	})
	return err
}

func (d *countDemo) await(ctx context.Context, bound time.Duration, what string, done func(*whittle.RouteStatus) bool) (*whittle.RouteStatus, error) {
	at := watched{admin: d.admin, route: demoRoute, note: d.note}
	return at.await(ctx, bound, what, done)
}

// note keeps what the pictures show over time.
func (d *countDemo) note(r *whittle.RouteStatus) {
	s := &d.figures
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

// counter reads one of the gateway's counters for the route from its metrics.
func (d *countDemo) counter(ctx context.Context, name string) (int64, error) {
	text, err := fetch(ctx, "http://"+d.gateway.Admin+"/metrics")
	if err != nil {
		return 0, err
	}
	if v, ok := metricOf(text, fmt.Sprintf("%s{route=%q}", name, demoRoute)); ok {
		return int64(v), nil
	}
	return 0, whittle.Errorf(whittle.NotFound, "read metric %s: it is not there", name)
}
