package main

import (
	"errors"
	"fmt"
	"log/slog"

	"whittle"
	"whittle/carve/compare"
	"whittle/carve/config"
	"whittle/carve/fleet/embedded"
	"whittle/carve/recording"
	"whittle/carve/transcode"
	"whittle/cmdline"
	"whittle/record/redact"
)

type checkVerb struct {
	Config string  `short:"c" default:"whittle.yaml" placeholder:"FILE" help:"The config (${default})."`
	Rate   float64 `placeholder:"N" help:"Requests a second on each route: name the steps that they could not earn within a day (the harm budget)."`
}

// Help gives the examples.
func (checkVerb) Help() string {
	return `Reads the config as "whittle run" would, compiles its expressions and contracts, reads its certificates, and shows each route with every default in force. Nothing is started.

Examples:
  whittle check -c whittle.yaml
  whittle check -c whittle.yaml --rate 0.5
  whittle check -c whittle.yaml && whittle run -c whittle.yaml`
}

// Run prints every route as it will be treated, or everything that is wrong.
func (v *checkVerb) Run(s cmdline.Streams) error {
	if !(v.Rate >= 0 && v.Rate <= 1e9) { // nor NaN
		return whittle.Errorf(whittle.Invalid, "--rate %g is no number of requests a second: write one above 0, such as 0.5", v.Rate)
	}
	f, err := readConfig(v.Config)
	if err != nil {
		return err
	}
	for _, l := range f.Listen {
		if _, err := certificates(l.TLS, slog.New(slog.DiscardHandler)); err != nil {
			return f.Locate(err)
		}
	}
	if err := f.Describe(s.Out); err != nil {
		return err
	}
	if v.Rate > 0 {
		for _, text := range f.Unearned(v.Rate) {
			fmt.Fprintf(s.Out, "warning: %s\n", text)
		}
	}
	fmt.Fprintf(s.Out, "\n%s is good.\n", f.Path)
	return nil
}

// readConfig loads a config and compiles what its routes need at run time, so
// that a fault is found now and placed in the file.
func readConfig(path string) (*config.File, error) {
	f, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	var faults []error
	if _, err := redact.New(redact.Rules(f.Redact), redact.NewKey()); err != nil {
		faults = append(faults, recording.InConfig("redact", err)...)
	}
	if _, err := fleetTLS(f.Fleet); err != nil {
		faults = append(faults, err)
	}
	if f.Fleet != nil && f.Fleet.NATS == "" {
		faults = append(faults, embedded.Check())
	}
	for i, r := range f.Routes {
		if r.Candidate == nil {
			continue
		}
		if _, err := compare.NewJudge(r.Compare); err != nil {
			faults = append(faults, inRoute(i, err))
		}
		if r.RPC != nil {
			if _, err := transcode.New(*r.RPC); err != nil {
				faults = append(faults, inRoute(i, err))
			}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, f.Locate(err)
	}
	return f, nil
}

// inRoute prefixes the field of an error with the route it was found in.
func inRoute(i int, err error) error {
	e, ok := errors.AsType[*whittle.Error](err)
	if !ok {
		return err
	}
	return e.WithField(fmt.Sprintf("routes[%d].%s", i, e.Field))
}
