// Package part is one gateway's part in a fleet, as `whittle run` plays it. It puts the fleet's
// decisions in force here and sends exchanges and outcomes to the leader. While this gateway
// leads, it decides for all of them.
//
// It takes the place of the control.Controller of a single gateway. For each term in which it
// leads, it has a Controller of its own that reads and writes the fleet's records. Otherwise it
// has one that only shows these records.
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
	"whittle/carve/state"
	"whittle/internal/notify"
)

// Gateway is what serves users here.
type Gateway interface {
	Apply(route string, p whittle.Position) bool
	Watch(route string, share whittle.Share)
	Counts(route string) whittle.Counts
	Permit(route string, n int, until time.Time)
}

// Options make a Part. All are required but Replaces, Notify and Log.
type Options struct {
	// Fleet says which fleet, and where. Its Node has Member, Version and Lease.
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
	// Replaces says that another process serves until this one is Running, which then waits
	// until the fleet is heard of, for a lease and for replaceWait at most.
	Replaces bool
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
	view  atomic.Pointer[control.Controller]
	own   atomic.Pointer[control.Controller]
	seen  atomic.Pointer[seen]
	begun time.Time
	// waiting is since when nothing has been heard of the fleet, until that is said.
	waiting time.Time

	sender   sender
	outcomes outbox
	conduct  conduct
	again    *rate.Limiter // of what both sides are asked about again, while this gateway leads

	// turn is held while a term begins or ends, and while the config is put in force.
	turn sync.Mutex
	term *term // guarded by turn; nil: this gateway does not decide

	members members

	mu   sync.Mutex // guards the following
	told map[string]int64
}

// New makes a part that has heard of nothing yet: the monolith serves everybody.
func New(o Options) (*Part, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	p := &Part{
		o: o, running: make(chan struct{}), begun: time.Now(), waiting: time.Now(), wake: notify.New(), look: notify.New(), told: map[string]int64{},
	}
	p.sender.patience = publishTime
	p.sender.limit = rate.NewLimiter(rate.Limit(o.PerSecond), max(1, o.PerSecond/4))
	p.again = rate.NewLimiter(rate.Limit(againShare*float64(o.PerSecond)), againSaved)
	p.conduct.start()
	p.table.Store(newTable(o.Monolith, o.Routes))
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
	f.Node.Kept, f.Node.Routes, f.Node.Counts = kept.Rollout, p.table.Load().specs(), p.counts
	if p.member, err = jetstream.Open(f); err != nil {
		return nil, err
	}
	p.outcomes.some, p.outcomes.full = notify.New(), notify.New()
	return p, nil
}

// replaceWait is how long a process that replaces another waits for the fleet, before it serves
// without: well within the time that it has for that.
const replaceWait = 20 * time.Second

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
	next := &seen{connected: n.Connected(now), replaced: n.Replaced(), leader: n.Leader(), settled: n.Settled(now), force: map[string]force{}}
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
		p.o.Gateway.Permit(r.spec.Name, n.Limit(r.candidate, now), until)
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
	if next.leads != old.leads || next.term != old.term || next.settled != old.settled {
		p.wake.Notify()
	}
	if !p.o.Replaces || next.connected || time.Since(p.begun) > min(p.o.Fleet.Node.Lease, replaceWait) {
		p.run.Do(func() { close(p.running) })
	}
}

// counts are the gateway's, which remembers what it has told the fleet last.
func (p *Part) counts(route string) whittle.Counts {
	c := p.o.Gateway.Counts(route)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told[route] = c.Ledger.Total
	return c
}

// Told is how many of a route's requests here are in this gateway's last report.
func (p *Part) Told(route string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told[route]
}

// Missed does nothing: a gateway that has reported a last time has no gap.
func (p *Part) Missed(time.Time, time.Time) {}

// Close lets go of the fleet, once Run has ended and is not to be called again.
func (p *Part) Close() { p.member.Close() }

// Start does nothing: until the fleet has decided the monolith serves.
func (p *Part) Start() {}

// Running is closed once Run takes orders.
func (p *Part) Running() <-chan struct{} { return p.running }

// Run takes part until ctx ends. If this gateway leads then, another one does at once.
func (p *Part) Run(ctx context.Context) error {
	staying, leave := context.WithCancel(context.WithoutCancel(ctx))
	var member, work sync.WaitGroup
	member.Go(func() { p.member.Run(staying) })
	work.Go(func() { p.lead(ctx) })
	work.Go(func() { p.show(ctx) })
	work.Go(func() { p.outcomes.run(ctx, p) })
	work.Go(func() { p.member.Listen(ctx, subjectConduct, p.heed) })
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
