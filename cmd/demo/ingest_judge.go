package main

import (
	"whittle"
)

// judge says what an audit found, and fails where the promise was broken.
func (d *ingestDemo) judge(name string, a audit) error {
	a.Stream = name
	d.figures.Audits = append(d.figures.Audits, a)
	d.screen.Say("%s: %d acknowledged, %d read back; %d missing, %d twice, %d not as sent", name, a.Acknowledged, a.Read, a.Missing, a.Twice, a.Changed)
	if a.Missing > 0 || a.Twice > 0 || a.Changed > 0 || a.Acknowledged == 0 {
		return whittle.Errorf(whittle.FallsShort, "demo ingest: the stream of %s does not hold what was acknowledged", name)
	}
	if d.receipt.strange > 0 {
		return whittle.Errorf(whittle.FallsShort, "demo ingest: %d successes named no place in the stream", d.receipt.strange)
	}
	return nil
}

// sound fails where a run says nothing: it is void, ended early, or had failures.
func (c *comparison) sound() error {
	r := c.Levels
	if r.Early || r.Void != "" {
		return whittle.Errorf(whittle.FallsShort, "demo ingest: the comparison of %s with %s is void: %s", c.A, c.B, r.Void)
	}
	for i := range r.Levels {
		for _, run := range r.Levels[i].Runs {
			if run.Void != "" || run.Failed > 0 || run.Completed != run.Requests {
				name := map[string]string{"a": c.A, "b": c.B}[run.Side]
				return whittle.Errorf(whittle.FallsShort, "demo ingest: %d users, %s: %d of %d requests came to a response, %d failed %s",
					r.Levels[i].Users, name, run.Completed, run.Requests, run.Failed, run.Void)
			}
		}
	}
	if len(r.Levels) == 0 {
		return whittle.Errorf(whittle.FallsShort, "demo ingest: nothing was compared")
	}
	return nil
}

// judge fails where the comparison is not sound, and where ingest, side b, costs as
// much CPU a request as the Node.js server at the most users. It takes a part of it:
// neither chance nor a busy machine, which both sides share in turn, makes up for
// that. Latency, which a busy machine may turn around, is shown and not judged.
func (c *comparison) judge() error {
	if err := c.sound(); err != nil {
		return err
	}
	r := c.Levels
	most := &r.Levels[len(r.Levels)-1]
	cost, requests := map[string]float64{}, map[string]float64{}
	for _, run := range most.Runs {
		cost[run.Side] += run.CPU * float64(run.Completed)
		requests[run.Side] += float64(run.Completed)
	}
	a, b := cost["a"]/requests["a"], cost["b"]/requests["b"]
	if !(b < a) {
		return whittle.Errorf(whittle.FallsShort, "demo ingest: with %d users %s takes %.3f ms of CPU a request, and %s %.3f", most.Users, c.B, b, c.A, a)
	}
	return nil
}
