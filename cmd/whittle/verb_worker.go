package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"whittle"
	"whittle/cmdline"
	"whittle/internal/natslink"
	"whittle/load"
	"whittle/load/report"
	"whittle/load/workers"
)

// meeting says where a load's coordinator and its workers meet.
type meeting struct {
	Subject     string `name:"nats-subject" default:"whittle.load" placeholder:"NAME" help:"Prefix of all subjects, the same for the coordinator and its workers (${default})."`
	Credentials string `name:"nats-creds" placeholder:"FILE" help:"Credentials for NATS, a .creds file."`
	CA          string `name:"nats-ca" placeholder:"FILE" help:"PEM file of the authorities trusted for NATS. Default: the system's."`
	Cert        string `name:"nats-cert" placeholder:"FILE" help:"A certificate for NATS, in PEM, with --nats-key."`
	Key         string `name:"nats-key" placeholder:"FILE" help:"The key that belongs to --nats-cert."`
	ServerName  string `name:"nats-server-name" placeholder:"NAME" help:"The name in the certificate of NATS, where it is not the URL's."`
}

// given reports whether anything is said that goes with NATS alone.
func (m *meeting) given() bool {
	return m.Credentials != "" || m.CA != "" || m.Cert != "" || m.Key != "" || m.ServerName != "" || m.Subject != workers.DefaultSubject
}

// link is where they meet, at these servers.
func (m *meeting) link(servers string) (workers.Link, error) {
	if (m.Cert == "") != (m.Key == "") {
		return workers.Link{}, whittle.Errorf(whittle.Invalid, "--nats-cert and --nats-key go together")
	}
	if m.Credentials != "" {
		if _, err := whittle.ReadFile("NATS credentials", m.Credentials, load64KiB); err != nil {
			return workers.Link{}, err
		}
	}
	c, err := natsTLS(whittle.UpstreamTLS{CA: m.CA, Certificate: m.Cert, Key: m.Key, ServerName: m.ServerName}, "--nats-")
	return workers.Link{
		NATS: natslink.Settings{Servers: servers, Credentials: m.Credentials, TLS: c}, Subject: m.Subject, Version: version(),
	}, err
}

// load64KiB bounds a file of credentials.
const load64KiB = 64 << 10

// severalMachines are the flags of a load that workers run.
type severalMachines struct {
	Workers string        `placeholder:"NATS" help:"Divide the plan among the workers (whittle worker) that wait at nats://host:4222."`
	Expect  *int          `placeholder:"N" help:"Begin with exactly this many workers. Default: with those that are there."`
	Wait    time.Duration `needs:"workers" default:"30s" help:"How long to wait for workers (${default})."`
	meeting `embed:""`
}

// check refuses what does not go together.
func (v *severalMachines) check() error {
	if v.Workers == "" && (v.Expect != nil || v.given()) {
		return whittle.Errorf(whittle.Invalid, "--expect and --nats-… go with --workers")
	}
	if v.Wait <= 0 {
		return whittle.Errorf(whittle.Invalid, "--wait %v is not above 0", v.Wait)
	}
	return aboveZero("--expect", v.Expect)
}

// run runs a load here or, where that is wanted, by workers.
func (v *severalMachines) run(ctx context.Context, w load.Workload, o load.Options, said *planLog) (*report.Report, error) {
	if v.Workers == "" {
		plan, err := w.Read()
		if err != nil {
			return nil, err
		}
		return load.Run(ctx, plan, o)
	}
	link, err := v.link(v.Workers)
	if err != nil {
		return nil, err
	}
	c := workers.Coordinator{Link: link, Expect: given(v.Expect), Wait: v.Wait, Say: func(text string) { said.line(-1, text) }}
	return c.Run(ctx, w, o)
}

type workerVerb struct {
	Servers string `arg:"" placeholder:"NATS" help:"Where to wait for orders: nats://host:4222, several separated by commas."`
	Name    string `placeholder:"NAME" help:"This worker's name in reports, unique. Default: the host's name with the process id."`
	meeting `embed:""`
}

// Help gives the examples.
func (workerVerb) Help() string {
	return `Runs parts of load plans. "whittle load PLAN --workers NATS", on any machine, divides a plan among all
workers that wait at that NATS, starts them at one moment, and reports what they did as one run. Plan, files and
environment come from the coordinator, so anybody who may use that NATS decides what is sent from here. Ctrl-C ends
the worker, and a run that it takes part in is then void.

Examples:
  whittle worker nats://nats.internal:4222 --name load-1
  whittle load plan.yml --workers nats://nats.internal:4222 --expect 4`
}

// Run serves until it is ended.
func (v *workerVerb) Run(ctx context.Context, s cmdline.Streams) error {
	link, err := v.link(v.Servers)
	if err != nil {
		return err
	}
	name := v.Name
	if name == "" {
		host, _ := os.Hostname()
		name = fmt.Sprintf("%s-%d", cmp.Or(host, "worker"), os.Getpid())
	}
	screen := cmdline.NewScreen(s)
	w := workers.Worker{Link: link, Name: name, Say: func(text string) { screen.Say("%s", text) }}
	return w.Serve(ctx)
}
