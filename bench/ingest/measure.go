package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/bench/server"
	"whittle/internal/cputime"
	"whittle/internal/table"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
)

// The subjects, as the rows name them.
const (
	ours    = "ingest"
	kinesis = "ingest-kinesis"
	node    = "node"            // by a call of PutRecord for each event
	batched = "node-putrecords" // by one of PutRecords for all that wait, as ours
	bare    = "net/http"
)

// costs measures every subject in every scenario, in turn, and then follows the
// memory of the service that has been through all of it.
func costs(ctx context.Context, s settings, r *table.Results) (err error) {
	servers, end, err := open(ctx, s)
	defer func() { err = errors.Join(err, end()) }()
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
		if name == node || name == batched {
			r.Conclude(kinesis, cpu+"_to_"+name, all.Ratio(cpu, kinesis, name), "x")
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

// open starts every subject that is asked for and can be found.
func open(ctx context.Context, s settings) (servers map[string]*server.Server, end func() error, err error) {
	servers = map[string]*server.Server{}
	var api *kinesistest.API // nil: there is none here
	end = func() error {
		for _, x := range servers {
			x.Stop()
		}
		if api == nil {
			return nil
		}
		return api.Close()
	}
	start := func(name string, env []string, command ...string) {
		if err == nil && s.needs(name) {
			var x *server.Server
			if x, err = server.Start(ctx, env, command...); err == nil {
				servers[name] = x
			}
		}
	}
	start(ours, nil, s.command("--sink", "embedded", "--data", filepath.Join(s.folder, "log"), "--retain-bytes", "256MiB")...)
	start(bare, nil, server.Self(), bareRole)
	program, missing := exec.LookPath("node")
	if missing == nil && err == nil && (s.needs(kinesis) || s.needs(node) || s.needs(batched)) {
		api, err = kinesistest.Start(ctx, kinesistest.Options{})
		if whittle.CodeOf(err) == whittle.Unsupported {
			missing, err = err, nil
		}
	}
	if missing != nil {
		fmt.Println("node and ingest-kinesis are left out:", missing)
	}
	if api == nil || err != nil {
		return servers, end, err
	}
	env := []string{"AWS_REGION=" + kinesistest.Region, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_ENDPOINT_URL=" + api.URL}
	for _, name := range []string{node, batched, kinesis} {
		if err := api.CreateStream(ctx, name, 4); err != nil {
			return servers, end, err
		}
	}
	for name, call := range map[string]string{node: "PutRecord", batched: "PutRecords"} {
		start(name, append(env, "KINESIS_STREAM="+name, "KINESIS_CALL="+call, "PORT=0", "NODE_ENV=production"), program, "systems/ingest/node/server.js")
	}
	start(kinesis, env, s.command("--sink", "kinesis", "--kinesis-stream", kinesis, "--kinesis-raw", "--dead", "none")...)
	return servers, end, err
}

// command starts the service.
func (s settings) command(flags ...string) []string {
	return append([]string{s.ingest, "serve", "--env-file", "", "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--log-level", "ERROR"}, flags...)
}

// recovery times how soon the service listens on a large log whose writer was killed: the
// log put in order and the window of ids read from it, and once more without the window.
func recovery(ctx context.Context, s settings, r *table.Results) error {
	folder := filepath.Join(s.folder, "large")
	if err := fill(ctx, folder, int64(s.recovery)); err != nil {
		return fmt.Errorf("fill log: %w", err)
	}
	r.Conclude(ours, "recovery_log", float64(s.recovery)/1e9, "GB")
	for metric, flags := range map[string][]string{"recovery": nil, "recovery_no_dedup": {"--dedup-entries", "0"}} {
		var took []float64
		for range 4 { // the first one leaves a log that was not closed
			begun := time.Now()
			x, err := server.Start(ctx, nil, s.command(append([]string{"--sink", "embedded", "--data", folder}, flags...)...)...)
			if err != nil {
				return err
			}
			took = append(took, time.Since(begun).Seconds())
			x.Kill()
		}
		r.Conclude(ours, metric+"_best", slices.Min(took[1:]), "s")
	}
	return nil
}

// fill makes a log of 1 KB events, as the service would.
func fill(ctx context.Context, folder string, size int64) (err error) {
	l, err := embedded.Open(folder, embedded.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	records := make([]stream.Record, 2000)
	for n, written := 0, int64(0); written < size; {
		for i := range records {
			id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
			n++
			records[i] = stream.Record{ID: id, Key: id, Time: time.Now(), Value: []byte(strings.ReplaceAll(eventJSON(0), idTemplate, id))}
			records[i].Seal()
			written += int64(len(records[i].Value))
		}
		for _, r := range l.Append(ctx, records) {
			if r.Err != nil {
				return r.Err
			}
		}
	}
	return nil
}
