package main

import (
	"context"
	"fmt"

	"whittle"
	"whittle/internal/chart"
	"whittle/load"
	"whittle/load/cpu"
	"whittle/load/plan"
	"whittle/load/report"
)

// The seed's plan, for fewer seconds: 20 arrivals a second of 10,000,000 draws
// each, of which the monolith manages about four.
const (
	seedPlan = "baseAppLoadTest.yml"
	seedRate = 20
)

// play runs the acts.
func (d *countDemo) play(ctx context.Context) error {
	err := d.figures.play(ctx, d.stage, d.gateway, []act{
		{"record what the monolith does, and read the contract off it", d.actRead},
		{"load the monolith through the gateway", d.actSuffer},
		{"shadow the service as it was published", d.actRefuse},
		{"shadow the mended service", d.actProve},
		{"shift users to it, and break it in the middle", d.actBreak},
		{"mend it and finish the shift", d.actFinish},
		{"load the carved endpoint as in act 2", d.actCompare},
	})
	if err == nil {
		d.printComparison()
	}
	return err
}

// seedLoad runs the seed's plan through the gateway.
func (d *countDemo) seedLoad(ctx context.Context, watch ...*process) (*report.Report, error) {
	p, err := load.ReadPlan(d.root.path("systems/count/plans", seedPlan))
	if err != nil {
		return nil, err
	}
	var watched []cpu.Process
	for _, w := range append(watch, d.gateway) {
		watched = append(watched, cpu.Process{Name: w.name, PID: w.Pid()})
	}
	r, err := load.Run(ctx, patient(p.WithPhases(plan.Constant(seedRate, d.size.seed))), d.loadOptions(d.target(), watched))
	if err != nil {
		return nil, err
	}
	if r.Early {
		return nil, context.Canceled
	}
	return r, nil
}

// actSuffer shows what users feel today.
func (d *countDemo) actSuffer(ctx context.Context) error {
	r, err := d.seedLoad(ctx, d.monolith)
	if err != nil {
		return err
	}
	d.figures.Monolith = newLoadBlock(r)
	d.sayLoad(&d.figures.Monolith)
	m := &d.figures.Monolith
	late := r.Errors[report.ErrorTimeout]
	if late > 0 {
		d.screen.Say("%d users waited for a minute in vain: this machine is busy with other work", late)
	}
	if err := m.sound(); err != nil && (m.Void != "" || late == 0 || late < m.Failed) {
		return err
	}
	if m.MedianMS < 2*m.CPUPerRequest {
		d.screen.Say("this machine keeps up with the load: hardly anybody waits for another's request")
	}
	return nil
}

// actRefuse ends when every flaw has been named.
func (d *countDemo) actRefuse(ctx context.Context) error {
	if err := d.shadow(ctx, d.published); err != nil {
		return err
	}
	t, err := d.send(ctx, "mixed.yml", 0, d.size.mixed, d.size.shadow)
	if err != nil {
		return err
	}
	defer t.end()
	maxShare := 0.0
	r, err := d.await(ctx, d.size.shadow, "all four flaws to be named", func(r *whittle.RouteStatus) bool {
		maxShare = max(maxShare, r.Percent)
		return r.Verdict.State == whittle.Different && len(namedFlaws(&r.Verdict)) == len(publishedFlaws)
	})
	if r != nil {
		d.figures.AsPublished = newShadowBlock(r)
		d.figures.AsPublished.MaxShare = maxShare
		d.figures.AsPublished.Flaws = namedFlaws(&r.Verdict)
		d.sayFindings(&r.Verdict)
	}
	if err != nil {
		return err
	}
	if d.figures.AsPublished.Refused, err = d.promotionRefused(ctx); err != nil {
		return err
	}
	d.screen.Say("promote refused: %s", d.figures.AsPublished.Refused)
	if maxShare > 0 {
		return fmt.Errorf("a flawed service had %g %% of the users", maxShare)
	}
	return d.figures.Rollout.account(t)
}

// actProve ends with the verdict EQUIVALENT; the shift then begins by itself.
func (d *countDemo) actProve(ctx context.Context) error {
	if err := d.shadow(ctx, d.mended); err != nil {
		return err
	}
	t, err := d.send(ctx, "steady.yml", d.size.sizes, d.size.rate, d.size.shadow)
	if err != nil {
		return err
	}
	defer t.end()
	r, err := d.awaitVerdict(ctx)
	if r != nil {
		d.figures.Mended = newShadowBlock(r)
		d.screen.Say("%s", r.Verdict.Summary)
		for _, b := range r.Verdict.Bounds {
			d.screen.Say("  %s", b.Summary)
		}
		d.screen.Say("ledger: %s", r.Ledger.Account())
	}
	if err != nil {
		return err
	}
	return d.figures.Rollout.account(t)
}

func (d *countDemo) awaitVerdict(ctx context.Context) (*whittle.RouteStatus, error) {
	r, err := d.await(ctx, d.size.shadow, "the verdict EQUIVALENT", func(r *whittle.RouteStatus) bool {
		return r.Verdict.State != whittle.Undecided
	})
	if err == nil && r.Verdict.State != whittle.Equivalent {
		d.sayFindings(&r.Verdict)
		err = fmt.Errorf("the mended service is %s: %s", r.Verdict.State, r.Verdict.Summary)
	}
	return r, err
}

// actCompare repeats act 2.
func (d *countDemo) actCompare(ctx context.Context) error {
	r, err := d.seedLoad(ctx, d.mended, d.monolith)
	if err != nil {
		return err
	}
	d.figures.After = newLoadBlock(r)
	d.sayLoad(&d.figures.After)
	a, b := &d.figures.After, &d.figures.Monolith
	if err := a.sound(); err != nil {
		return err
	}
	if a.MedianMS >= b.MedianMS || a.P99MS >= b.P99MS || a.CPUPerRequest >= b.CPUPerRequest {
		return fmt.Errorf("nothing was won: median %.1f ms, p99 %.1f ms, CPU %.1f ms a request", a.MedianMS, a.P99MS, a.CPUPerRequest)
	}
	return nil
}

// sound fails where a run says nothing, or not every request was served.
func (b *loadBlock) sound() error {
	switch {
	case b.Void != "":
		return fmt.Errorf("the generator distrusts this run: %s", b.Void)
	case b.Failed > 0 || b.Completed != b.Requests:
		return fmt.Errorf("%d of %d requests completed, %d failed; a machine that is busy with other work lets them time out: try again when it is idle", b.Completed, b.Requests, b.Failed)
	}
	return nil
}

func (d *countDemo) sayLoad(b *loadBlock) {
	d.screen.Say("%d of %d requests completed, %.1f a second; median %s, p95 %s, p99 %s; CPU %.1f ms a request",
		b.Completed, b.Requests, b.Rate, chart.Milliseconds(b.MedianMS), chart.Milliseconds(b.P95MS), chart.Milliseconds(b.P99MS), b.CPUPerRequest)
	if b.Void != "" {
		d.screen.Say("the generator distrusts this run: %s", b.Void)
	}
}
