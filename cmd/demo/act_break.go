package main

import (
	"context"
	"fmt"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

// breakAt is the share at which the candidate is killed.
const breakAt = 25

// actBreak lets the shift run to a quarter of the users, and then kills the
// candidate.
func (d *countDemo) actBreak(ctx context.Context) error {
	t, err := d.send(ctx, "steady.yml", d.size.sizes, d.size.rate, d.size.shift)
	if err != nil {
		return err
	}
	defer t.end()
	d.screen.Say("the harm budget is %d %% of the requests here, not the default of 0.5 %%, for which the demo's traffic is too short", d.size.harm)
	if err := d.climb(ctx, breakAt); err != nil {
		return err
	}
	before, err := d.counter(ctx, "whittle_fallback_requests_total")
	if err != nil {
		return err
	}
	at := time.Now()
	d.mended.Kill()
	d.screen.Say("killed %s", d.mended)
	r, err := d.await(ctx, 10*time.Second, "the rollback", func(r *whittle.RouteStatus) bool {
		return r.Phase == whittle.PhaseRolledBack && r.Share == 0
	})
	if err != nil {
		return err
	}
	last := r.Timeline[len(r.Timeline)-1]
	after, err := d.counter(ctx, "whittle_fallback_requests_total")
	if err != nil {
		return err
	}
	d.figures.Rollout.RolledBackMS = float64(last.At.Sub(at).Microseconds()) / 1000
	d.figures.Rollout.RequestsTouched = after - before
	report, err := t.stop()
	if err != nil {
		return err
	}
	d.screen.Say("rolled back %.0f ms after the kill: %s", d.figures.Rollout.RolledBackMS, last.Reason)
	d.screen.Say("%d users' requests met the dead service, and the monolith answered each; errors that users saw: %d of %d requests",
		d.figures.Rollout.RequestsTouched, report.Failed+report.Unfinished, report.Requests)
	switch err, b := killed(last.Reason), &d.figures.Rollout; {
	case err != nil:
		return err
	case b.RolledBackMS > 1000:
		return fmt.Errorf("the rollback took %.0f ms", b.RolledBackMS)
	case b.RequestsTouched > 50:
		return fmt.Errorf("%d requests met the dead service", b.RequestsTouched)
	}
	return d.figures.Rollout.account(t)
}

// actFinish brings the service back, proves it afresh, and goes to the end.
func (d *countDemo) actFinish(ctx context.Context) error {
	address := d.mended.Public
	restarted, err := d.startService(ctx, "count", address)
	if err != nil {
		return err
	}
	d.mended = restarted
	if _, err := d.admin.Order(ctx, demoRoute, rollout.Order{Kind: rollout.Reset, By: "the demo", Reason: "the service is back"}); err != nil {
		return err
	}
	d.figures.Rollout.Shares = append(d.figures.Rollout.Shares, 0)
	if err := d.afresh(ctx); err != nil {
		return err
	}
	t, err := d.send(ctx, "steady.yml", d.size.sizes, d.size.rate, d.size.shadow+d.size.shift)
	if err != nil {
		return err
	}
	defer t.end()
	r, err := d.awaitVerdict(ctx)
	if err != nil {
		return err
	}
	d.screen.Say("EQUIVALENT again, on evidence of its own: it began at 0, and %d exchanges were compared", r.Verdict.Compared)
	if d.front != "" {
		if err := d.climb(ctx, breakAt); err != nil {
			return err
		}
		if err := d.killGateway(ctx); err != nil {
			return err
		}
	}
	if err := d.climb(ctx, 100); err != nil {
		return err
	}
	r, err = d.await(ctx, d.size.shift, "the shift to be over", func(r *whittle.RouteStatus) bool { return r.Phase == whittle.PhaseLive })
	if err != nil {
		return err
	}
	d.screen.Say("the shift is over: %s", r.Timeline[len(r.Timeline)-1].Reason)
	d.screen.Say("harm: %s", r.Harm.Summary)
	d.figures.Rollout.Timeline = r.Timeline
	return d.figures.Rollout.account(t)
}
