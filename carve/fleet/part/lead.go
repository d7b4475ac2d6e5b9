package part

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/fleet"
	"whittle/carve/fleet/evidence"
	"whittle/carve/fleet/jetstream"
)

const (
	// leadEvery is how often a leader looks at what its gateways know.
	leadEvery = 100 * time.Millisecond
	// beginAgain is the wait before a term is begun once more, where records cannot be read.
	beginAgain = 500 * time.Millisecond
	// lastRecords bounds the saving of all records when this gateway ends.
	lastRecords = 5 * time.Second
)

// term is the time in which this gateway decides.
type term struct {
	number  uint64
	c       *control.Controller
	records *jetstream.Records
	stop    context.CancelFunc
	work    sync.WaitGroup // Run and what feeds it
	// following is the work that brings exchanges, which a reload begins anew.
	unfollow  context.CancelFunc
	following sync.WaitGroup
	ctx       context.Context //nolint:containedctx // the term's own life
	feeding   context.Context //nolint:containedctx // of what brings evidence and orders
	endFeed   context.CancelFunc
}

// lead decides while this gateway leads, until ctx ends.
func (p *Part) lead(ctx context.Context) {
	tick := time.NewTicker(leadEvery)
	defer tick.Stop()
	var retry time.Time
	for ctx.Err() == nil {
		if p.term == nil && !p.seen.Load().leads { // there is nothing to do until it does
			select {
			case <-ctx.Done():
			case <-p.wake:
			}
			continue
		}
		s := p.survey()
		p.turn.Lock()
		if p.term != nil && (!s.leads || s.term != p.term.number) {
			p.term.records.End() // they are another's now
			p.endTerm()
		}
		if now := time.Now(); p.term == nil && s.leads && s.settled && now.After(retry) {
			if err := p.beginTerm(ctx, s.term); err != nil {
				p.o.Log.Warn("this gateway leads the fleet, and cannot read its records yet", "err", err)
				retry = now.Add(beginAgain)
			}
		}
		if p.term != nil {
			p.decideOn(&s)
			p.sayConduct(p.term.number, p.term.c, time.Now())
		}
		p.turn.Unlock()
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-p.wake:
		}
	}
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.term != nil {
		hurry := time.AfterFunc(lastRecords, p.term.records.End)
		defer hurry.Stop()
	}
	p.endTerm()
}

// survey is what the node knows that a leader has to decide on.
type survey struct {
	term           uint64
	leads, settled bool
	routes         []found
}

type found struct {
	name string
	// surpass says that the route is to be decided anew, above floor.
	surpass bool
	floor   fleet.Floor
	// trip is one that is not decided on yet; 0: there is none.
	trip   uint64
	reason string
}

func (p *Part) survey() (s survey) {
	t := p.table.Load()
	var reports map[string][]control.Report
	p.member.Do(func(n *fleet.Node, now fleet.Instant) {
		s.term, s.leads = n.Leads(now)
		if s.settled = s.leads && n.Settled(now); !s.settled {
			return
		}
		for name := range t.routes {
			f := found{name: name, floor: n.Floor(name)}
			_, behind := n.Behind(name)
			f.surpass = behind || n.Undecided(name)
			f.trip, f.reason = n.Tripping(name)
			s.routes = append(s.routes, f)
		}
		reports = map[string][]control.Report{}
		for _, seat := range n.Members() {
			for key, r := range seat.Report.Routes {
				reports[key] = append(reports[key], reportsOf(&seat, &r)...)
			}
		}
	})
	if reports != nil {
		p.members.reports.Store(&reports)
	}
	return s
}

// reportsOf are those of a gateway's runs, in their order.
func reportsOf(seat *fleet.Seat, r *fleet.RouteReport) (all []control.Report) {
	for _, c := range append(slices.Clone(r.Earlier), r.Before, r.Counts) {
		if c.Run != 0 {
			all = append(all, control.Report{Gateway: seat.Report.Member, Counts: c, Silent: !seat.Alive})
		}
	}
	return all
}

// decideOn tells the controller what gateways know and it does not, for it to decide. The
// caller holds turn.
func (p *Part) decideOn(s *survey) {
	for i := range s.routes {
		f := &s.routes[i]
		status, err := p.term.c.Decided(f.name)
		switch {
		case err != nil: // a route that is gone, or not there yet
		case f.surpass, f.trip > 0 && status.Share == 0:
			p.term.c.Surpass(f.name, f.floor)
		case f.trip > 0:
			p.term.c.Tripped(f.name, f.reason, f.trip)
		}
	}
}

// beginTerm takes the fleet's records up and decides from there. The caller holds turn.
func (p *Part) beginTerm(ctx context.Context, number uint64) error {
	t := p.table.Load()
	records := p.member.Records(number)
	c, err := control.New(control.Options{
		Store: records, Monolith: t.monolith, Routes: t.all,
		Apply: p.propose, Watch: p.watch, Fleet: p, NewJudge: p.o.NewJudge, Notify: p.o.Notify, Log: p.o.Log,
	})
	if err != nil {
		records.End()
		return err
	}
	tm := &term{number: number, c: c, records: records}
	tm.ctx, tm.stop = context.WithCancel(context.WithoutCancel(ctx))
	tm.feeding, tm.endFeed = context.WithCancel(tm.ctx)
	p.term = tm
	tm.work.Go(func() {
		if err := c.Run(tm.ctx); err != nil {
			p.o.Log.Warn("the last state of this gateway's term is not in the fleet's store", "err", err)
		}
	})
	<-c.Running()
	p.own.Store(c)
	p.follow(tm, t)
	tm.work.Go(func() { p.member.Listen(tm.feeding, subjectOutcomes, p.heard) })
	tm.work.Go(func() { p.member.Respond(tm.feeding, subjectOrders, p.carryOut) })
	tm.work.Go(func() { p.member.Respond(tm.feeding, subjectAgain, p.judgeAgain) })
	p.o.Log.Info("this gateway leads the fleet", "fleet", p.o.Fleet.Name, "term", number)
	return nil
}

// endTerm saves what can be saved and decides nothing any more. The caller holds turn.
func (p *Part) endTerm() {
	tm := p.term
	if tm == nil {
		return
	}
	p.view.Store(tm.c) // what it knew is shown until the records are read
	p.own.Store(nil)
	p.term = nil
	tm.unfollow()
	tm.endFeed()
	tm.following.Wait()
	tm.stop()
	tm.work.Wait()
	tm.records.End()
	p.look.Notify()
	p.o.Log.Info("this gateway does not lead the fleet any more", "fleet", p.o.Fleet.Name, "term", tm.number)
}

// follow judges the stream's exchanges, each route's in order, behind what its record has.
func (p *Part) follow(tm *term, t *table) {
	var ctx context.Context
	ctx, tm.unfollow = context.WithCancel(tm.feeding)
	for name, r := range t.routes {
		tm.following.Go(func() {
			var d evidence.Decoder
			p.member.Follow(ctx, name, tm.c.Place(name), func(s *jetstream.Stored) { p.judge(tm.c, r, &d, s) })
		})
	}
}

// judge takes one message of the stream.
func (p *Part) judge(c *control.Controller, r *route, d *evidence.Decoder, s *jetstream.Stored) {
	p.conduct.arrivedExchanges.Add(1)
	m, err := d.Decode(s.Message)
	if err != nil || m.Exchange.Route != r.spec.Name || m.Gateway == "" || m.Again {
		p.o.Log.Debug("a message of the fleet's stream is no exchange that can be read here", "route", r.spec.Name, "err", err)
		return
	}
	m.Exchange.At = timely(m.Exchange.At, s.At)
	from := control.Sent{Gateway: m.Gateway, Run: m.Run, Place: s.Place}
	skip := ""
	if m.Digest != r.digest {
		skip = whittle.SkipStale
	}
	defer func() {
		if v := recover(); v != nil {
			p.o.Log.Error("comparing an exchange panicked", "route", r.spec.Name, "panic", v, "stack", string(debug.Stack()))
			c.ObserveSent(from, "defect", m.Exchange)
		}
	}()
	c.ObserveSent(from, skip, m.Exchange)
}

// clockBound is how far a gateway's clock may be off, with the time that an exchange takes,
// before what it says is not believed.
const clockBound = 2 * time.Minute

// timely is when an exchange began, by its gateway's clock, or by another one where that is
// off: evidence of the future would be all that there is until then, and evidence of the past
// none.
func timely(at, by time.Time) time.Time {
	if off := at.Sub(by); off > clockBound || off < -clockBound {
		return by
	}
	return at
}

// propose has a position written to the fleet's store, from where it comes into force.
func (p *Part) propose(route string, at whittle.Position) (done bool) {
	p.member.Do(func(n *fleet.Node, now fleet.Instant) { done = n.Propose(route, at, now) })
	return done
}

// Floor implements control.Fleet.
func (p *Part) Floor(route string) (f fleet.Floor) {
	p.member.Do(func(n *fleet.Node, _ fleet.Instant) { f = n.Floor(route) })
	return f
}

// MayRise implements control.Fleet.
func (p *Part) MayRise(route string) (may bool) {
	p.member.Do(func(n *fleet.Node, now fleet.Instant) { may = n.MayRise(route, now) })
	return may
}

// Reports implements control.Fleet.
func (p *Part) Reports(route string) []control.Report {
	if all := p.members.reports.Load(); all != nil {
		return (*all)[fleet.RouteKey(route)]
	}
	return nil
}

// Reload takes another config, and puts it in force by swap. A route that would be another
// one loses its users before that, and has none until whoever leads has the same config.
func (p *Part) Reload(monolith whittle.Upstream, routes []whittle.Route, swap func() error) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	old, next := p.table.Load(), newTable(monolith, routes)
	view, err := control.New(p.showing(next, nothing{}))
	if err != nil {
		return err
	}
	put := func() error {
		p.enter(next)
		if err := swap(); err != nil {
			p.enter(old)
			return err
		}
		return nil
	}
	if tm := p.term; tm != nil {
		tm.unfollow()
		tm.following.Wait()
		err = tm.c.Reload(monolith, routes, put)
		p.follow(tm, p.table.Load())
	} else {
		err = put()
	}
	if err == nil {
		p.view.Store(view)
		p.look.Notify()
	}
	return err
}

// enter gives the node another table. When it returns, every share that this lowers is lowered.
func (p *Part) enter(t *table) {
	p.table.Store(t)
	if !p.member.Do(func(n *fleet.Node, _ fleet.Instant) { n.SetRoutes(t.specs()) }) {
		return
	}
	p.member.Do(func(*fleet.Node, fleet.Instant) {}) // behind what the first has changed
}
