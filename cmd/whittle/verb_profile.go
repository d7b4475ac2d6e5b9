package main

import (
	"context"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"whittle"
	"whittle/cmdline"
	"whittle/profile"
	"whittle/profile/collect"
	"whittle/profile/measure"
	"whittle/profile/report"
)

// profileVerb is whittle profile with its parts; without one it takes a profile.
type profileVerb struct {
	Take  takeVerb  `cmd:"" default:"withargs" help:"Show where a running process, or a saved profile, spends its CPU (the default)."`
	Diff  diffVerb  `cmd:"" help:"Show what became cheaper and what dearer between two profiles."`
	Guard guardVerb `cmd:"" help:"Fail if a service's CPU per request is above its baseline."`
}

// Help gives the examples.
func (profileVerb) Help() string {
	return `Without a subcommand, it takes a profile; "whittle profile take --help" has the flags.

Examples:
  whittle profile $(pgrep -f server.js)            # which line takes the CPU
  whittle profile diff before/cpu.cpuprofile after/cpu.pb.gz
  whittle profile guard http://127.0.0.1:8091 --during plan.yml --baseline cost.json`
}

type takeVerb struct {
	Process string `arg:"" name:"target" placeholder:"TARGET" help:"A Go service's pprof or admin URL, a Node inspector's URL, a Node process's id, or a saved profile."`

	measure.Settings
	Kinds []string `group:"What is measured" placeholder:"KIND" help:"cpu, allocations, mutex. Default: all three of a Go service, cpu of Node."`

	JSON string `group:"What is written" name:"json" placeholder:"FILE" help:"Write the report as JSON (\"-\": standard output)."`
	Save string `group:"What is written" placeholder:"FOLDER" help:"Keep the profiles, for whittle profile diff, go tool pprof -http, Chrome and speedscope."`
}

// Help gives the examples.
func (takeVerb) Help() string {
	return `The result comes in words first: the line of your own code that asks for most, what each endpoint costs a request, and any known smell with what to do about it.

A Node process is asked by its id: SIGUSR1 opens its inspector on loopback, and it is closed at the end. A Go service shows its pprof by importing net/http/pprof, on a port of its own.

Examples:
  whittle profile http://127.0.0.1:6060
  whittle profile $(pgrep -f server.js) --duration 5s --save profiles/
  whittle profile http://127.0.0.1:8091 --during plan.yml --target http://127.0.0.1:8090 --save profiles/
  whittle profile cpu.pb.gz`
}

// Run takes the profiles and prints what they show.
func (v *takeVerb) Run(ctx context.Context, s cmdline.Streams, c *kong.Context) error {
	screen := cmdline.NewScreen(s, v.JSON)
	if err := cmdline.Writable(v.JSON); err != nil {
		return err
	}
	var r *report.Report
	if collect.IsFile(v.Process) {
		if flag := cmdline.GivenOf(c, "duration", "during", "lines", "metrics", "save"); flag != "" {
			return whittle.Errorf(whittle.Invalid, "profile: %s is for a running process, and %s is a saved profile", flag, v.Process)
		}
		p, err := measure.ReadProfile(v.Process, kindsOf(v.Kinds))
		if err != nil {
			return err
		}
		r = report.New([]*profile.Profile{p})
	} else {
		m, err := v.Measure(ctx, v.Process, kindsOf(v.Kinds), screen.Progress)
		if err != nil {
			return err
		}
		if err := m.Save(v.Save); err != nil {
			return err
		}
		r = m.Report()
	}
	screen.Clear()
	return cmdline.WriteSummary(s, v.JSON, r)
}

func kindsOf(names []string) []profile.Kind {
	var out []profile.Kind
	for _, n := range names {
		if k := profile.Kind(n); !slices.Contains(out, k) { // each is measured once
			out = append(out, k)
		}
	}
	return out
}

type diffVerb struct {
	Before string            `arg:"" placeholder:"BEFORE" help:"A saved profile."`
	After  string            `arg:"" placeholder:"AFTER" help:"A saved profile; it may be of the other runtime."`
	Same   map[string]string `placeholder:"OLD=NEW" help:"Endpoints that are one, such as \"POST /Count=/twirp.carved.Carved/Count\". Names with the same last word match by themselves."`
	Kind   string            `help:"Which of a pprof file's values: cpu, allocations, mutex." placeholder:"KIND"`
	JSON   string            `name:"json" placeholder:"FILE" help:"Write the difference as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (diffVerb) Help() string {
	return `Profiles that whittle profile --save kept know their requests, and are compared per request, endpoint by
endpoint; others per second. An endpoint and the procedure that was carved out of it are one row: by the last word of
their names, or by --same.

Examples:
  whittle profile diff before/cpu.pb.gz after/cpu.pb.gz
  whittle profile diff monolith/cpu.cpuprofile carved/cpu.pb.gz
  whittle profile diff monolith/cpu.cpuprofile carved/cpu.pb.gz --same 'POST /Count=/math.Sums/Draw'`
}

// Run compares two saved profiles.
func (v *diffVerb) Run(s cmdline.Streams) error {
	var sides [2]*profile.Profile
	for i, path := range []string{v.Before, v.After} {
		p, err := measure.ReadProfile(path, kindsOf(strings.Fields(v.Kind)))
		if err != nil {
			return err
		}
		sides[i] = p
	}
	if sides[0].Kind != sides[1].Kind {
		return whittle.Errorf(whittle.Invalid, "profile diff: %s is of %s, %s of %s", v.Before, sides[0].Kind, v.After, sides[1].Kind)
	}
	c := report.Compare(sides[0], sides[1], v.Same)
	return cmdline.WriteSummary(s, v.JSON, c)
}
