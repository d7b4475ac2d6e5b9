package main

import (
	"context"
	"crypto/tls"
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
	"whittle/carve/show"
	"whittle/cmdline"
	"whittle/internal/pemfile"
)

type fleetVerb struct {
	remote
	JSON string `name:"json" placeholder:"FILE" help:"Write it as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (fleetVerb) Help() string {
	return `Lists the gateways of a fleet by their last reports: version, share in force, config, and how far each is
behind. Any gateway of the fleet can answer. Exits with status 1 while something is wrong.

Examples:
  whittle fleet
  whittle fleet --json - | jq '.members[] | {name, silent_s}'`
}

// Run prints the fleet.
func (v *fleetVerb) Run(ctx context.Context, s cmdline.Streams) error {
	client, err := v.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	f, err := client.Fleet(ctx)
	if err != nil {
		return err
	}
	if err := cmdline.WriteJSON(s, v.JSON, f); err != nil {
		return err
	}
	if v.JSON == "" {
		show.Fleet(s.Out, &f)
	}
	if len(f.Wrong) > 0 {
		return whittle.Errorf(whittle.FallsShort, "something is wrong with the fleet %s", f.Name)
	}
	return nil
}

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

// fleetTLS is how a fleet's NATS is spoken to. Nil: as its URL says.
func fleetTLS(f *config.Fleet) (*tls.Config, error) {
	if f == nil {
		return nil, nil
	}
	c, err := natsTLS(f.TLS, "fleet.tls.")
	if c != nil && f.NATS == "" { // the other gateways are both servers and clients
		c.ClientCAs, c.ClientAuth = c.RootCAs, tls.RequireAndVerifyClientCert
	}
	return c, err
}

// natsTLS is how NATS is spoken to. Nil: as its URL says. Settings are called ca, cert
// and key, with what goes before these.
func natsTLS(t whittle.UpstreamTLS, before string) (*tls.Config, error) {
	if t == (whittle.UpstreamTLS{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		var err error
		if c.RootCAs, err = pemfile.Authorities(t.CA); err != nil {
			return nil, whittle.Errorf(whittle.Invalid, "read the CA of NATS: %w", err).WithField(before + "ca").
				WithHint("ca names a file with the certificates of those who sign the servers', in PEM")
		}
	}
	if t.Certificate != "" {
		pair, err := pemfile.Pair(t.Certificate, t.Key)
		if err != nil {
			return nil, whittle.Errorf(whittle.Invalid, "load the certificate for NATS: %w", err).WithField(before + "cert").
				WithHint("cert names a chain of certificates in PEM, and key the key that belongs to it")
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
