// Package part is one gateway's part in a fleet, as `whittle run` plays it: what the fleet
// has decided is in force here, exchanges and outcomes go to whoever leads, and while this
// gateway leads it decides for all of them.
//
// It stands where a control.Controller stands in a gateway that is alone. It has one of
// its own for each term in which it leads, which reads and writes the fleet's records, and
// otherwise one that only shows what these records say.
package part

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/fleet"
	"whittle/carve/fleet/evidence"
	"whittle/carve/fleet/jetstream"
	"whittle/carve/gateway/breaker"
	"whittle/carve/state"
	"whittle/internal/notify"
)

// Gateway is what serves users here.
type Gateway interface {
	Apply(route string, p whittle.Position) bool
	Watch(route string, share whittle.Share)
	Counts(route string) whittle.Counts
	Permit(route string, n int, until time.Time)
	Use(route string) breaker.Use
	Leaving() int
}

// Options make a Part. All are required but Others, Exposed, Notify and Log.
type Options struct {
	// Fleet says which fleet, and where. Its Node has Member, Version, Lease and Linger.
	Fleet jetstream.Options
	// PerSecond bounds the exchanges that the fleet compares together.
	PerSecond int
	Monolith  whittle.Upstream
	Routes    []whittle.Route
	Gateway   Gateway
	// Store is this gateway's own, for what it must not forget.
	Store control.Store
	// Redact takes secrets out of what leaves this process.
	Redact   evidence.Redactor
	NewJudge func(whittle.Comparison) (control.Judge, error)
	// Others gives the last reports of gateways that this process has replaced, and Exposed
	// how many requests they may have exposed to a candidate, where the last request with a
	// good response here began at good. Nil: it has replaced none.
	Others  func(route string) []whittle.Counts
	Exposed func(candidate string, good time.Time) int
	// Notify takes the fleet's events, at whoever leads.
	Notify func(whittle.Event)
	Log    *slog.Logger
}

// keptAs is the name of the record of what this gateway knows: no route has one with a
// space in front.
const keptAs = " fleet "

// Part is a gateway's part in a fleet. Its methods may be called by several goroutines.
type Part struct {
	o       Options
	member  *jetstream.Member
	table   atomic.Pointer[table]
	running chan struct{}
	run     sync.Once     // closes it
	wake    notify.Signal // of lead
	look    notify.Signal // of show: the records are to be looked at now

	// view shows what the fleet's records say; own decides, and is nil unless this gateway
	// leads.
	view atomic.Pointer[control.Controller]
	own  atomic.Pointer[control.Controller]
	seen atomic.Pointer[seen]
	// waiting is since when nothing has been heard of the fleet, until that is said.
	waiting time.Time

	sender   sender
	settling settling
	unsaved  unsaved
	base     atomic.Pointer[base] // of the term that this gateway leads in
	outcomes outbox
	conduct  conduct
	again    *rate.Limiter // of what both sides are asked about again, while this gateway leads
	traffic  traffic

	// turn is held while a term begins or ends, and while the config is put in force.
	turn sync.Mutex
	term *term // guarded by turn; nil: this gateway does not decide

	members members
	place   place
}

// New makes a part that has heard of nothing yet: the monolith serves everybody.
func New(o Options) (*Part, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	p := &Part{
		o: o, running: make(chan struct{}), waiting: time.Now(), wake: notify.New(), look: notify.New(),
	}
	p.sender.patience = publishTime
	p.sender.limit = rate.NewLimiter(rate.Limit(o.PerSecond), max(1, o.PerSecond/4))
	p.again = rate.NewLimiter(rate.Limit(againShare*float64(o.PerSecond)), againSaved)
	p.conduct.start()
	p.place.limits, p.place.past = map[string]int{}, map[string][]pastCounts{}
	p.place.from, p.place.replaces = fleet.ReadHanded(o.Fleet.Handed)
	p.table.Store(newTable(o.Monolith, o.Routes))
	for name := range p.table.Load().routes {
		for _, c := range p.place.from.Replaced(name) {
			p.place.took(name, c, time.Now())
		}
	}
	view, err := control.New(p.showing(p.table.Load(), nothing{}))
	if err != nil {
		return nil, err
	}
	p.view.Store(view)
	p.seen.Store(&seen{})
	kept, err := o.Store.Load(keptAs + o.Fleet.Name)
	if err != nil {
		o.Log.Error("what this gateway knew of the fleet cannot be read", "err", err)
	}
	f := o.Fleet
	f.Log, f.Changed, f.Save = o.Log, p.changed, p.save
	f.Node.Run = max(uint64(time.Now().UnixNano()), 1) //nolint:gosec // after 1970
	p.sender.run = f.Node.Run
	f.Node.Kept, f.Node.Routes, f.Node.Counts = kept.Rollout, p.table.Load().specs(), o.Gateway.Counts
	f.Node.Use, f.Node.Replaced = p.use, p.replaced
	if p.member, err = jetstream.Open(f); err != nil {
		return nil, err
	}
	p.settling.more, p.unsaved.moved, p.outcomes.some, p.outcomes.full = notify.New(), notify.New(), notify.New(), notify.New()
	p.settling.of = fleet.Unsettled{Remembered: p.member.Remembers(), Bytes: unsettledBytes}
	return p, nil
}

// patience is for how many leases after the start nothing may be heard of the fleet before
// the log says so.
const patience = 3

// nothing is a store that has no record.
type nothing struct{}

func (nothing) Load(string) (state.Record, error) { return state.Record{}, nil }
func (nothing) Save(string, state.Record) error   { return nil }

func (p *Part) save(b []byte) error {
	return p.o.Store.Save(keptAs+p.o.Fleet.Name, state.Record{Epoch: "fleet", Rollout: b})
}

// seen is what the member's goroutine has last said of this gateway.
type seen struct {
	connected bool
	// replaced says that another process has this gateway's name.
	replaced bool
	leader   string
	lease    uint64 // the last term that was seen
	term     uint64
	leads    bool
	settled  bool
	// cutOff is since when this gateway is cut off; zero: it is not, or was never connected.
	cutOff time.Time
	// force is what users have here, by route.
	force map[string]force
}

// force is a route's share here, and the position that this gateway goes by, which has
// decided it but where the gateway is cut off or knows of a fall.
type force struct {
	share      whittle.Share
	decided    whittle.Share
	phase      whittle.Phase
	generation uint64
	digest     string
	// withheld is why share is less than decided. Empty: it is not.
	withheld string
}

// changed puts in force what the fleet has decided. It is the member's goroutine's.
func (p *Part) changed(n *fleet.Node, now fleet.Instant) {
	old := p.seen.Load()
	next := &seen{connected: n.Connected(now), replaced: n.Replaced(), leader: n.Leader(), lease: n.Term(), settled: n.Settled(now), force: map[string]force{}}
	next.term, next.leads = n.Leads(now)
	if next.replaced && !old.replaced {
		p.o.Log.Error("another process has this gateway's name in the fleet: the monolith serves every user here; give each gateway a name of its own (fleet.member)", "member", p.o.Fleet.Node.Member)
	}
	if !next.connected {
		if next.cutOff = old.cutOff; old.connected {
			next.cutOff = time.Now()
			p.o.Log.Warn("cut off from the fleet: the monolith serves every user here until it is back")
		}
		if !p.waiting.IsZero() && time.Since(p.waiting) > patience*p.o.Fleet.Node.Lease {
			p.waiting = time.Time{}
			p.o.Log.Warn("this gateway has not heard of the fleet yet: the monolith serves every user here until it does", "why", p.member.Trouble())
		}
	} else if !old.connected {
		p.waiting = time.Time{}
		p.o.Log.Info("connected to the fleet", "fleet", p.o.Fleet.Name, "leader", next.leader)
	}
	until := time.Now().Add(n.Left(now))
	for _, r := range p.table.Load().routes {
		at := n.InForce(r.spec.Name, now)
		p.permit(r, n.Limit(r.candidate, now), until)
		p.o.Gateway.Apply(r.spec.Name, at)
		taken := n.Taken(r.spec.Name)
		next.force[r.spec.Name] = force{at.Share, taken.Share, taken.Phase, taken.Generation, taken.Digest, n.Withheld(r.spec.Name, now)}
	}
	p.seen.Store(next)
	for name, f := range next.force {
		if f.generation > old.force[name].generation {
			p.look.Notify() // what is shown is behind
		}
	}
	if next.lease != old.lease {
		p.unsaved.moved.Notify()
	}
	if next.leads != old.leads || next.term != old.term || next.settled != old.settled {
		p.wake.Notify()
	}
	p.run.Do(func() { close(p.running) })
}

// use is how the permits of a candidate are used here.
func (p *Part) use(candidate string) fleet.Use {
	for _, r := range p.table.Load().routes {
		if r.candidate != candidate {
			continue
		}
		u := p.o.Gateway.Use(r.spec.Name)
		others := p.exposed(candidate, u.Good)
		out := fleet.Use{Exposed: u.Exposed + others, Unproven: u.Unproven, Peak: u.Peak + others}
		if !u.Good.IsZero() {
			out.Good = p.member.Instant(u.Good)
		}
		return out
	}
	return fleet.Use{}
}

// Start does nothing: until the fleet has decided, or another process has handed its place
// over, the monolith serves.
func (p *Part) Start() {}

// Running is closed once Run takes orders, and what was handed over is in force.
func (p *Part) Running() <-chan struct{} { return p.running }

// Run takes part until ctx ends. If this gateway leads then, another one does at once.
func (p *Part) Run(ctx context.Context) error {
	staying, leave := context.WithCancel(context.WithoutCancel(ctx))
	var member, work sync.WaitGroup
	member.Go(func() { p.member.Run(staying) })
	work.Go(func() { p.lead(ctx) })
	work.Go(func() { p.show(ctx) })
	work.Go(func() { p.outcomes.run(ctx, p) })
	work.Go(func() { p.settle(ctx) })
	work.Go(func() { p.resay(ctx) })
	work.Go(func() { p.member.Listen(ctx, subjectConduct, p.heed) })
	work.Go(func() {
		p.member.Listen(ctx, subjectTraffic, func(message []byte) { p.traffic.heed(message, p.table.Load(), time.Now()) })
	})
	work.Wait()
	leave()
	member.Wait()
	return nil
}

// Tripped notes that the gateway's breaker has opened, under the position of a generation
// of this process's own.
func (p *Part) Tripped(route, reason string, generation uint64) {
	p.member.Do(func(n *fleet.Node, _ fleet.Instant) { n.Tripped(route, reason, generation) })
	p.wake.Notify()
}
