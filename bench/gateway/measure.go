package main

import (
	"context"
	"fmt"
	"maps"
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
	oursRecord  = "whittle-record"
	cpuMetric   = "cpu_per_request"
	pacedMetric = "paced_p50"
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

// passThrough measures every proxy at full load, in turn.
func passThrough(ctx context.Context, r *table.Results, s settings, wrk string) error {
	up, err := server.Start(ctx, nil, server.Self(), upstreamRole)
	if err != nil {
		return err
	}
	defer up.Stop()
	var subjects []subject
	defer func() {
		for _, x := range subjects {
			x.Stop()
		}
	}()
	w, err := startWhittle(ctx, s, ours, up.Addr, setup{})
	if err != nil {
		return err
	}
	subjects = append(subjects, subject{ours, w})
	for _, p := range peers {
		proc, err := p.start(ctx, s, up.Addr)
		if err != nil {
			return err
		}
		if proc != nil {
			subjects = append(subjects, subject{p.name, proc})
		}
	}
	all := table.Rounds{}
	for round := range s.rounds + 1 {
		for _, x := range table.Rotated(subjects, round) {
			before, err := x.CPU()
			if err != nil {
				return err
			}
			f, err := closedLoad(ctx, wrk, x.Addr, s.conns, s.duration)
			if err != nil {
				return fmt.Errorf("load %s: %w", x.name, err)
			}
			after, err := x.CPU()
			if err != nil {
				return err
			}
			if round == 0 {
				continue // a first round to warm up
			}
			all.Add(r.T, x.name, cpuMetric, micros(after-before)/float64(f.requests), "us")
			all.Add(r.T, x.name, "p50", micros(f.p50), "us")
			all.Add(r.T, x.name, "p99", micros(f.p99), "us")
			all.Add(r.T, x.name, "rate", f.rate, "1/s")
		}
	}
	concludeMedians(r, all, subjects, map[string]string{cpuMetric: "us", "p50": "us", "p99": "us", "rate": "1/s"})
	for _, x := range subjects {
		for _, metric := range []string{cpuMetric, "p50", "p99"} {
			r.Conclude(x.name, metric+"_to_envoy", all.Ratio(metric, x.name, "envoy"), "x")
			r.Conclude(x.name, metric+"_to_nginx", all.Ratio(metric, x.name, "nginx"), "x")
		}
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
