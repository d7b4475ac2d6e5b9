package main

import (
	"context"
	"fmt"
	"time"

	"whittle"
	"whittle/load"
	"whittle/load/plan"
	"whittle/load/report"
)

// pollEvery is how often the demo looks at a gateway's status.
const pollEvery = 25 * time.Millisecond

// await polls the demo's route until done, for at most a bound.
func (d *countDemo) await(ctx context.Context, bound time.Duration, what string, done func(*whittle.RouteStatus) bool) (*whittle.RouteStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	var last *whittle.RouteStatus
	var failed error
	ended := poll(ctx, pollEvery, func() bool {
		r, err := d.admin.Route(ctx, demoRoute)
		if err != nil {
			if whittle.CodeOf(err) != whittle.NotFound && ctx.Err() == nil {
				failed = err
			}
			return failed != nil
		}
		last = &r
		return done(last)
	})
	if !ended {
		now := "the route is not there"
		if last != nil {
			now = fmt.Sprintf("it is %s at %g %%: %s", last.Phase.Words(), last.Percent, last.Verdict.Summary)
		}
		return last, whittle.Errorf(whittle.FallsShort, "waited %s for %s: %s", bound, what, now)
	}
	return last, failed
}

// poll looks again and again until look says that it is over, and reports whether it
// did before ctx ended.
func poll(ctx context.Context, every time.Duration, look func() (over bool)) bool {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !look() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// traffic is load in the background of an act.
type traffic struct {
	cancel context.CancelFunc
	done   chan struct{}
	report *report.Report
	err    error
}

// atOnce bounds the users under way. Those above it stay away, so that a machine that is
// busy with other things serves fewer, and none who waits in vain.
const atOnce = 8

// sendPlan starts a plan at a steady rate.
func sendPlan(ctx context.Context, p *plan.Plan, rate float64, most time.Duration, o load.Options) *traffic {
	ctx, cancel := context.WithCancel(ctx)
	phase := plan.Constant(rate, most)
	phase.MaxUsers = atOnce
	t := &traffic{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		t.report, t.err = load.Run(ctx, patient(p.WithPhases(phase)), o)
	}()
	return t
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

// patient waits for responses as long as the seed's users did.
func patient(p *plan.Plan) *plan.Plan {
	p.HTTP.Timeout = time.Minute
	p.HTTP.Pool = 256
	return p
}
