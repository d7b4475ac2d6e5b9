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
// records every request instead; and the same of nginx, which compares nothing.
func shadow(ctx context.Context, r *table.Results, s settings, _ string) error {
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
	otherCandidate, err := server.Start(ctx, nil, server.Self(), upstreamRole)
	if err != nil {
		return err
	}
	defer otherCandidate.Stop()
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
	other, err := peers[0].start(ctx, s, monolith.Addr, false)
	if err != nil {
		return err
	}
	if other != nil {
		defer other.Stop()
		subjects = append(subjects, subject{peers[0].name, other})
	}
	otherMirror, err := mirroring(peers[0], otherCandidate.Addr).start(ctx, s, monolith.Addr, false)
	if err != nil {
		return err
	}
	if otherMirror != nil {
		defer otherMirror.Stop()
		subjects = append(subjects, subject{nginxMirror, otherMirror})
	}
	all, sent := table.Rounds{}, map[string]int{} // requests, those of the warm-up too
	for round := range s.rounds + 1 {
		for _, x := range table.Rotated(subjects, round) {
			n, err := pacedRound(ctx, r, s, all, x, round > 0)
			if err != nil {
				return err
			}
			sent[x.name] += n
		}
	}
	if err := mirrored(ctx, candidate.Addr, sent[oursShadow]); err != nil {
		return err
	}
	if otherMirror != nil {
		if err := mirrored(ctx, otherCandidate.Addr, sent[nginxMirror]); err != nil {
			return fmt.Errorf("%s: %w", nginxMirror, err)
		}
		r.Conclude(nginxMirror, "paced_"+cpuMetric+"_to_nginx", all.Ratio("paced_"+cpuMetric, nginxMirror, peers[0].name), "x")
	}
	record.Stop() // which writes what waits
	if err := recorded(ctx, log, sent[oursRecord]); err != nil {
		return err
	}
	concludeMedians(r, all, subjects, map[string]string{pacedMetric: "us", "paced_p99": "us", "paced_" + cpuMetric: "us"})
	r.Conclude(ours, pacedMetric+"_added", all.Difference(pacedMetric, ours, direct), "us")
	if other != nil {
		r.Conclude(peers[0].name, pacedMetric+"_added", all.Difference(pacedMetric, peers[0].name, direct), "us")
		r.Conclude(ours, "paced_"+cpuMetric+"_to_nginx", all.Ratio("paced_"+cpuMetric, ours, peers[0].name), "x")
	}
	r.Conclude(oursShadow, pacedMetric+"_added_by_shadow", all.Difference(pacedMetric, oursShadow, ours), "us")
	r.Conclude(oursShadow, "paced_"+cpuMetric+"_to_whittle", all.Ratio("paced_"+cpuMetric, oursShadow, ours), "x")
	r.Conclude(oursRecord, pacedMetric+"_added_by_recording", all.Difference(pacedMetric, oursRecord, ours), "us")
	r.Conclude(oursRecord, "paced_"+cpuMetric+"_to_whittle", all.Ratio("paced_"+cpuMetric, oursRecord, ours), "x")
	return nil
}

// missed is the share of requests that may be shed without making the figures those
// of something else.
const missed = 0.01

// enough reports whether n of all requests that were sent are nearly all of them. Both
// counts include the warm-up: held against the measured rounds alone, its requests
// would make up for a fifth of theirs.
func enough(n, sent int) bool { return float64(n) >= (1-missed)*float64(sent) }

// recorded makes sure, as mirrored does, that nearly every request is in the
// log.
func recorded(ctx context.Context, log string, sent int) error {
	l, err := journal.List(ctx, log)
	if err != nil {
		return fmt.Errorf("look at what was recorded: %w", err)
	}
	if !enough(int(l.Entries), sent) {
		return fmt.Errorf("%d of %d requests were recorded: the figures would not be of recording", l.Entries, sent)
	}
	return nil
}

// mirrored makes sure that what was measured is what it is called: nearly every
// request must have reached the candidate. The last ones may still be on their way.
func mirrored(ctx context.Context, candidate string, sent int) error {
	n, last := 0, time.Now().Add(10*time.Second)
	for ; !enough(n, sent) && time.Now().Before(last); time.Sleep(50 * time.Millisecond) {
		var err error
		if n, err = servedBy(ctx, candidate); err != nil {
			return err
		}
	}
	if !enough(n, sent) {
		return fmt.Errorf("the candidate got %d of %d requests: the figures would not be of shadowing", n, sent)
	}
	return nil
}

// servedBy asks a server of ours how many requests it has had.
func servedBy(ctx context.Context, addr string) (n int, err error) {
	resp, err := get(ctx, "http://"+addr+servedPath)
	if err != nil {
		return 0, fmt.Errorf("ask candidate: %w", err)
	}
	defer resp.Body.Close()
	if _, err := fmt.Fscan(resp.Body, &n); err != nil {
		return 0, fmt.Errorf("ask candidate: %w", err)
	}
	return n, nil
}

// pacedRound measures a subject once, and returns how many requests it was sent.
func pacedRound(ctx context.Context, r *table.Results, s settings, all table.Rounds, x subject, counted bool) (int, error) {
	before, err := x.CPU()
	if err != nil {
		return 0, err
	}
	took, err := pacedLoad(ctx, x.Addr, s.rate, s.duration)
	if err != nil {
		return 0, fmt.Errorf("load %s: %w", x.name, err)
	}
	after, err := x.CPU()
	if err != nil || !counted {
		return len(took), err
	}
	slices.Sort(took)
	all.Add(r.T, x.name, pacedMetric, micros(quantile(took, 0.5)), "us")
	all.Add(r.T, x.name, "paced_p99", micros(quantile(took, 0.99)), "us")
	if x.name != direct {
		all.Add(r.T, x.name, "paced_"+cpuMetric, micros(after-before)/float64(len(took)), "us")
	}
	return len(took), nil
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
