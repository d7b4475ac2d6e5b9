//go:build !demo_count

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"whittle/internal/table"
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
	// workers are the processes of a Node.js server; 0: one for each core.
	workers int
}

// The seed's own numbers of users, of which it ran each three times, and the
// short form, which a machine that is busy with other things may not void.
var (
	ingestSeed  = ingestSize{users: []int{1, 50, 500, 1000}, runs: 3, late: time.Second, warm: warmRequests}
	ingestShort = ingestSize{users: []int{1, 20}, runs: 1, late: time.Minute, warm: 40, loops: 3, workers: 2}
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
	d := &ingestDemo{stage: on, scale: scale, loops: loops, size: size, receipt: receipts{kept: map[string]map[string]bool{}}}
	d.figures = ingestFigures{Format: "whittle.demo-ingest/2", Started: time.Now(), Machine: table.ThisMachine(), Scale: scale}
	on.screen.Heading("demo ingest: the ingestion API in Go, next to its counterpart in Node.js")
	if d.api, err = kinesistest.Start(ctx); err != nil {
		return nil, err
	}
	on.ends = append(on.ends, func() {
		if err := d.api.Close(); err != nil {
			on.screen.Say("end %s: %v", d.api.Program, err)
		}
	})
	d.figures.API = d.api.Program
	for _, name := range []string{"node", "node-batched", "go"} {
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

// contender is a server of the comparison.
type contender struct {
	*process
	stream string // whose acknowledgements its are
	name   string // in tables
}

// whatEachDoes says what each row of the tables does for a request: the rest of what a row
// differs by.
var whatEachDoes = []struct{ Name, Does string }{
	{nodeAlone, "reads the body, makes one call of PutRecord for it and passes on where Kinesis put it, as the seed's server does. A process for each core."},
	{nodeTogether, "the same, but what waits goes together: a call of PutRecords where none is under way, or when a record has waited for 5 ms and fewer " +
		"than 16 calls are. A process for each core, each with calls of its own."},
	{goTogether, "ingest: checks the body's JSON, its id against those that it knows and its bytes by a sum; puts records together by the same rule, in one process."},
	{goLog, "ingest: the same onto its own log; what waits is one write and one fdatasync."},
}

// The servers, as tables name them.
const (
	nodeAlone    = "Node.js, PutRecord"
	nodeTogether = "Node.js, PutRecords"
	goTogether   = "Go, PutRecords"
	goLog        = "Go, fsync"
)

// startNode starts the seed's server, with the calls that it makes of Kinesis.
func (d *ingestDemo) startNode(ctx context.Context, stream, name, call string) (*contender, error) {
	node, err := d.root.node("systems/ingest/node")
	if err != nil {
		return nil, err
	}
	env := append(d.aws(), "KINESIS_STREAM="+stream, "KINESIS_CALL="+call, "PORT=0", "NODE_ENV=production")
	if d.size.workers > 0 {
		env = append(env, fmt.Sprint("WORKERS=", d.size.workers))
	}
	p, err := d.start(ctx, stream, []string{node, d.root.path("systems/ingest/node/server.js")}, env)
	return &contender{p, stream, name}, err
}

// startGo starts ingest, on a sink that the flags name.
func (d *ingestDemo) startGo(ctx context.Context, stream, name string, flags ...string) (*contender, error) {
	args := append([]string{"serve", "--env-file", "", "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--log-level", "WARN"}, flags...)
	p, err := d.startBuilt(ctx, "ingest-"+stream, "ingest", args, d.aws())
	return &contender{p, stream, name}, err
}

// play runs the acts. The acts after one that did not come out are not played.
func (d *ingestDemo) play(ctx context.Context) error {
	alone, err := d.startNode(ctx, "node", nodeAlone, "PutRecord")
	if err != nil {
		return err
	}
	together, err := d.startNode(ctx, "node-batched", nodeTogether, "PutRecords")
	if err != nil {
		return err
	}
	overKinesis, err := d.startGo(ctx, "go", goTogether, "--sink", "kinesis", "--kinesis-stream", "go", "--kinesis-raw")
	if err != nil {
		return err
	}
	d.screen.Heading("What each server does for a request, which it responds to when Kinesis or the disk has the event")
	for _, row := range whatEachDoes {
		d.screen.Say("%s: %s", row.Name, row.Does)
	}
	d.screen.Heading("Act 1: onto Kinesis: Node.js by a call for each event, Node.js by one for all that wait, Go by one for all that wait")
	f := &d.figures
	if f.Batching, err = d.compare(ctx, alone, together); err != nil {
		return err
	}
	if f.Language, err = d.compare(ctx, together, overKinesis); err != nil {
		return err
	}
	d.show(view{ // Node.js by PutRecords is from its comparison with Go
		rows:   []serverRow{{f.Batching, "a"}, {f.Language, "a"}, {f.Language, "b"}},
		ratios: []ratio{{"batching", f.Batching}, {"language", f.Language}},
	})
	if err := f.Batching.sound(); err != nil {
		return err
	}
	if err := f.Language.judge(); err != nil {
		return err
	}
	d.screen.Heading("Act 2: read the streams back")
	for _, c := range []*contender{alone, together, overKinesis} {
		audit, err := d.readKinesis(ctx, c.stream, d.receipt.take(c.stream))
		if err != nil {
			return err
		}
		if err := d.judge(c.stream, isIngest(c.name), audit); err != nil {
			return err
		}
	}
	overKinesis.Stop()
	together.Stop()
	logFolder := filepath.Join(d.work, "log")
	embedded, err := d.startGo(ctx, "embedded", goLog, "--sink", "embedded", "--data", logFolder)
	if err != nil {
		return err
	}
	d.screen.Heading("Act 3: Go onto its embedded log, fsynced before each response, next to the seed's server onto Kinesis")
	if f.Embedded, err = d.compare(ctx, alone, embedded); err != nil {
		return err
	}
	d.show(view{rows: []serverRow{{f.Embedded, "a"}, {f.Embedded, "b"}}, ratios: []ratio{{"all together", f.Embedded}}})
	if err := f.Embedded.judge(); err != nil {
		return err
	}
	embedded.Stop()
	audit, err := d.readLog(ctx, logFolder, d.receipt.take(embedded.stream))
	if err != nil {
		return err
	}
	return d.judge(embedded.stream, true, audit)
}

// comparison is what the seed's plan came to on two servers.
type comparison struct {
	A      string             `json:"a"`
	B      string             `json:"b"`
	Levels *duel.LevelsReport `json:"levels"`
}

// compare runs the seed's plan at its numbers of users against two servers.
func (d *ingestDemo) compare(ctx context.Context, a, b *contender) (*comparison, error) {
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
		l := duel.Levels{
			Plan: imports, A: d.side(a), B: d.side(b),
			Users: []int{users}, Runs: d.size.runs, Closed: plan.Closed{Ramp: ramp, Loops: loops},
			Options:    load.Options{MaxLate: d.size.late},
			OnProgress: func(run string, p loaded.Progress) { d.screen.Progress("%d users, %s: %s", users, run, p) },
		}
		r, err := l.Run(ctx)
		if err != nil {
			return nil, err
		}
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
	return &comparison{A: a.name, B: b.name, Levels: out}, nil
}

func (d *ingestDemo) side(c *contender) duel.Side {
	return duel.Side{Target: "http://" + c.Public, Watch: c.family(), OnResult: d.receipt.noteOf(c.stream)}
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
