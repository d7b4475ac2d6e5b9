package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"whittle/bench/cputime"
	"whittle/bench/table"
)

// The metrics, behind the scenario's name in the rows.
const (
	cpuMetric   = "cpu_per_event"
	eventMetric = "events"
	p50Metric   = "p50"
	p99Metric   = "p99"
	// What the generator spent, and what the machine's cores did meanwhile: the two
	// that share them with the server.
	senderMetric = "generator_cpu_per_event"
	idleMetric   = "idle"
	stolenMetric = "stolen"
	syncSubject  = "device"
	syncMetric   = "fdatasync_p99"
)

// syncBlocks are the lengths that the disk is timed with: a single event's
// batch, and what a thousand users make one write of.
var syncBlocks = []struct {
	name  string
	bytes int
}{{"4KiB", 4 << 10}, {"256KiB", 256 << 10}}

// costs measures every subject in every scenario, in turn, and then follows the
// memory of the service that has been through all of it.
func costs(ctx context.Context, s settings, r *table.Results) (err error) {
	h, err := open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.end()) }()
	disk, err := openDevice(s.folder)
	if err != nil {
		return err
	}
	defer disk.file.Close()
	all := table.Rounds{}
	for round := range s.rounds + 1 {
		into, rows := all, r.T
		if round == 0 { // to warm up
			into, rows = table.Rounds{}, table.New("warm-up")
		}
		if err := oneRound(ctx, s, round, h, disk, rows, into); err != nil {
			return err
		}
		fmt.Printf("round %d of %d\n", round, s.rounds)
	}
	summarize(all, h, r.Conclude)
	judge(all, r.Conclude)
	if !s.measures(memoryScenario, ours) {
		return nil
	}
	return steady(ctx, s, h, r.Conclude)
}

func oneRound(ctx context.Context, s settings, round int, h *subjects, disk *device, t *table.T, all table.Rounds) error {
	for _, c := range scenarios() {
		if c.paced && s.measures(c.name, ours) {
			for _, b := range syncBlocks {
				p50, p99, err := disk.sample(b.bytes, time.Second)
				if err != nil {
					return err
				}
				all.Add(t, syncSubject, "fdatasync_p50_"+b.name, table.Millis(p50), "ms")
				all.Add(t, syncSubject, syncMetric+"_"+b.name, table.Millis(p99), "ms")
			}
		}
		for _, name := range table.Rotated(c.subjects, round) {
			x, ok := h.find(name)
			if !ok || !s.measures(c.name, name) {
				continue
			}
			if err := measure(ctx, s, c, x, t, all); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, name, err)
			}
		}
	}
	return nil
}

// measure runs one scenario against one subject.
func measure(ctx context.Context, s settings, c scenario, x subject, t *table.T, all table.Rounds) error {
	before, err := read(x)
	if err != nil {
		return err
	}
	r, err := c.send(ctx, s, x.Addr, s.duration)
	if err != nil {
		return err
	}
	after, err := read(x)
	if err != nil {
		return err
	}
	if faults := wrong(r); faults != "" { // a peer's failure is as bad as ours: its figures would be of other work
		return fmt.Errorf("%d of %d requests failed: %s", r.Failed, r.Requests, faults)
	}
	events := float64(r.Completed) * float64(c.batch)
	all.Add(t, x.name, c.name+"_"+cpuMetric, table.Micros(after.server-before.server)/events, "us")
	all.Add(t, x.name, c.name+"_"+senderMetric, table.Micros(after.sender-before.sender)/events, "us")
	machine := after.machine.Since(before.machine)
	all.Add(t, x.name, c.name+"_"+idleMetric, 100*machine.Share(machine.Idle), "%")
	all.Add(t, x.name, c.name+"_"+stolenMetric, 100*machine.Share(machine.Stolen), "%")
	all.Add(t, x.name, c.name+"_"+eventMetric, events/r.Seconds, "1/s")
	all.Add(t, x.name, c.name+"_"+p50Metric, table.Millis(r.Latency.Actual.P50), "ms")
	all.Add(t, x.name, c.name+"_"+p99Metric, table.Millis(r.Latency.Actual.P99), "ms")
	return nil
}

// clocks are what a measurement reads before and after.
type clocks struct {
	server, sender time.Duration // of CPU
	machine        cputime.Machine
}

func read(x subject) (c clocks, err error) {
	if c.server, err = x.CPU(); err != nil {
		return c, err
	}
	if c.sender, err = cputime.Of(os.Getpid()); err != nil {
		return c, err
	}
	c.machine, err = cputime.OfMachine()
	return c, err
}

func summarize(all table.Rounds, h *subjects, conclude adder) {
	for _, c := range scenarios() {
		units := [][2]string{{cpuMetric, "us"}, {eventMetric, "1/s"}, {p50Metric, "ms"}, {p99Metric, "ms"}}
		own := [][2]string{{senderMetric, "us"}, {idleMetric, "%"}, {stolenMetric, "%"}}
		for _, name := range c.subjects {
			shown := units
			if name == ours || name == bare {
				shown = append(slices.Clip(units), own...)
			}
			for _, m := range shown {
				conclude(name, c.name+"_"+m[0]+"_median", all.Median(name, c.name+"_"+m[0]), m[1])
			}
		}
		for _, other := range []string{node, batched, kinesis, benthos, bare, grouped} {
			if _, ok := h.find(other); ok && slices.Contains(c.subjects, other) {
				conclude(ours, c.name+"_"+cpuMetric+"_to_"+other, all.Ratio(c.name+"_"+cpuMetric, ours, other), "x")
				if other == node || other == batched {
					conclude(kinesis, c.name+"_"+cpuMetric+"_to_"+other, all.Ratio(c.name+"_"+cpuMetric, kinesis, other), "x")
				}
			}
		}
	}
	for _, b := range syncBlocks {
		bareSync := all.Median(syncSubject, syncMetric+"_"+b.name)
		conclude(syncSubject, "fdatasync_p50_"+b.name+"_median", all.Median(syncSubject, "fdatasync_p50_"+b.name), "ms")
		conclude(syncSubject, syncMetric+"_"+b.name+"_median", bareSync, "ms")
		conclude(ours, paced+"_p99_bound_"+b.name, 2*bareSync+5, "ms") // the target: twice the sync and 5 ms
	}
}

// targets are what is promised of the service's CPU: at most so many times the bare
// handler's, or so many microseconds.
var targets = []struct {
	scenario string
	times    float64 // 0: the target is absolute
	micros   float64
}{
	{scenario: "single_64", times: 1.1},
	{scenario: "single_1000", times: 1.1},
	{scenario: paced, times: 1.2},
	{scenario: "batch_50", micros: 3},
}

// targetMetric is a measured figure over its target: up to 1 it is held.
const targetMetric = "_over_target"

// judge adds how far each target is held.
func judge(all table.Rounds, conclude adder) {
	for _, t := range targets {
		of, limit := all.Median(ours, t.scenario+"_"+cpuMetric), t.micros
		if t.times > 0 {
			of, limit = all.Ratio(t.scenario+"_"+cpuMetric, ours, bare), t.times
		}
		conclude(ours, t.scenario+"_"+cpuMetric+targetMetric, of/limit, "x")
	}
}
