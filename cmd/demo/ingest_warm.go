//go:build !demo_count

package main

import (
	"context"
	"time"

	"whittle"
	"whittle/load"
	"whittle/load/plan"
	loaded "whittle/load/report"
)

// warmRequests is how many requests each server gets, at least, before a level
// is measured in full: a Node.js process compiles its hot code within fewer.
const warmRequests = 3000

// warmUp has the users of a level go through the plan on each server before
// anything is measured, so that neither is measured while it starts up.
func (d *ingestDemo) warmUp(ctx context.Context, p *plan.Plan, users int, ramp time.Duration, servers ...*contender) error {
	loops := max(d.loops, (d.size.warm+int64(users)-1)/int64(users))
	if d.loops == 1 {
		loops = max(1, 200/int64(users)) // the API is slow: kinesis-local
	}
	warm, err := p.WithUsers(plan.Closed{Users: users, Ramp: ramp, Loops: loops})
	if err != nil {
		return err
	}
	for _, s := range servers {
		o := load.Options{
			Target: "http://" + s.Public, OnResult: d.receipt.noteOf(s.stream), MaxLate: time.Hour, // nothing is measured
			OnProgress: func(p loaded.Progress) { d.screen.Progress("%d users, warming up %s: %s", users, s.name, p) },
		}
		r, err := load.Run(ctx, warm, o)
		if err != nil {
			return err
		}
		if r.Completed == 0 {
			return whittle.Errorf(whittle.FallsShort, "demo ingest: %s answered nothing while it was warmed up", s.name)
		}
	}
	return nil
}
