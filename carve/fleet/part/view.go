package part

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/control"
)

// showEvery is how often a gateway that does not lead looks at the fleet's records.
const (
	showEvery = 2 * time.Second
	// showRest is how much longer than its work each wait is at least: many routes, with
	// much evidence, take no more than 2 % of a core so, and are shown later. What could not
	// be read was waited for, and cost nothing.
	showRest = 50
)

// shown is the controller that shows the fleet: the one that decides, or what its records
// say.
func (p *Part) shown() *control.Controller {
	if c := p.own.Load(); c != nil {
		return c
	}
	return p.view.Load()
}

// showing are the options of a controller that decides nothing.
func (p *Part) showing(t *table, s control.Store) control.Options {
	return control.Options{
		Store: s, Shows: true, Monolith: t.monolith, Routes: t.all, NewJudge: p.o.NewJudge,
		Apply: func(string, whittle.Position) bool { return true }, Log: slog.New(slog.DiscardHandler),
	}
}

// show keeps the view up to date until ctx ends.
func (p *Part) show(ctx context.Context) {
	last := uint64(0)
	for ctx.Err() == nil {
		rest := showEvery
		if p.own.Load() == nil && p.member.IsConnected() {
			last, rest = p.reread(ctx, last)
		}
		wait, cancel := context.WithTimeout(ctx, rest)
		select {
		case <-wait.Done():
		case <-p.look:
			last = 0
		}
		cancel()
	}
}

// reread reads the records, and says how long they are good for.
func (p *Part) reread(ctx context.Context, last uint64) (revision uint64, rest time.Duration) {
	begun := time.Now()
	revision, read := p.refresh(ctx, last)
	if !read {
		return revision, showEvery
	}
	return revision, max(showEvery, showRest*time.Since(begun))
}

// refresh reads the records, unless they are those that were read last. False: they could
// not be read.
func (p *Part) refresh(ctx context.Context, last uint64) (revision uint64, read bool) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Fleet.Node.Lease)
	defer cancel()
	revision, err := p.member.RecordsRevision(ctx)
	if err != nil || revision == last {
		return last, err == nil
	}
	t := p.table.Load()
	records := p.member.Shown()
	defer records.End()
	c, err := control.New(p.showing(t, records))
	if err != nil {
		p.o.Log.Debug("the fleet's records cannot be read", "err", err)
		return last, false
	}
	if p.table.Load() == t {
		p.view.Store(c)
	}
	return revision, true
}

// Status shows every route of the fleet.
func (p *Part) Status() []whittle.RouteStatus {
	all := p.shown().Status()
	for i := range all {
		p.update(&all[i])
	}
	return all
}

// Route shows one.
func (p *Part) Route(name string) (whittle.RouteStatus, error) {
	s, err := p.shown().Route(name)
	p.update(&s)
	return s, err
}

// update shows what is known here and is later than the record that was read last: the
// position, so that who asks after an order sees no share from before it, the traffic,
// which no record has, and why users have less here than was decided.
func (p *Part) update(s *whittle.RouteStatus) {
	f, known := p.seen.Load().force[s.Route]
	if known && f.withheld != "" {
		defer func() {
			s.Next = fmt.Sprintf("users have %g %% at this gateway: %s; then: %s", f.share.Percent(), f.withheld, s.Next)
		}()
	}
	if p.own.Load() != nil {
		return
	}
	if sides, said := p.conduct.trafficOf(s.Route, time.Now()); said {
		s.Monolith, s.Candidate = sides[whittle.Monolith], sides[whittle.Candidate]
	}
	if !known || f.generation <= s.Generation {
		return
	}
	s.Generation, s.Share, s.Percent, s.Phase = f.generation, f.decided, f.decided.Percent(), f.phase
	s.NextShare, s.Withheld, s.Next = 0, "", "the fleet's record of this decision is being read."
}

// Past shows how one came to where it is.
func (p *Part) Past(name string) (whittle.Past, error) { return p.shown().Past(name) }

// leading calls f with the controller, while this gateway leads.
func (p *Part) leading(f func(*control.Controller)) {
	if c := p.own.Load(); c != nil {
		f(c)
	}
}

// Gates lists the questions to gates that are due, while this gateway leads.
func (p *Part) Gates() (asks []whittle.GateAsk) {
	p.leading(func(c *control.Controller) { asks = c.Gates() })
	return asks
}

// Gated takes what a gate has responded.
func (p *Part) Gated(ask *whittle.GateAsk, open bool, said string) {
	p.leading(func(c *control.Controller) { c.Gated(ask, open, said) })
}

// Query takes what came of a route's query.
func (p *Part) Query(route, name string, reading whittle.QueryReading) {
	p.leading(func(c *control.Controller) { c.Query(route, name, reading) })
}

// Describe implements prometheus.Collector.
func (p *Part) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (p *Part) Collect(ch chan<- prometheus.Metric) {
	p.shown().Collect(ch)
	p.collect(ch)
}
