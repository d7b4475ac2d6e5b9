package main

import (
	"context"
	"strings"
	"time"

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
	Take  takeVerb  `cmd:"" default:"withargs" help:"Say where a running process, or a saved profile, spends its CPU (the default)."`
	Diff  diffVerb  `cmd:"" help:"Say what became cheaper and what dearer between two profiles."`
	Guard guardVerb `cmd:"" help:"Fail where a service's CPU per request is above its baseline's."`
}

type takeVerb struct {
	Process string `arg:"" name:"target" placeholder:"TARGET" help:"A Go service's pprof or admin URL, a Node inspector's URL, a Node or Python process's id, or a saved profile."`

	measure.Settings
	Kinds []string `group:"What is measured" placeholder:"KIND" help:"cpu, allocations, heap, mutex, block, goroutines. cpu, allocations and mutex of a Go service, cpu of Node, unless given."`

	Watch string        `group:"What is measured" placeholder:"FOLDER" help:"Profile again and again, keep the profiles in this folder, and compare the last hour with the one before."`
	Every time.Duration `group:"What is measured" needs:"watch" default:"1m" help:"How often --watch profiles, 1s to 1h (${default})."`
	Keep  time.Duration `group:"What is measured" needs:"watch" default:"24h" help:"How long --watch keeps a profile, 2h to 720h (${default})."`

	JSON string `group:"What is written" name:"json" placeholder:"FILE" help:"Write the report as JSON (\"-\": standard output)."`
	HTML string `group:"What is written" name:"html" placeholder:"FILE" help:"Write the report as one HTML file with a flame graph."`
	Save string `group:"What is written" placeholder:"FOLDER" help:"Keep the profiles themselves: .pb.gz, .cpuprofile, .heapprofile."`
}

// Help gives the examples.
func (takeVerb) Help() string {
	return `The result comes in words first: the line of your own code that asks for most, what each endpoint costs a request, and any known smell with what to do about it.

A Node process is asked by its id: SIGUSR1 opens its inspector on loopback, and it is closed at the end. A Python process is looked into by py-spy. A Go service shows its pprof by importing net/http/pprof, on a port of its own.

Examples:
  whittle profile http://127.0.0.1:6060
  whittle profile $(pgrep -f server.js) --duration 5s --html profile.html
  whittle profile http://127.0.0.1:8091 --during plan.yml --target http://127.0.0.1:8090 --save profiles/
  whittle profile http://127.0.0.1:6060 --watch profiles/ --every 1m --keep 24h
  whittle profile cpu.pb.gz`
}

// Run takes the profiles and prints what they show.
func (v *takeVerb) Run(ctx context.Context, s cmdline.Streams, c *kong.Context) error {
	screen := cmdline.NewScreen(s, v.JSON)
	if v.Watch != "" {
		return v.watch(ctx, screen)
	}
	if err := cmdline.Writable(v.JSON, v.HTML); err != nil {
		return err
	}
	var r *report.Report
	if collect.IsFile(v.Process) {
		if flag := cmdline.GivenOf(c, "duration", "during", "lines", "metrics", "save"); flag != "" {
			return whittle.Errorf(whittle.Invalid, "profile: %s is of a running process, and %s is a saved profile", flag, v.Process)
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
	return cmdline.WriteResult(s, v.JSON, v.HTML, r)
}

// hour is what --watch compares with the one before.
const hour = time.Hour

// watch profiles until it is ended. A profile that fails, as while the process starts
// again, is said, and the next one is taken in time.
func (v *takeVerb) watch(ctx context.Context, screen *cmdline.Screen) error {
	switch {
	case v.Every < time.Second || v.Every > hour || v.Keep < 2*hour || v.Keep > 720*hour:
		return whittle.Errorf(whittle.Invalid, "profile --watch: --every is 1s to 1h, and --keep 2h to 720h")
	case v.Duration > v.Every:
		return whittle.Errorf(whittle.Invalid, "profile --watch: a profile of %s every %s", v.Duration, v.Every).
			WithHint("give --duration less than --every")
	case v.During != "" || v.Save != "" || v.JSON != "" || v.HTML != "" || collect.IsFile(v.Process):
		return whittle.Errorf(whittle.Invalid, "profile --watch: it watches a process as it is, so there is no --during, --save, --json, --html nor file").
			WithHint("whittle profile diff compares what it kept")
	}
	ring := measure.Ring{Folder: v.Watch, Keep: v.Keep}
	tick := time.NewTicker(v.Every)
	defer tick.Stop()
	for {
		m, err := v.Measure(ctx, v.Process, kindsOf(v.Kinds), screen.Progress)
		if err == nil {
			err = ring.Add(m, time.Now())
		}
		switch {
		case ctx.Err() != nil:
			return nil // it was ended, which is how it ends
		case err != nil:
			screen.Say("note: %v", err)
		default:
			v.compare(&ring, m, screen)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// compare says how the last hour is next to the one before, or what was just seen.
func (v *takeVerb) compare(ring *measure.Ring, m *measure.Measured, screen *cmdline.Screen) {
	now := time.Now()
	before, last, err := ring.Spans(now, hour)
	at := now.Format("15:04:05")
	switch {
	case err != nil:
		screen.Say("note: %v", err)
	case before == nil || last == nil:
		screen.Say("%s %s", at, m.Report().Words)
	default:
		screen.Say("%s the hour before and the last: %s", at, report.Compare(before, last, nil).Words)
	}
}

func kindsOf(names []string) []profile.Kind {
	var out []profile.Kind
	for _, n := range names {
		out = append(out, profile.Kind(n))
	}
	return out
}

type diffVerb struct {
	Before string            `arg:"" placeholder:"BEFORE" help:"A saved profile."`
	After  string            `arg:"" placeholder:"AFTER" help:"A saved profile, also of the other runtime."`
	Same   map[string]string `placeholder:"OLD=NEW" help:"Endpoints that are one, such as \"POST /Count=/twirp.carved.Carved/Count\". Those of one last word are found alike."`
	Kind   string            `help:"Which of a pprof file's values: cpu, allocations, heap, mutex, block." placeholder:"KIND"`
	JSON   string            `name:"json" placeholder:"FILE" help:"Write the difference as JSON (\"-\": standard output)."`
	HTML   string            `name:"html" placeholder:"FILE" help:"Write the difference as one HTML file with a red and green flame graph."`
}

// Help gives the examples.
func (diffVerb) Help() string {
	return `Profiles that whittle profile --save kept know their requests, and are compared per request, endpoint by endpoint; others per second. An endpoint and the procedure that was carved out of it are one row: by the last word of their names, or by --same.

Examples:
  whittle profile diff before/cpu.pb.gz after/cpu.pb.gz --html diff.html
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
	return cmdline.WriteResult(s, v.JSON, v.HTML, c)
}
