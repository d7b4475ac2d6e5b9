package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"whittle"
	"whittle/carve/admin"
	"whittle/internal/child"
	"whittle/internal/table"
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
	// sizes are how many of the steady plan's counts are sent, which are in the order of what
	// they cost; 0: all.
	sizes int
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
	countShort = countSize{
		seed: time.Second / 2, mixed: 5, rate: 240, sizes: 2, shadow: 4 * time.Minute,
		shift: 4 * time.Minute, hold: 100 * time.Millisecond, soak: 2 * time.Second, harm: 10, late: time.Minute,
	}
)

// countDemo owns the processes and runs the acts.
type countDemo struct {
	*stage
	size                        countSize
	monolith, published, mended *process

	gateway *process
	admin   *admin.Client
	// listen and adminAt are the gateway's addresses, front that of the proxy before it.
	// Empty: any, and none.
	listen, adminAt, front string

	recorded bool // enough is
	figures  countFigures
}

// newCountDemo starts every server but the gateway's candidates' routes: the
// first config passes everything through.
func newCountDemo(ctx context.Context, on *stage, size countSize, proxy string) (*countDemo, error) {
	d := &countDemo{stage: on, size: size}
	d.figures = countFigures{played: played{Format: "whittle.demo-count/1", Started: time.Now(), Machine: table.ThisMachine()}}
	on.screen.Heading("demo count: carve a hot endpoint out of a monolith")
	if err := d.startServices(ctx); err != nil {
		return nil, err
	}
	if proxy != "" {
		at, err := child.Addresses(3)
		if err != nil {
			return nil, whittle.Errorf(whittle.Unavailable, "find addresses: %w", err)
		}
		d.listen, d.adminAt, d.front = at[0], at[1], at[2]
	}
	if err := d.configure(nil); err != nil {
		return nil, err
	}
	var err error
	d.gateway, d.admin, err = on.startGateway(ctx, "gateway", d.configPath())
	if err == nil && proxy != "" {
		err = d.startFront(ctx, proxy)
	}
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

// target is where users ask: the gateway, or the proxy before it.
func (d *countDemo) target() string { return "http://" + cmp.Or(d.front, d.gateway.Public) }

func (d *countDemo) configPath() string { return filepath.Join(d.work, "whittle.yaml") }

// shadow writes a config with a candidate and waits until the gateway has it
// in force.
func (d *countDemo) shadow(ctx context.Context, candidate *process) error {
	if err := d.configure(candidate); err != nil {
		return err
	}
	return d.afresh(ctx)
}

// afresh waits until the route is in shadow with nothing known of the candidate: not from
// mirrored requests, and not from users whom it served.
// No traffic is under way then, so what is known later has come since.
func (d *countDemo) afresh(ctx context.Context) error {
	_, err := d.await(ctx, 10*time.Second, "evidence that begins at 0, in shadow", func(r *whittle.RouteStatus) bool {
		known := r.Verdict.Compared > 0 || len(r.Verdict.Findings) > 0 || r.Harm.Compared > 0 || r.Harm.Users > 0
		return r.Phase == whittle.PhaseShadow && !known
	})
	return err
}

// counter reads one of the gateway's counters for the route from its metrics.
func (d *countDemo) counter(ctx context.Context, name string) (int64, error) {
	_, text, err := ask(ctx, http.MethodGet, "http://"+d.gateway.Admin+"/metrics", "", nil)
	if err != nil {
		return 0, err
	}
	if v, ok := metricOf(string(text), fmt.Sprintf("%s{route=%q}", name, demoRoute)); ok {
		return int64(v), nil
	}
	return 0, whittle.Errorf(whittle.NotFound, "read metric %s: it is not there", name)
}
