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
	"whittle/carve/handover"
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
	return `Lists the gateways that make one rollout together, each by its last report: version, what users have there, config, how far it is behind. Any of them can be asked. Exits with status 1 while something is wrong.

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
	handover.Control
	admin.Controller
	gate.Controller
	prometheus.Collector
	CPU(route string, reading whittle.CPUReading)
	Query(route, name string, reading whittle.QueryReading)
	Start()
	Run(ctx context.Context) error
	Running() <-chan struct{}
	Reload(monolith whittle.Upstream, routes []whittle.Route, swap func() error) error
}

// newDecider makes what decides. alive has the runs of gateways that go on, by route.
func (d *deployment) newDecider(f *config.File, alive map[string][]uint64) (decider, error) {
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
		Apply:    d.relay.Apply,
		Watch:    d.relay.Watch,
		Counts:   d.gateway.Counts,
		Others:   d.relay.Others,
		Alive:    alive,
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
			Handed:   d.place.handed, Asked: d.place.asked,
			Node: fleet.Config{Fleet: f.Fleet.Name, Member: f.Fleet.Member, Version: version(), Lease: f.Fleet.Lease, Linger: linger(f)},
		},
		PerSecond: f.Fleet.PerSecond, Monolith: f.Monolith, Routes: f.Routes,
		Gateway: fleetGateway{d.gateway, d.relay}, Others: d.relay.Others, Exposed: d.relay.Exposed, Store: &d.store, Redact: d.records, NewJudge: control.Redacting(d.records), Notify: d.notices.Tell, Log: d.log,
	})
}

// fleetGateway is this process's gateway; what is in force here is so in the processes that
// it has replaced as well.
type fleetGateway struct {
	*gateway.Gateway
	relay *handover.Relay
}

// Apply implements part.Gateway.
func (g fleetGateway) Apply(route string, p whittle.Position) bool { return g.relay.Apply(route, p) }

// Watch implements part.Gateway.
func (g fleetGateway) Watch(route string, share whittle.Share) { g.relay.Watch(route, share) }

// place is what another process has handed over of its place in a fleet, and when it was
// asked for at the earliest.
type place struct {
	handed []byte
	asked  time.Time
}

// samePlace says whether this process can take the place that another one had: in the same
// fleet under the same name, or in none.
func samePlace(f *config.Fleet, handed []byte) error {
	if f == nil && len(handed) == 0 {
		return nil
	}
	if f != nil {
		if h, ok := fleet.ReadHanded(handed); ok && h.Is(f.Name, f.Member) {
			return nil
		}
	}
	return whittle.Errorf(whittle.FailedPrecondition, "take over: a gateway's place in a fleet is not changed while it runs").WithField("fleet").
		WithHint("end this gateway with SIGTERM and start it again to have it join, leave or be called something else")
}

// linger bounds how long a user's request may still be on a candidate.
func linger(f *config.File) (most time.Duration) {
	for i := range f.Routes {
		if c := f.Routes[i].Candidate; c != nil {
			most = max(most, c.Timeout)
		}
	}
	return most
}

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
