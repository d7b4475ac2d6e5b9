package main

import (
	"context"
	"fmt"
	"strconv"
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
func (d *ingestDemo) warmUp(ctx context.Context, p *plan.Plan, users int, ramp time.Duration, servers ...*process) error {
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
			Target: "http://" + s.Public, OnResult: d.receipt.note, MaxLate: time.Hour, // nothing is measured
			OnProgress: func(p loaded.Progress) { d.screen.Progress("%d users, warming %s up: %s", users, s.name, p) },
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

// carried is how many events went together, at a level, in one call to Kinesis or
// in one sync of the log.
type carried struct {
	Users int    `json:"users"`
	Of    string `json:"of"` // what carried them: "call" or "sync"
	// A is 1: the seed's server makes a call of PutRecord for each event. B is
	// ingest's mean.
	A float64 `json:"a"`
	B float64 `json:"b"`
}

// words is the note on a row of the table.
func (c *carried) words(side string) string {
	if side == "a" {
		return "1 a call"
	}
	return fmt.Sprintf("%.3g a %s", c.B, c.Of)
}

// asSent says what the levels compare.
const asSent = "Both servers were warmed up at each number of users before it was measured. Node.js makes a call for each event, as the seed's server does, and ingest one for all that wait: " +
	"the difference at many users is that of batching and of the language together."

// carrying counts from now on, by ingest's metrics.
type carrying struct {
	carried
	server        *process
	calls, events float64
}

func (d *ingestDemo) carrying(ctx context.Context, ingest *process) (*carrying, error) {
	c := &carrying{server: ingest, carried: carried{Of: "call", A: 1}}
	var err error
	c.calls, c.events, c.Of, err = ingest.batches(ctx)
	return c, err
}

// end counts up to now.
func (c *carrying) end(ctx context.Context) error {
	calls, events, _, err := c.server.batches(ctx)
	if err == nil && calls > c.calls {
		c.B = (events - c.events) / (calls - c.calls)
	}
	return err
}

// batches reads how many calls or syncs ingest has made, and for how many events.
func (p *process) batches(ctx context.Context) (batches, events float64, of string, err error) {
	page, err := fetch(ctx, "http://"+p.Admin+"/metrics")
	if err != nil {
		return 0, 0, "", err
	}
	for name, kind := range map[string]string{"ingest_kinesis_calls_total": "call", "ingest_log_commits_total": "sync"} {
		if v, ok := metricOf(page, name); ok {
			events, _ = metricOf(page, strings.Replace(strings.Replace(name, "calls", "records", 1), "commits", "records", 1))
			return v, events, kind, nil
		}
	}
	return 0, 0, "", whittle.Errorf(whittle.Internal, "demo ingest: %s does not say how many events go together", p.name)
}

// metricOf finds a metric, by its name with its labels, on a Prometheus page.
func metricOf(page, name string) (v float64, ok bool) {
	for line := range strings.Lines(page) {
		if text, is := strings.CutPrefix(line, name+" "); is {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			return v, err == nil
		}
	}
	return 0, false
}
