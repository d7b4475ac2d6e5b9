//go:build !demo_count

package main

import (
	"context"
	"fmt"
	"strings"
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

// batches are what events went together in: calls of Kinesis or syncs of the log.
type batches struct {
	count, events float64
	of            string // "call" or "sync"
}

// carried is how many events went together, at a level: the mean of all runs.
type carried struct {
	Users int         `json:"users"`
	A     carriedSide `json:"a"`
	B     carriedSide `json:"b"`
}

type carriedSide struct {
	Events float64 `json:"events"` // 0: nothing was acknowledged
	Of     string  `json:"in_a"`
}

// String is the note on a row of the table.
func (c carriedSide) String() string { return fmt.Sprintf("%.3g a %s", c.Events, c.Of) }

// carrying counts from now on.
type carrying struct {
	d    *ingestDemo
	of   [2]*contender
	then [2]batches
}

func (d *ingestDemo) carrying(ctx context.Context, a, b *contender) (c *carrying, err error) {
	c = &carrying{d: d, of: [2]*contender{a, b}}
	for i, s := range c.of {
		if c.then[i], err = d.batchesOf(ctx, s); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// end counts up to now.
func (c *carrying) end(ctx context.Context, users int) (carried, error) {
	out := carried{Users: users}
	for i, side := range []*carriedSide{&out.A, &out.B} {
		now, err := c.d.batchesOf(ctx, c.of[i])
		if err != nil {
			return out, err
		}
		side.Of = now.of
		if calls := now.count - c.then[i].count; calls > 0 {
			side.Events = (now.events - c.then[i].events) / calls
		}
	}
	return out, nil
}

// batchesOf reads how many calls or syncs a server has made, and for how many events:
// of ingest by its metrics, of a Node.js server by its responses.
func (d *ingestDemo) batchesOf(ctx context.Context, c *contender) (batches, error) {
	if c.Admin == "" {
		return d.receipt.calls(c.stream), nil
	}
	page, err := fetch(ctx, "http://"+c.Admin+"/metrics")
	if err != nil {
		return batches{}, err
	}
	for name, of := range map[string]string{"ingest_kinesis_calls_total": "call", "ingest_log_commits_total": "sync"} {
		if v, ok := metricOf(page, name); ok {
			events, _ := metricOf(page, strings.Replace(strings.Replace(name, "calls", "records", 1), "commits", "records", 1))
			return batches{v, events, of}, nil
		}
	}
	return batches{}, whittle.Errorf(whittle.Internal, "demo ingest: %s does not say how many events go together", c.name)
}
