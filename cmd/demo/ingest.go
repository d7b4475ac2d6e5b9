package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"whittle/bench/table"
	"whittle/load"
	"whittle/load/cpu"
	"whittle/load/duel"
	"whittle/load/plan"
	loaded "whittle/load/report"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
)

const (
	ingestShards = 4
	// ingestFloor is the shortest ramp of a level, so that a scaled one is one.
	ingestFloor = 200 * time.Millisecond
)

// ingestSize is how much of the seed's test is run.
type ingestSize struct {
	users []int
	runs  int // of each number of users, on each server
	// late is how late a request may be sent before a run is void.
	late time.Duration
	// warm is how many requests each server gets, at least, before a level is
	// measured, where the API is quick.
	warm int64
	// loops are the events of each user; 0: as the API is quick.
	loops int64
}

// The seed's own numbers of users, of which it ran each three times, and the
// short form, which a machine that is busy with other things may not void.
var (
	ingestSeed  = ingestSize{users: []int{1, 50, 500, 1000}, runs: 3, late: time.Second, warm: warmRequests}
	ingestShort = ingestSize{users: []int{1, 20}, runs: 1, late: time.Minute, warm: 100, loops: 3}
)

// ingestDemo owns the processes and runs the acts.
type ingestDemo struct {
	*stage
	scale   float64
	loops   int64
	size    ingestSize
	api     *kinesistest.API
	receipt receipts
	figures ingestFigures
}

func newIngestDemo(ctx context.Context, on *stage, scale float64, loops int64, size ingestSize) (_ *ingestDemo, err error) {
	d := &ingestDemo{stage: on, scale: scale, loops: loops, size: size}
	d.figures = ingestFigures{Format: "whittle.demo-ingest/1", Started: time.Now(), Machine: table.ThisMachine(), Scale: scale}
	on.screen.Heading("demo ingest: the ingestion API in Go, next to its counterpart in Node.js")
	if d.api, err = kinesistest.Start(ctx, kinesistest.Options{}); err != nil {
		return nil, err
	}
	on.ends = append(on.ends, func() {
		if err := d.api.Close(); err != nil {
			on.screen.Say("end %s: %v", d.api.Program, err)
		}
	})
	d.figures.API = d.api.Program
	for _, name := range []string{"node", "go"} {
		if err := d.api.CreateStream(ctx, name, ingestShards); err != nil {
			return nil, err
		}
	}
	on.screen.Say("started %s, a Kinesis API of %d shards a stream, at %s", d.api.Program, ingestShards, d.api.URL)
	// kinesis-local takes about 20 ms for each record of the Node server.
	d.loops = cmp.Or(d.loops, size.loops, map[string]int64{kinesistest.Ferrokinesis: 10, kinesistest.KinesisLocal: 1}[d.api.Program])
	d.figures.Loops = d.loops
	return d, nil
}

// aws are the settings by which both servers find the API.
func (d *ingestDemo) aws() []string {
	return []string{"AWS_REGION=" + kinesistest.Region, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_ENDPOINT_URL=" + d.api.URL}
}

// startNode starts the seed's server: a process for each core.
func (d *ingestDemo) startNode(ctx context.Context) (*process, error) {
	node, err := d.root.node("systems/ingest/node")
	if err != nil {
		return nil, err
	}
	env := append(d.aws(), "KINESIS_STREAM=node", "PORT=0", "NODE_ENV=production")
	return d.start(ctx, "node", []string{node, d.root.path("systems/ingest/node/server.js")}, env)
}

// startGo starts ingest, on a sink that the flags name.
func (d *ingestDemo) startGo(ctx context.Context, name string, flags ...string) (*process, error) {
	args := append([]string{"serve", "--env-file", "", "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--log-level", "WARN"}, flags...)
	return d.startBuilt(ctx, name, "ingest", args, d.aws())
}

// play runs the acts. The acts after one that did not come out are not played.
func (d *ingestDemo) play(ctx context.Context) error {
	node, err := d.startNode(ctx)
	if err != nil {
		return err
	}
	overKinesis, err := d.startGo(ctx, "ingest", "--sink", "kinesis", "--kinesis-stream", "go", "--kinesis-raw")
	if err != nil {
		return err
	}
	d.screen.Heading("Act 1: both put each event onto a Kinesis stream before they respond")
	first, err := d.levels(ctx, node, overKinesis)
	if err != nil {
		return err
	}
	d.figures.Kinesis = first
	d.show(first, d.figures.Carried, "Node.js", "Go")
	if err := judgeLevels(first); err != nil {
		return err
	}
	d.screen.Heading("Act 2: read both streams back")
	for _, server := range []string{"node", "go"} {
		audit, err := d.readKinesis(ctx, server, d.receipt.take(server))
		if err != nil {
			return err
		}
		if err := d.judge(server, audit); err != nil {
			return err
		}
	}
	overKinesis.Stop()
	logFolder := filepath.Join(d.work, "log")
	embedded, err := d.startGo(ctx, "ingest-embedded", "--sink", "embedded", "--data", logFolder)
	if err != nil {
		return err
	}
	d.screen.Heading("Act 3: the same onto the embedded log, fsynced before each response")
	second, err := d.levels(ctx, node, embedded)
	if err != nil {
		return err
	}
	d.figures.Embedded = second
	d.show(second, d.figures.Carried[len(first.Levels):], "Node.js, Kinesis", "Go, fsync")
	if err := judgeLevels(second); err != nil {
		return err
	}
	embedded.Stop()
	audit, err := d.readLog(ctx, logFolder, d.receipt.take("go"))
	if err != nil {
		return err
	}
	return d.judge("embedded", audit)
}

// levels runs the seed's plan at its numbers of users against two servers.
func (d *ingestDemo) levels(ctx context.Context, a, b *process) (*duel.LevelsReport, error) {
	imports, err := load.ReadPlan(d.root.path("systems/ingest/plans/import.jmx"))
	if err != nil {
		return nil, err
	}
	out := &duel.LevelsReport{}
	for _, users := range d.size.users {
		// The seed's ramp is a tenth of a second a user, none for a single one.
		ramp := time.Duration(float64(users) * float64(100*time.Millisecond) / d.scale)
		loops := d.loops
		if users == 1 {
			ramp, loops = 0, d.loops*20 // or there would be nothing to take a median of
		} else {
			ramp = max(ramp, ingestFloor)
		}
		if err := d.warmUp(ctx, imports, users, ramp, a, b); err != nil {
			return nil, err
		}
		carried, err := d.carrying(ctx, b)
		if err != nil {
			return nil, err
		}
		l := duel.Levels{
			Plan: imports, A: duel.Side{Target: "http://" + a.Public, Watch: a.family()}, B: duel.Side{Target: "http://" + b.Public, Watch: b.family()},
			Users: []int{users}, Runs: d.size.runs, Closed: plan.Closed{Ramp: ramp, Loops: loops},
			Options:    load.Options{OnResult: d.receipt.note, MaxLate: d.size.late},
			OnProgress: func(run string, p loaded.Progress) { d.screen.Progress("%d users, %s: %s", users, run, p) },
		}
		r, err := l.Run(ctx)
		if err != nil {
			return nil, err
		}
		if err := carried.end(ctx); err != nil {
			return nil, err
		}
		d.figures.Carried = append(d.figures.Carried, carried.carried)
		if len(out.Levels) == 0 {
			*out = *r
			continue
		}
		out.Levels = append(out.Levels, r.Levels...)
		out.Verdict = append(out.Verdict, r.Verdict...)
		out.Warnings = append(out.Warnings, r.Warnings...)
		out.Early = out.Early || r.Early
		out.Void = cmp.Or(out.Void, r.Void)
	}
	d.screen.Clear()
	return out, nil
}

// family gives a server's processes, for their CPU time: its own and those of
// its cluster.
func (p *process) family() []cpu.Process {
	out := []cpu.Process{{Name: p.name, PID: p.Pid()}}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.Pid(), p.Pid()))
	if err != nil {
		return out
	}
	for field := range strings.FieldsSeq(string(b)) {
		var pid int
		if _, err := fmt.Sscan(field, &pid); err == nil {
			out = append(out, cpu.Process{Name: p.name + " worker", PID: pid})
		}
	}
	return out
}
