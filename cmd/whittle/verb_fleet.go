package main

import (
	"context"
	"crypto/tls"

	"whittle"
	"whittle/carve/config"
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
