package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"whittle/bench/server"
	"whittle/internal/table"
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

// front is how clients reach the proxies in one measurement of passThrough.
type front struct {
	// prefix is that of the metrics.
	prefix string
	tls    bool
	load   func(ctx context.Context, addr string, conns int, d time.Duration) (figures, error)
	// metrics that the load gives.
	metrics []string
}

var units = map[string]string{cpuMetric: "us", "p50": "us", "p99": "us", "rate": "1/s"}

func fronts(wrk, h2load string) []front {
	by := func(scheme string) func(context.Context, string, int, time.Duration) (figures, error) {
		return func(ctx context.Context, addr string, conns int, d time.Duration) (figures, error) {
			return runWrk(ctx, wrk, scheme+addr+path, conns, d)
		}
	}
	all := []string{cpuMetric, "p50", "p99", "rate"}
	list := []front{{load: by("http://"), metrics: all}, {prefix: "tls_", tls: true, load: by("https://"), metrics: all}}
	if h2load == "" {
		fmt.Println("h2_* is left out: apt-get install nghttp2-client")
		return list
	}
	return append(list, front{prefix: "h2_", tls: true, load: func(ctx context.Context, addr string, conns int, d time.Duration) (figures, error) {
		return streamLoad(ctx, h2load, addr, conns, d)
	}, metrics: []string{cpuMetric, "rate"}})
}

// passThrough measures every proxy at full load, in turn: in plain text, over TLS 1.3,
// and over HTTP/2.
func passThrough(ctx context.Context, r *table.Results, s settings, wrk string) error {
	up, err := server.Start(ctx, nil, server.Self(), upstreamRole)
	if err != nil {
		return err
	}
	defer up.Stop()
	h2load, _ := exec.LookPath("h2load") // left out where it is missing
	for _, f := range fronts(wrk, h2load) {
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
	for _, x := range subjects {
		for _, metric := range f.metrics {
			bases := []string{"envoy", "nginx"}
			if metric == "rate" {
				bases = nil
			}
			all.Conclude(r, x.name, f.prefix+metric, units[metric], bases...)
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
		got, err = f.load(ctx, x.Addr, s.conns, s.duration)
		return err
	})
	if err != nil {
		return fmt.Errorf("load %s: %w", x.name, err)
	}
	if !counted {
		return nil
	}
	values := map[string]float64{
		cpuMetric: table.Micros(spent) / float64(got.requests), "p50": table.Micros(got.p50), "p99": table.Micros(got.p99), "rate": got.rate,
	}
	for _, metric := range f.metrics {
		all.Add(t, x.name, f.prefix+metric, values[metric], units[metric])
	}
	return nil
}
