package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"whittle/bench/server"
	"whittle/bench/table"
	"whittle/record/journal"
)

// shadow measures what a user waits when every request is also sent to a
// candidate and compared: one connection, paced well below saturation, in
// turn with the same gateway without it, with no gateway, and with one that
// records every request instead.
func shadow(ctx context.Context, t *table.T, conclude adder, s settings) error {
	monolith, err := server.Start(ctx, nil, server.Self(), upstreamRole)
	if err != nil {
		return err
	}
	defer monolith.Stop()
	candidate, err := server.Start(ctx, nil, server.Self(), upstreamRole)
	if err != nil {
		return err
	}
	defer candidate.Stop()
	pass, err := startWhittle(ctx, s, "pass", monolith.Addr, setup{})
	if err != nil {
		return err
	}
	defer pass.Stop()
	mirror, err := startWhittle(ctx, s, "mirror", monolith.Addr, setup{candidate: candidate.Addr})
	if err != nil {
		return err
	}
	defer mirror.Stop()
	log := filepath.Join(s.folder, "recorded")
	record, err := startWhittle(ctx, s, "record", monolith.Addr, setup{log: log})
	if err != nil {
		return err
	}
	defer record.Stop()
	subjects := []subject{{direct, monolith}, {ours, pass}, {oursShadow, mirror}, {oursRecord, record}}
	all := table.Rounds{}
	for round := range s.rounds + 1 {
		for _, x := range subjects {
			if err := pacedRound(ctx, t, s, all, x, round > 0); err != nil {
				return err
			}
		}
	}
	if err := mirrored(ctx, candidate.Addr, len(all[[2]string{oursShadow, pacedMetric}]), s); err != nil {
		return err
	}
	record.Stop() // which writes what waits
	if err := recorded(ctx, log, len(all[[2]string{oursRecord, pacedMetric}]), s); err != nil {
		return err
	}
	concludeMedians(conclude, all, subjects, map[string]string{pacedMetric: "us", "paced_p99": "us", "paced_" + cpuMetric: "us"})
	conclude(ours, pacedMetric+"_added", all.Difference(pacedMetric, ours, direct), "us")
	conclude(oursShadow, pacedMetric+"_added_by_shadow", all.Difference(pacedMetric, oursShadow, ours), "us")
	conclude(oursShadow, "paced_"+cpuMetric+"_to_whittle", all.Ratio("paced_"+cpuMetric, oursShadow, ours), "x")
	conclude(oursRecord, pacedMetric+"_added_by_recording", all.Difference(pacedMetric, oursRecord, ours), "us")
	conclude(oursRecord, "paced_"+cpuMetric+"_to_whittle", all.Ratio("paced_"+cpuMetric, oursRecord, ours), "x")
	return nil
}

// recorded makes sure, as mirrored does, that nearly every request is in the
// log.
func recorded(ctx context.Context, log string, rounds int, s settings) error {
	l, err := journal.List(ctx, log)
	if err != nil {
		return fmt.Errorf("look at what was recorded: %w", err)
	}
	if sent := float64(rounds*s.rate) * s.duration.Seconds(); float64(l.Entries) < 0.95*sent {
		return fmt.Errorf("%d of %.0f requests were recorded: the figures would not be of recording", l.Entries, sent)
	}
	return nil
}

// mirrored makes sure that what was measured is what it is called: nearly every
// request must have reached the candidate.
func mirrored(ctx context.Context, candidate string, rounds int, s settings) error {
	resp, err := get(ctx, "http://"+candidate+servedPath)
	if err != nil {
		return fmt.Errorf("ask candidate: %w", err)
	}
	defer resp.Body.Close()
	var n int
	if _, err := fmt.Fscan(resp.Body, &n); err != nil {
		return fmt.Errorf("ask candidate: %w", err)
	}
	if sent := float64(rounds*s.rate) * s.duration.Seconds(); float64(n) < 0.95*sent {
		return fmt.Errorf("the candidate got %d of %.0f requests: the figures would not be of shadowing", n, sent)
	}
	return nil
}

func pacedRound(ctx context.Context, t *table.T, s settings, all table.Rounds, x subject, counted bool) error {
	before, err := x.CPU()
	if err != nil {
		return err
	}
	took, err := pacedLoad(ctx, x.Addr, s.rate, s.duration)
	if err != nil {
		return fmt.Errorf("load %s: %w", x.name, err)
	}
	after, err := x.CPU()
	if err != nil {
		return err
	}
	if !counted {
		return nil
	}
	n := float64(len(took))
	slices.Sort(took)
	all.Add(t, x.name, pacedMetric, micros(quantile(took, 0.5)), "us")
	all.Add(t, x.name, "paced_p99", micros(quantile(took, 0.99)), "us")
	if x.name != direct {
		all.Add(t, x.name, "paced_"+cpuMetric, micros(after-before)/n, "us")
	}
	return nil
}

// pacedLoad sends one request at each tick of a fixed rate. A response takes a
// small part of a tick, so that no request waits for the one before. Latency is
// from the sending: how late the timer wakes this process says nothing about
// the proxies, and would drown what is looked for.
func pacedLoad(ctx context.Context, addr string, rate int, d time.Duration) ([]time.Duration, error) {
	session, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer session.c.Close()
	tick := time.Second / time.Duration(rate)
	took := make([]time.Duration, 0, int(d/tick)+1)
	next := time.Now()
	for end := next.Add(d); next.Before(end); next = next.Add(tick) {
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		at := time.Now()
		if err := session.ask(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(at))
	}
	return took, nil
}
