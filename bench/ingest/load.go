package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"whittle/load"
	"whittle/load/artillery"
	"whittle/load/plan"
	"whittle/load/report"
)

// eventBytes is an event's length on the wire, in a batch and alone.
const eventBytes = 1024

// An id is its request's, with the event's number in the batch behind it: a user has
// one $uuid for all of a request, and events of one id are kept once.
const (
	idTemplate = "{{ $uuid }}"
	idBytes    = 36
)

// eventJSON is a page view of 1 KB as a browser's SDK sends it, with an id of
// its own each time, and of another visitor: events of one are kept in order.
func eventJSON(n int) string {
	id := fmt.Sprintf("%s-%02d", idTemplate, n)
	head := `{"type":"track","event":"Item Viewed","anonymousId":"` + id + `","messageId":"` + id + `",` +
		`"timestamp":"2026-02-08T15:04:05.000Z","context":{"library":{"name":"analytics.js","version":"3.0.0"},"locale":"de-DE",` +
		`"page":{"path":"/items/9","referrer":"https://search.example/","title":"An item","url":"https://example.com/items/9"},` +
		`"userAgent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"},` +
		`"properties":{"item":9,"price":19.99,"currency":"EUR","tags":["a","b"],"text":"`
	const tail = `"}}`
	const filler = "words that a customer may have typed "
	fill := eventBytes - (len(head) + 2*(idBytes-len(idTemplate))) - len(tail)
	return head + strings.Repeat(filler, fill/len(filler)+1)[:fill] + tail
}

// batchJSON is a body of n events.
func batchJSON(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = eventJSON(i)
	}
	return `{"batch":[` + strings.Join(all, ",") + `]}`
}

// scenario is a way of sending events.
type scenario struct {
	name  string
	path  string
	body  string
	batch int // events a request
	conns int
	// paced says that the users wait between requests, so that all together
	// send settings.rate a second.
	paced    bool
	subjects []string
	// The target of the service's CPU: at most so many times the bare handler's, or so many
	// microseconds. 0: there is none.
	times, micros float64
}

func scenarios() []scenario {
	one, many := eventJSON(0), batchJSON(50)
	return []scenario{
		{name: "single_64", path: "/import", body: one, batch: 1, conns: 64, subjects: []string{ours, bare}, times: 1.1},
		{name: "single_1000", path: "/import", body: one, batch: 1, conns: 1000, subjects: []string{ours, bare}, times: 1.1},
		{name: paced, path: "/import", body: one, batch: 1, conns: 1000, paced: true, subjects: []string{ours, bare}, times: 1.2},
		{name: "batch_50", path: "/v1/batch", body: many, batch: 50, conns: 64, subjects: []string{ours, bare}, micros: 3},
	}
}

// paced is the scenario whose responses' times say what a user waits for: at
// saturation they say how many users there are.
const paced = "paced_1000"

// send loads a server by a scenario.
func (c scenario) send(ctx context.Context, s settings, addr string, during time.Duration) (*report.Report, error) {
	q := artillery.Quick{
		URL: "http://" + addr + c.path, Request: load.Request{JSON: c.body, Timeout: time.Minute},
		Closed: plan.Closed{Users: c.conns, Duration: during},
	}
	if c.paced {
		q.Think = time.Duration(c.conns) * time.Second / time.Duration(s.rate)
		q.Closed.Ramp = q.Think
	}
	p, err := q.Plan()
	if err != nil {
		return nil, fmt.Errorf("make plan: %w", err)
	}
	r, err := load.Run(ctx, p, load.Options{MaxLate: time.Hour})
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case r.Failed > 0: // a peer's failure is as bad as ours: its figures would be of other work
		return nil, fmt.Errorf("%d of %d requests failed: %v %v", r.Failed, r.Requests, maps.Collect(maps.All(r.Errors)), r.Codes)
	}
	return r, nil
}
