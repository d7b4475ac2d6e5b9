package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/config"
	"whittle/carve/control"
	"whittle/carve/fleet"
	"whittle/carve/fleet/embedded"
	"whittle/carve/fleet/jetstream"
	"whittle/carve/fleet/part"
	"whittle/carve/gate"
	"whittle/carve/gateway"
)

// decider decides the routes' shares: this process's own controller, or its part in a
// fleet.
type decider interface {
	Observe(x *whittle.Exchange) whittle.Observation
	Recheck(again *whittle.Recheck) (after time.Duration, more bool)
	Known(route string, q *whittle.Request) bool
	Outcome(o whittle.Outcome)
	Tripped(route, reason string, generation uint64)
	admin.Controller
	gate.Controller
	prometheus.Collector
	Query(route, name string, reading whittle.QueryReading)
	Start()
	Run(ctx context.Context) error
	Running() <-chan struct{}
	Reload(monolith whittle.Upstream, routes []whittle.Route, swap func() error) error
	// Told is how many of a route's requests here are in what was last saved or reported, and
	// Missed says that others may have come in a time.
	Told(route string) int64
	Missed(from, to time.Time)
}

// newDecider makes what decides.
func (d *deployment) newDecider(f *config.File) (decider, error) {
	if f.Fleet != nil {
		p, err := d.join(f)
		if err != nil {
			return nil, err
		}
		d.fleet, d.part = p.Fleet, p
		return p, nil
	}
	c, err := control.New(control.Options{
		Store:    &d.store,
		Monolith: f.Monolith,
		Routes:   f.Routes,
		Apply:    d.apply,
		Steered:  d.proxies.Status,
		Watch:    d.gateway.Watch,
		Counts:   d.gateway.Counts,
		Follows:  d.before != nil,
		NewJudge: control.Redacting(d.records),
		Notify:   d.notices.Tell,
		Log:      d.log,
	})
	if err != nil {
		return nil, err // not a decider that is nil inside
	}
	return c, nil
}

// observe has an exchange compared.
func (d *deployment) observe(x *whittle.Exchange) whittle.Observation {
	if d.released.Load() {
		return whittle.Observation{Skip: whittle.SkipInterrupted}
	}
	return d.control.Observe(x)
}

// recheck has it judged what both sides responded when they were asked again.
func (d *deployment) recheck(again *whittle.Recheck) (after time.Duration, more bool) {
	if d.released.Load() {
		return 0, false
	}
	return d.control.Recheck(again)
}

// apply puts a position in force: at the proxies of the route, if it has any, and here and in the
// process that was replaced. Where proxies send users to the candidate unseen, the gateway does not.
func (d *deployment) apply(route string, p whittle.Position) bool {
	if d.proxies.Apply(route, p.Share) {
		p.Share = 0 // whoever comes here gets the monolith
		if p.Phase != whittle.PhaseOff {
			p.Phase = whittle.PhaseShadow
		}
	}
	return d.enforce(route, p)
}

// enforce puts a position in force here and in the process that was replaced.
func (d *deployment) enforce(route string, p whittle.Position) bool {
	if d.before != nil {
		d.before.Apply(route, p)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.positions[route] = p
	return d.gateway.Apply(route, p)
}

// join makes this gateway's part in its fleet.
func (d *deployment) join(f *config.File) (*part.Part, error) {
	c, err := fleetTLS(f.Fleet)
	if err != nil {
		return nil, err
	}
	var own jetstream.InProcess // nil inside and out where there is none
	if f.Fleet.NATS == "" {
		if d.nats, err = embedded.Start(f.Fleet, c, d.log); err != nil {
			return nil, err
		}
		own, c = d.nats, nil
	}
	return part.New(part.Options{
		Fleet: jetstream.Options{
			Server: own, Servers: f.Fleet.NATS, Credentials: f.Fleet.Credentials, TLS: c, Name: f.Fleet.Name, Replicas: f.Fleet.Replicas,
			Evidence: jetstream.Limits{Bytes: f.Fleet.MaxBytes, Age: f.Fleet.MaxAge},
			Node:     fleet.Config{Member: f.Fleet.Member, Version: version(), Lease: f.Fleet.Lease},
		},
		PerSecond: f.Fleet.PerSecond, Monolith: f.Monolith, Routes: f.Routes,
		Gateway: fleetGateway{d.gateway, d.apply}, Replaces: d.before != nil, Store: &d.store,
		Redact: d.records, NewJudge: control.Redacting(d.records), Notify: d.notices.Tell, Log: d.log,
	})
}

// fleetGateway is this process's gateway; what is in force here is so in the process that it
// has replaced as well.
type fleetGateway struct {
	*gateway.Gateway
	apply func(route string, p whittle.Position) bool
}

// Apply implements part.Gateway.
func (g fleetGateway) Apply(route string, p whittle.Position) bool { return g.apply(route, p) }
