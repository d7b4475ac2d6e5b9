package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"whittle/bench/table"
)

// The subjects, as the rows name them.
const (
	direct      = "direct"
	ours        = "whittle"
	oursShadow  = "whittle-shadow"
	cpuMetric   = "cpu_per_request"
	pacedMetric = "paced_p50"
)

// subject is a proxy under measurement.
type subject struct {
	name string
	*process
}

// series keeps a metric's values of all rounds.
type series map[[2]string][]float64

func (s series) add(t *table.T, subject, metric string, value float64, unit string) {
	t.Add(subject, metric, value, unit)
	key := [2]string{subject, metric}
	s[key] = append(s[key], value)
}

// ratio gives the median over the rounds of one subject's value over
// another's in the same round.
func (s series) ratio(metric, subject, base string) float64 {
	a, b := s[[2]string{subject, metric}], s[[2]string{base, metric}]
	return median(zip(a, b, func(x, y float64) float64 { return x / y }))
}

// difference is the same of one subject's value less another's.
func (s series) difference(metric, subject, base string) float64 {
	a, b := s[[2]string{subject, metric}], s[[2]string{base, metric}]
	return median(zip(a, b, func(x, y float64) float64 { return x - y }))
}

func zip(a, b []float64, f func(x, y float64) float64) (c []float64) {
	for i := range min(len(a), len(b)) {
		c = append(c, f(a[i], b[i]))
	}
	return c
}

// conclude adds the median over the rounds of each metric of each subject.
func (s series) conclude(add adder, subjects []subject, metrics map[string]string) {
	for _, x := range subjects {
		for _, metric := range slices.Sorted(maps.Keys(metrics)) {
			add(x.name, metric+"_median", median(s[[2]string{x.name, metric}]), metrics[metric])
		}
	}
}

// adder takes a row of the conclusion: both for people and for machines.
type adder func(subject, metric string, value float64, unit string)

// median of none is not a number, which the table leaves out.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// passThrough measures every proxy at full load, in turn.
func passThrough(ctx context.Context, t *table.T, conclude adder, s settings, wrk string) error {
	up, err := start(ctx, self(), upstreamRole)
	if err != nil {
		return err
	}
	defer up.stop()
	var subjects []subject
	defer func() {
		for _, x := range subjects {
			x.stop()
		}
	}()
	w, err := startWhittle(ctx, s, ours, up.addr, "")
	if err != nil {
		return err
	}
	subjects = append(subjects, subject{ours, w})
	for _, p := range peers {
		proc, err := p.start(ctx, s, up.addr)
		if err != nil {
			return err
		}
		if proc != nil {
			subjects = append(subjects, subject{p.name, proc})
		}
	}
	all := series{}
	for round := range s.rounds + 1 {
		for _, x := range subjects {
			before, err := x.cpu()
			if err != nil {
				return err
			}
			f, err := closedLoad(ctx, wrk, x.addr, s.conns, s.duration)
			if err != nil {
				return fmt.Errorf("load %s: %w", x.name, err)
			}
			after, err := x.cpu()
			if err != nil {
				return err
			}
			if round == 0 {
				continue // a first round to warm up
			}
			all.add(t, x.name, cpuMetric, micros(after-before)/float64(f.requests), "us")
			all.add(t, x.name, "p50", micros(f.p50), "us")
			all.add(t, x.name, "p99", micros(f.p99), "us")
			all.add(t, x.name, "rate", f.rate, "1/s")
		}
	}
	all.conclude(conclude, subjects, map[string]string{cpuMetric: "us", "p50": "us", "p99": "us", "rate": "1/s"})
	for _, x := range subjects {
		for _, metric := range []string{cpuMetric, "p50", "p99"} {
			conclude(x.name, metric+"_to_envoy", all.ratio(metric, x.name, "envoy"), "x")
		}
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
