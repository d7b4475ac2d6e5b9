// Package promquery puts a team's own queries to a Prometheus server, again and again,
// and hands on what comes of them, for the guards of routes.
package promquery

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"whittle"
	"whittle/carve/config"
)

const (
	// lookEvery is how often it is asked which queries are due.
	lookEvery = 250 * time.Millisecond
	// atOnce bounds the queries that are under way.
	atOnce = 8
	// staleAfter is how many intervals old a figure may be.
	staleAfter = 2
)

// Poller puts the routes' queries.
type Poller struct {
	// Config is the one in force: it may change meanwhile.
	Config func() *config.File
	// Reading takes what came of a query of a route.
	Reading func(route, query string, r whittle.QueryReading)
	// Redact takes what is secret out of a server's words. Nil: they are shown as they
	// are.
	Redact func(string) string
	Log    *slog.Logger
}

// place identifies a query.
type place struct{ route, query string }

// due is when a query is to be put again.
type due struct {
	next    time.Time
	running bool
	// silent is why there was no data the last time, so that each reason is logged once.
	silent string
}

type run struct {
	*Poller
	calls sync.WaitGroup
	slots chan struct{}

	client *client // of the config's server; Run's goroutine alone

	mu   sync.Mutex // guards the following
	dues map[place]*due
}

// Run puts queries until ctx ends, and waits for those that are under way then.
func (p *Poller) Run(ctx context.Context) error {
	r := run{Poller: p, slots: make(chan struct{}, atOnce), dues: map[place]*due{}}
	defer func() {
		r.calls.Wait()
		if r.client != nil {
			r.client.close()
		}
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		r.look(ctx, time.Now())
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look puts what is due.
func (r *run) look(ctx context.Context, now time.Time) {
	f := r.Config()
	if f.Prometheus == nil {
		return
	}
	if r.client == nil || r.client.server != *f.Prometheus {
		if r.client != nil {
			r.client.close()
		}
		r.client = newClient(*f.Prometheus)
	}
	known := map[place]bool{}
	for i := range f.Routes {
		route := &f.Routes[i]
		for _, q := range route.Queries {
			p := place{route.Name, q.Name}
			known[p] = true
			if d := r.begin(p, q.Every, now); d != nil {
				c := r.client
				r.calls.Go(func() { r.put(ctx, c, p, q, d) })
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.dues {
		if !known[p] {
			delete(r.dues, p)
		}
	}
}

// begin reports whether a query is due, and marks it as being put; nil: it is not.
func (r *run) begin(p place, every time.Duration, now time.Time) *due {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.dues[p]
	if d == nil {
		d = &due{next: now}
		r.dues[p] = d
	}
	if d.running || now.Before(d.next) {
		return nil
	}
	d.running = true
	d.next = d.next.Add(every)
	if d.next.Before(now) { // the machine stood still, or a query took long
		d.next = now.Add(every)
	}
	return d
}

// put puts a query and hands on what came of it.
func (r *run) put(ctx context.Context, c *client, p place, q whittle.Query, d *due) {
	select {
	case <-ctx.Done():
		return
	case r.slots <- struct{}{}:
	}
	reading := r.read(ctx, c, &q)
	<-r.slots
	if ctx.Err() != nil {
		return // whittle is ending
	}
	r.Reading(p.route, p.query, reading)
	r.mu.Lock()
	defer r.mu.Unlock()
	d.running = false
	if reading.Missing != d.silent && reading.Missing != "" {
		r.Log.Warn("a guard's query gives no data", "route", p.route, "query", p.query, "why", reading.Missing)
	}
	d.silent = reading.Missing
}

// read asks for all figures of a query, all at the same moment of the server's clock.
func (r *run) read(ctx context.Context, c *client, q *whittle.Query) whittle.QueryReading {
	ctx, cancel := context.WithTimeout(ctx, c.server.Timeout)
	defer cancel()
	reading := whittle.QueryReading{At: time.Now()}
	o := once{c: c, every: q.Every}
	var err error
	if q.Tests() {
		reading.Total, err = o.sides(ctx, &q.Total)
		if err == nil {
			reading.Bad, err = o.sides(ctx, &q.Bad)
			reading.NoBad = reading.Bad.NoMonolith && reading.Bad.NoCandidate
			absentAreZero(&reading.Bad, &reading.Total)
		}
	} else {
		reading.Value, err = o.sides(ctx, &q.Value)
	}
	if err != nil {
		reading.Missing = err.Error()
		if r.Redact != nil {
			reading.Missing = r.Redact(reading.Missing)
		}
		return reading
	}
	reading.At = o.at
	return reading
}

// absentAreZero: a counter of what went wrong has often no series before something did,
// so where a side's total is there, its bad events are 0.
func absentAreZero(bad, total *whittle.SideValues) {
	if bad.NoMonolith && !total.NoMonolith {
		bad.NoMonolith, bad.Monolith = false, 0
	}
	if bad.NoCandidate && !total.NoCandidate {
		bad.NoCandidate, bad.Candidate = false, 0
	}
}

// once is one reading.
type once struct {
	c     *client
	every time.Duration
	at    time.Time // of the first figure, by the server's clock
}

func (o *once) sides(ctx context.Context, s *whittle.SideQuery) (v whittle.SideValues, err error) {
	if s.Label != "" {
		list, err := o.ask(ctx, s.Both)
		if err == nil {
			v.Monolith, v.NoMonolith, err = one(list, s.Label, s.Monolith)
		}
		if err == nil {
			v.Candidate, v.NoCandidate, err = one(list, s.Label, s.Candidate)
		}
		return v, err
	}
	if s.Monolith != "" {
		list, err := o.ask(ctx, s.Monolith)
		if err == nil {
			v.Monolith, v.NoMonolith, err = one(list, "", "")
		}
		if err != nil {
			return v, fmt.Errorf("the monolith's: %w", err)
		}
	}
	list, err := o.ask(ctx, s.Candidate)
	if err == nil {
		v.Candidate, v.NoCandidate, err = one(list, "", "")
	}
	if err != nil && s.Monolith != "" {
		err = fmt.Errorf("the candidate's: %w", err)
	}
	return v, err
}

// ask puts one text, at the moment of the first. A figure that is older than that by more
// than two intervals is none.
func (o *once) ask(ctx context.Context, text string) ([]sample, error) {
	list, err := o.c.query(ctx, text, o.at)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if o.at.IsZero() {
			o.at = list[i].at
		}
		if age := o.at.Sub(list[i].at); age > staleAfter*o.every {
			return nil, fmt.Errorf("a figure is %v old", age.Round(time.Second))
		}
	}
	if o.at.IsZero() {
		o.at = time.Now()
	}
	return list, nil
}

// one is the only sample, or the only one with a value of a label.
func one(list []sample, label, want string) (v float64, none bool, err error) {
	n := 0
	for _, s := range list {
		if label == "" || s.labels[label] == want {
			v = s.value
			n++
		}
	}
	if n > 1 {
		of := ""
		if label != "" {
			of = fmt.Sprintf(" with %s=%q", label, want)
		}
		return 0, false, fmt.Errorf("%d series%s where one is wanted: sum them up in the query", n, of)
	}
	return v, n == 0, nil
}
