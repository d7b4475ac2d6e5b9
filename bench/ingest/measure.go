package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"whittle/bench/server"
	"whittle/internal/cputime"
	"whittle/internal/table"
)

// The subjects, as the rows name them.
const (
	ours = "ingest"
	bare = "net/http"
)

// costs measures every subject in every scenario, in turn, and then follows the
// memory of the service that has been through all of it.
func costs(ctx context.Context, s settings, r *table.Results) error {
	servers, end, err := open(ctx, s)
	defer end()
	if err != nil {
		return err
	}
	all := table.Rounds{}
	for _, c := range scenarios() {
		there := slices.DeleteFunc(slices.Clone(c.subjects), func(name string) bool { return servers[name] == nil || !s.measures(c.name, name) })
		err := table.InTurn(there, s.rounds, func(name string, counted bool) error {
			into, rows := all, r.T
			if !counted {
				into, rows = table.Rounds{}, table.New("warm-up")
			}
			if err := measure(ctx, s, c, name, servers[name], rows, into); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, name, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		fmt.Println(c.name)
		c.conclude(all, there, r)
	}
	if x := servers[ours]; x != nil && s.measures("memory", ours) {
		return memory(ctx, s, x, r)
	}
	return nil
}

// measure runs one scenario against one subject.
func measure(ctx context.Context, s settings, c scenario, name string, x *server.Server, t *table.T, all table.Rounds) error {
	clocks := func() (of [2]time.Duration, err error) {
		var err2 error
		of[0], err = x.CPU()
		of[1], err2 = cputime.Of(os.Getpid())
		return of, errors.Join(err, err2)
	}
	before, err := clocks()
	if err != nil {
		return err
	}
	r, err := c.send(ctx, s, x.Addr, s.duration)
	if err != nil {
		return err
	}
	after, err := clocks()
	if err != nil {
		return err
	}
	events := float64(r.Completed) * float64(c.batch)
	all.Add(t, name, c.name+"_cpu_per_event", table.Micros(after[0]-before[0])/events, "us")
	all.Add(t, name, c.name+"_generator_cpu_per_event", table.Micros(after[1]-before[1])/events, "us")
	all.Add(t, name, c.name+"_events", events/r.Seconds, "1/s")
	all.Add(t, name, c.name+"_p50", table.Millis(r.Latency.Actual.P50), "ms")
	all.Add(t, name, c.name+"_p99", table.Millis(r.Latency.Actual.P99), "ms")
	return nil
}

// conclude adds the medians, the ratios of the CPU, and how far the target is held: up to 1
// it is.
func (c scenario) conclude(all table.Rounds, there []string, r *table.Results) {
	cpu := c.name + "_cpu_per_event"
	for _, name := range there {
		for _, m := range [][2]string{{"cpu_per_event", "us"}, {"generator_cpu_per_event", "us"}, {"events", "1/s"}, {"p50", "ms"}, {"p99", "ms"}} {
			r.Conclude(name, c.name+"_"+m[0]+"_median", all.Median(name, c.name+"_"+m[0]), m[1])
		}
		if name != ours {
			r.Conclude(ours, cpu+"_to_"+name, all.Ratio(cpu, ours, name), "x")
		}
	}
	switch {
	case c.times > 0:
		r.Conclude(ours, cpu+"_over_target", all.Ratio(cpu, ours, bare)/c.times, "x")
	case c.micros > 0:
		r.Conclude(ours, cpu+"_over_target", all.Median(ours, cpu)/c.micros, "x")
	}
}

// memory follows the service's under a thousand connections that send as fast as they can.
func memory(ctx context.Context, s settings, x *server.Server, r *table.Results) error {
	list := scenarios()
	c := list[slices.IndexFunc(list, func(c scenario) bool { return c.name == "single_1000" })]
	ended := make(chan error, 1)
	go func() {
		_, err := c.send(ctx, s, x.Addr, s.steady)
		ended <- err
	}()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	var seen []float64
	for {
		select {
		case <-tick.C:
			if b, ok := x.RSS(); ok {
				seen = append(seen, b)
			}
			continue
		case err := <-ended:
			first, last, ok := table.Quarters(seen)
			if err != nil || !ok {
				return fmt.Errorf("follow memory, %d times: %w", len(seen), err)
			}
			r.Conclude(ours, "rss_most", slices.Max(seen)/(1<<20), "MiB")
			r.Conclude(ours, "rss_last_to_first_quarter", last/first, "x")
			return nil
		}
	}
}

// open starts every subject that is asked for.
func open(ctx context.Context, s settings) (servers map[string]*server.Server, end func(), err error) {
	servers = map[string]*server.Server{}
	end = func() {
		for _, x := range servers {
			x.Stop()
		}
	}
	for name, command := range map[string][]string{
		ours: s.command("--sink", "embedded", "--data", filepath.Join(s.folder, "log"), "--retain-bytes", "256MiB"),
		bare: {server.Self(), bareRole},
	} {
		if !s.needs(name) {
			continue
		}
		x, err := server.Start(ctx, nil, command...)
		if err != nil {
			return servers, end, err
		}
		servers[name] = x
	}
	return servers, end, nil
}

// command starts the service.
func (s settings) command(flags ...string) []string {
	return append([]string{s.ingest, "serve", "--env-file", "", "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--log-level", "ERROR"}, flags...)
}
