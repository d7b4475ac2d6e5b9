package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"text/template"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/table"
	"whittle/load"
	"whittle/load/cpu"
	"whittle/load/report"
)

// startServices starts the three services.
func (d *countDemo) startServices(ctx context.Context) (err error) {
	node, err := d.root.node("systems/count/monolith")
	if err != nil {
		return err
	}
	if d.monolith, err = d.start(ctx, "monolith", []string{node, d.root.path("systems/count/monolith/server.js"), "--port", "0"}, []string{"NODE_ENV=production"}); err != nil {
		return err
	}
	if d.published, err = d.startService(ctx, "count-as-published", "127.0.0.1:0"); err != nil {
		return err
	}
	d.mended, err = d.startService(ctx, "count", "127.0.0.1:0")
	return err
}

func (d *countDemo) startService(ctx context.Context, name, address string) (*process, error) {
	return d.startBuilt(ctx, name, name, []string{"-listen", address, "-admin", "127.0.0.1:0", "-env-file", ""}, nil)
}

var countConfig = template.Must(template.New("whittle.yaml").Parse(`listen: {{or .Listen "127.0.0.1:0"}}
admin: {{or .Admin "127.0.0.1:0"}}
monolith: http://{{.Monolith}}
state: {{.State}}
log: {level: warn}
{{- if .Front}}
forwarded: {trust: [127.0.0.0/8]}
{{- end}}
{{- if .Record}}
record: {dir: {{.Record}}, sample: 100%}
{{- end}}
{{- if .Candidate}}
routes:
  - match: POST /Count
    candidate:
      url: http://{{.Candidate.Public}}
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

// configure puts a config in place, whole or not at all; nil leaves the route without a candidate.
func (d *countDemo) configure(candidate *process) error {
	record, path := d.recordedPath(), d.configPath()
	if d.recorded {
		record = ""
	}
	var b bytes.Buffer
	if err := countConfig.Execute(&b, map[string]any{
		"State": filepath.Join(d.work, "whittle.db"), "Candidate": candidate, "Record": record,
		"Monolith": d.monolith.Public, "Descriptor": d.root.path("systems/count/count.binpb"),
		"Listen": d.listen, "Admin": d.adminAt, "Front": d.front, "Hold": d.size.hold, "Soak": d.size.soak, "Harm": d.size.harm,
	}); err != nil {
		return whittle.Errorf(whittle.Internal, "render config: %w", err)
	}
	err := os.WriteFile(path+".next", b.Bytes(), 0o600)
	if err == nil {
		err = os.Rename(path+".next", path)
	}
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "write config: %w", err)
	}
	return nil
}

func (d *countDemo) loadOptions(target string, watch []cpu.Process) load.Options {
	return load.Options{
		Target: target,
		Watch:  watch,
		Grace:  time.Minute,
		// The generator shares two cores with what it loads.
		MaxLate:    d.size.late,
		OnProgress: func(p report.Progress) { d.screen.Progress("%s", p) },
		Headers: func(pairs []string, i int64) []string {
			return append(pairs, "X-User", "user-"+strconv.FormatInt(i%demoUsers, 10))
		},
	}
}

// send starts one of the count's plans against the gateway, or only the first sizes of its counts.
func (d *countDemo) send(ctx context.Context, name string, sizes int, rate float64, most time.Duration) (*traffic, error) {
	p, err := load.ReadPlan(d.root.path("systems/count/plans", name))
	if err != nil {
		return nil, err
	}
	if sizes > 0 {
		for _, s := range p.Scenarios[sizes:] {
			p.Weight -= s.Weight
		}
		p.Scenarios = p.Scenarios[:sizes]
	}
	return sendPlan(ctx, p, rate, most, d.loadOptions(d.target(), nil)), nil
}

// promotionRefused orders a promotion that must be refused, and gives the error.
func (d *countDemo) promotionRefused(ctx context.Context) (string, error) {
	_, refused := d.admin.Order(ctx, demoRoute, rollout.Order{Kind: rollout.Promote, By: "the demo", Reason: "to see it refused"})
	switch {
	case refused == nil:
		return "", whittle.Errorf(whittle.FallsShort, "its promotion was not refused")
	case whittle.CodeOf(refused) != whittle.FailedPrecondition:
		return "", whittle.Errorf(whittle.FallsShort, "its promotion was refused for another reason: %w", refused)
	}
	return refused.Error(), nil
}

func (d *countDemo) sayFindings(v *whittle.Verdict) {
	d.screen.Say("%s after %d compared exchanges", v.State, v.Compared)
	for i := range v.Findings {
		f := &v.Findings[i]
		if !f.Decided {
			continue
		}
		d.screen.Say("  %-12s  %s", f.Kind, f.Summary)
		if f.Cause != "" {
			d.screen.Say("  %-12s  why: %s", "", f.Cause)
		}
	}
}

// played is when and where a demo was played, and what came of its acts.
type played struct {
	Format  string        `json:"format"`
	Started time.Time     `json:"started_at"`
	Seconds float64       `json:"duration_s"`
	Machine table.Machine `json:"machine"`
	// Acts in order; the demo succeeds if all of them do.
	Acts []actOutcome `json:"acts"`
}

type actOutcome struct {
	Act  int    `json:"act"`
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Why an act failed; empty if it succeeded.
	Why string `json:"why,omitempty"`
}

type act struct {
	name string
	run  func(context.Context) error
}

// play runs acts in order. The first that does not come out as it must ends the demo,
// because the later ones depend on it; what the gateway said last is shown then.
func (p *played) play(ctx context.Context, s *stage, gateway *process, acts []act) error {
	defer func() { p.Seconds = time.Since(p.Started).Seconds() }()
	for i, act := range acts {
		s.screen.Heading("Act %d: %s", i+1, act.name)
		err := act.run(ctx)
		outcome := actOutcome{Act: i + 1, Name: act.name, OK: err == nil}
		if err != nil {
			outcome.Why = err.Error()
		}
		p.Acts = append(p.Acts, outcome)
		if err != nil {
			if lines := gateway.Tail(); lines != "" {
				s.screen.Say("%s's last words:\n%s", gateway.name, lines)
			}
			return whittle.Errorf(whittle.FallsShort, "act %d (%s): %w", i+1, act.name, err)
		}
	}
	return nil
}

// seen is what users saw of the loads that were to have no errors.
type seen struct {
	// UserErrors counts the users' requests that failed, Requests all of them.
	UserErrors int64 `json:"user_errors"`
	Requests   int64 `json:"requests"`
}

// account ends a load and adds it to what users saw.
func (s *seen) account(t *traffic) error {
	r, failure := t.stop()
	if failure != nil {
		return failure
	}
	bad := r.Failed + r.Unfinished
	s.Requests += r.Requests
	s.UserErrors += bad
	if bad == 0 {
		return nil
	}
	failed := fmt.Sprintf("%d failed", r.Failed)
	if len(r.Errors) > 0 {
		failed += fmt.Sprintf(" (%v)", r.Errors)
	}
	err := whittle.Errorf(whittle.FallsShort, "of %d requests of users, %s and %d had no response when the load was over", r.Requests, failed, r.Unfinished)
	if r.Unfinished > 0 {
		return err.WithHint("the services got too little of this machine, and users queued up before them: end what else runs, and try again")
	}
	return err
}
