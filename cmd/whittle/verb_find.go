package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/carve/config"
	"whittle/cmdline"
	"whittle/load"
	"whittle/load/plan"
	"whittle/profile/collect"
	"whittle/profile/measure"
	"whittle/profile/rank"
)

type findVerb struct {
	Processes []string `arg:"" optional:"" name:"target" placeholder:"TARGET" help:"Node process ids, inspector URLs, or pprof URLs of Go. Default: what listens on the port of the config's monolith."`

	Config    string   `group:"What is measured" short:"c" placeholder:"FILE" help:"Measure the monolith of this whittle.yaml, on this machine."`
	Endpoints []string `group:"What is measured" name:"endpoint" sep:"none" placeholder:"ENDPOINT" help:"Really call this endpoint, \"METHOD /path\" or \"METHOD /path JSON\". Repeatable."`
	Rate      float64  `group:"What is measured" needs:"endpoint" default:"20" placeholder:"N" help:"Requests a second, over all of --endpoint (${default})."`
	measure.Settings
	JSON string `name:"json" placeholder:"FILE" help:"Write the ranking as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (findVerb) Help() string {
	return `Watches the monolith under its own traffic, or loads it by a plan or a list of endpoints, and ranks its
endpoints by what they cost: their share of the CPU, how long their users wait, and how long they block the event loop
for everyone. It advises which to carve first. If the CPU of unknown requests could overturn that advice, it gives
none, says what is missing, and exits with status 1.

Examples:
  whittle find -c whittle.yaml --duration 30s
  whittle find $(pgrep -f server.js) --duration 30s
  whittle find $(pgrep -f server.js) --during plan.yml --target http://127.0.0.1:3000
  whittle find -c whittle.yaml --endpoint 'POST /Count {"times": 1000000}' --endpoint 'GET /'`
}

// Run measures and ranks.
func (v *findVerb) Run(ctx context.Context, s cmdline.Streams) error {
	screen := cmdline.NewScreen(s, v.JSON)
	targets, monolith, err := v.targets(ctx)
	if err != nil {
		return err
	}
	if v.Target == "" {
		v.Target = monolith
	}
	under, err := v.plan()
	if err != nil {
		return err
	}
	if err := cmdline.Writable(v.JSON); err != nil {
		return err
	}
	all, err := v.MeasureAll(ctx, targets, nil, under, screen.Progress)
	if errors.Is(err, context.Canceled) { // exit status 0 is an advice
		return whittle.Errorf(whittle.Canceled, "find: it was interrupted before anything was measured")
	}
	if err != nil {
		return err
	}
	screen.Clear()
	r := rank.Endpoints(all)
	if err := cmdline.WriteSummary(s, v.JSON, r); err != nil {
		return err
	}
	return r.Err()
}

// targets gives what is profiled, and the monolith's URL where it is known.
func (v *findVerb) targets(ctx context.Context) (targets []string, monolith string, err error) {
	if v.Config != "" {
		f, err := config.Load(v.Config)
		if err != nil {
			return nil, "", err
		}
		monolith = strings.Replace(f.Monolith.URL, "h2c://", "http://", 1)
	}
	switch {
	case len(v.Processes) > maxTargets:
		return nil, "", whittle.Errorf(whittle.Invalid, "find: %d targets, at most %d are measured at once", len(v.Processes), maxTargets)
	case len(v.Processes) > 0:
		all := slices.Clone(v.Processes)
		for _, target := range v.Processes {
			if err := hasEndpoints(target); err != nil {
				return nil, "", err
			}
			if pid, err := strconv.Atoi(target); err == nil {
				for _, worker := range collect.Workers(pid) {
					all = append(all, strconv.Itoa(worker))
				}
			}
		}
		slices.Sort(all)
		return slices.Compact(all), monolith, nil
	case monolith == "":
		return nil, "", whittle.Errorf(whittle.Invalid, "find: there is nothing to measure").
			WithHint("give a process id, a URL, or -c whittle.yaml: see whittle find --help")
	}
	if targets, err = collect.Locate(ctx, monolith); err != nil {
		return nil, "", err
	}
	for _, target := range targets {
		if err := hasEndpoints(target); err != nil {
			return nil, "", err
		}
	}
	return targets, monolith, nil
}

// hasEndpoints refuses what has none to rank.
func hasEndpoints(target string) error {
	if collect.IsFile(target) {
		return whittle.Errorf(whittle.Unsupported, "find: %s is a saved profile; only a running process has endpoints to rank", target).
			WithHint("whittle profile " + target + " names its lines, and the endpoints that it knows")
	}
	return nil
}

// Bounds of one call of find.
const (
	maxTargets   = 64
	maxEndpoints = 100
)

// plan is the load, or nil to watch what is live.
func (v *findVerb) plan() (*plan.Plan, error) {
	switch {
	case v.During != "" && len(v.Endpoints) > 0:
		return nil, whittle.Errorf(whittle.Invalid, "find: give either --during or --endpoint, not both")
	case v.During != "":
		return load.ReadPlan(v.During)
	case len(v.Endpoints) == 0:
		return nil, nil
	case v.Target == "":
		return nil, whittle.Errorf(whittle.Invalid, "find: the requests have no target").WithHint("give --target URL, or -c whittle.yaml")
	case len(v.Endpoints) > maxEndpoints || !(v.Rate > 0):
		return nil, whittle.Errorf(whittle.Invalid, "find: 1 to %d endpoints at a --rate above 0", maxEndpoints)
	}
	return rank.Plan(v.Target, v.Endpoints, v.Rate, v.Duration)
}
