package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"time"

	"whittle/bench/server"
	"whittle/bench/table"
)

// The subjects, as the rows name them.
const (
	direct      = "direct"
	ours        = "whittle"
	oursShadow  = "whittle-shadow"
	nginxMirror = "nginx-mirror"
	oursRecord  = "whittle-record"
	cpuMetric   = "cpu_per_request"
	pacedMetric = "paced_p50"
	pacedCPU    = "paced_" + cpuMetric
)

// subject is a proxy under measurement.
type subject struct {
	name string
	*server.Server
}

// conclude adds the median over the rounds of each metric of each subject.
func concludeMedians(r *table.Results, all table.Rounds, subjects []subject, metrics map[string]string) {
	for _, x := range subjects {
		for _, metric := range slices.Sorted(maps.Keys(metrics)) {
			r.Conclude(x.name, metric+"_median", all.Median(x.name, metric), metrics[metric])
		}
	}
}

// front is how clients reach the proxies in one measurement of passThrough.
type front struct {
	// prefix is that of the metrics.
	prefix string
	tls    bool
	// needs is the load's program; program is where it is, empty: it is missing.
	needs, program string
	load           func(ctx context.Context, program, addr string, conns int, d time.Duration) (figures, error)
	// units of the metrics that the load gives.
	units map[string]string
}

func fronts(wrk string) []front {
	h2load, _ := exec.LookPath("h2load") // left out where it is missing
	byScheme := func(scheme string) func(context.Context, string, string, int, time.Duration) (figures, error) {
		return func(ctx context.Context, program, addr string, conns int, d time.Duration) (figures, error) {
			return closedLoad(ctx, program, scheme, addr, conns, d)
		}
	}
	all := map[string]string{cpuMetric: "us", "p50": "us", "p99": "us", "rate": "1/s"}
	return []front{
		{program: wrk, load: byScheme("http"), units: all},
		{prefix: "tls_", tls: true, needs: "wrk", program: wrk, load: byScheme("https"), units: all},
		{prefix: "h2_", tls: true, needs: "nghttp2-client", program: h2load, load: streamLoad, units: map[string]string{cpuMetric: "us", "rate": "1/s"}},
	}
}

// passThrough measures every proxy at full load, in turn: in plain text, over TLS 1.3,
// and over HTTP/2.
func passThrough(ctx context.Context, r *table.Results, s settings, wrk string) error {
	up, err := server.Start(ctx, nil, server.Self(), upstreamRole)
	if err != nil {
		return err
	}
	defer up.Stop()
	for _, f := range fronts(wrk) {
		if f.needs != "" && f.program == "" {
			fmt.Printf("%s* is left out: apt-get install %s\n", f.prefix, f.needs)
			continue
		}
		if err := saturate(ctx, r, s, f, up.Addr); err != nil {
			return err
		}
	}
	return nil
}

func saturate(ctx context.Context, r *table.Results, s settings, f front, upstream string) error {
	subjects, stop, err := proxies(ctx, s, f, upstream)
	defer stop()
	if err != nil {
		return err
	}
	all := table.Rounds{}
	if err := table.InTurn(subjects, s.rounds, func(x subject, counted bool) error {
		return saturateOnce(ctx, r.T, all, s, f, x, counted)
	}); err != nil {
		return err
	}
	units := map[string]string{}
	for metric, unit := range f.units {
		units[f.prefix+metric] = unit
	}
	concludeMedians(r, all, subjects, units)
	for _, x := range subjects {
		for _, metric := range []string{cpuMetric, "p50", "p99"} {
			if f.units[metric] != "" {
				metric = f.prefix + metric
				r.Conclude(x.name, metric+"_to_envoy", all.Ratio(metric, x.name, "envoy"), "x")
				r.Conclude(x.name, metric+"_to_nginx", all.Ratio(metric, x.name, "nginx"), "x")
			}
		}
	}
	return nil
}

// proxies starts whittle and all peers that are installed.
func proxies(ctx context.Context, s settings, f front, upstream string) (subjects []subject, stop func(), err error) {
	stop = func() {
		for _, x := range subjects {
			x.Stop()
		}
	}
	w, err := startWhittle(ctx, s, f.prefix+ours, upstream, setup{tls: f.tls})
	if err != nil {
		return subjects, stop, err
	}
	subjects = append(subjects, subject{ours, w})
	for _, p := range peers {
		proc, err := p.start(ctx, s, upstream, f.tls)
		if err != nil {
			return subjects, stop, err
		}
		if proc != nil {
			subjects = append(subjects, subject{p.name, proc})
		}
	}
	return subjects, stop, nil
}

func saturateOnce(ctx context.Context, t *table.T, all table.Rounds, s settings, f front, x subject, counted bool) error {
	var got figures
	spent, err := x.Spent(func() (err error) {
		got, err = f.load(ctx, f.program, x.Addr, s.conns, s.duration)
		return err
	})
	if err != nil {
		return fmt.Errorf("load %s: %w", x.name, err)
	}
	if !counted {
		return nil
	}
	for metric, value := range map[string]float64{
		cpuMetric: table.Micros(spent) / float64(got.requests), "p50": table.Micros(got.p50), "p99": table.Micros(got.p99), "rate": got.rate,
	} {
		if unit := f.units[metric]; unit != "" {
			all.Add(t, x.name, f.prefix+metric, value, unit)
		}
	}
	return nil
}
