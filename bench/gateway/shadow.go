package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"whittle/bench/server"
	"whittle/internal/table"
	"whittle/record/journal"
)

// shadow measures what a user waits when every request is also sent to a
// candidate and compared: one connection, paced well below saturation, in
// turn with the same gateway without it, with no gateway, and with one that
// records every request instead; and the same of nginx, which compares nothing.
func shadow(ctx context.Context, r *table.Results, s settings, _ string) error {
	ctx, end := context.WithCancel(ctx) // with which whatever was started ends
	defer end()
	var sides [3]*server.Server // monolith, our candidate, nginx's
	for i := range sides {
		var err error
		if sides[i], err = server.Start(ctx, nil, server.Self(), upstreamRole); err != nil {
			return err
		}
	}
	monolith, candidate, otherCandidate := sides[0], sides[1], sides[2]
	subjects := []subject{{direct, monolith}}
	log := filepath.Join(s.folder, "recorded")
	for _, w := range []struct {
		subject, name string
		with          setup
	}{{ours, "pass", setup{}}, {oursShadow, "mirror", setup{candidate: candidate.Addr}}, {oursRecord, "record", setup{log: log}}} {
		p, err := startWhittle(ctx, s, w.name, monolith.Addr, w.with)
		if err != nil {
			return err
		}
		subjects = append(subjects, subject{w.subject, p})
	}
	record := subjects[len(subjects)-1]
	for _, peer := range []peer{peers[0], mirroring(peers[0], otherCandidate.Addr)} {
		p, err := peer.start(ctx, s, monolith.Addr, false)
		if err != nil {
			return err
		}
		if p != nil {
			subjects = append(subjects, subject{peer.name, p})
		}
	}
	all, sent := table.Rounds{}, map[string]int{} // requests, those of the warm-up too
	if err := table.InTurn(subjects, s.rounds, func(x subject, counted bool) error {
		n, err := pacedRound(ctx, r, s, all, x, counted)
		sent[x.name] += n
		return err
	}); err != nil {
		return err
	}
	for name, at := range map[string]string{oursShadow: candidate.Addr, nginxMirror: otherCandidate.Addr} {
		if err := mirrored(ctx, at, sent[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	record.Stop() // which writes what waits
	if err := recorded(ctx, log, sent[oursRecord]); err != nil {
		return err
	}
	for _, x := range subjects {
		for _, metric := range []string{pacedMetric, "paced_p99", pacedCPU} {
			all.Conclude(r, x.name, metric, "us")
		}
	}
	nginx := peers[0].name // whose rows are left out where it is missing
	r.Conclude(nginxMirror, pacedCPU+"_to_nginx", all.Ratio(pacedCPU, nginxMirror, nginx), "x")
	r.Conclude(ours, pacedMetric+"_added", all.Difference(pacedMetric, ours, direct), "us")
	r.Conclude(nginx, pacedMetric+"_added", all.Difference(pacedMetric, nginx, direct), "us")
	r.Conclude(ours, pacedCPU+"_to_nginx", all.Ratio(pacedCPU, ours, nginx), "x")
	r.Conclude(oursShadow, pacedMetric+"_added_by_shadow", all.Difference(pacedMetric, oursShadow, ours), "us")
	r.Conclude(oursShadow, pacedCPU+"_to_whittle", all.Ratio(pacedCPU, oursShadow, ours), "x")
	r.Conclude(oursRecord, pacedMetric+"_added_by_recording", all.Difference(pacedMetric, oursRecord, ours), "us")
	r.Conclude(oursRecord, pacedCPU+"_to_whittle", all.Ratio(pacedCPU, oursRecord, ours), "x")
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
	var took []time.Duration
	spent, err := x.Spent(func() (err error) {
		took, err = pacedLoad(ctx, x.Addr, s.rate, s.duration)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("load %s: %w", x.name, err)
	}
	if counted {
		slices.Sort(took)
		all.Add(r.T, x.name, pacedMetric, table.Micros(table.Quantile(took, 0.5)), "us")
		all.Add(r.T, x.name, "paced_p99", table.Micros(table.Quantile(took, 0.99)), "us")
		if x.name != direct {
			all.Add(r.T, x.name, pacedCPU, table.Micros(spent)/float64(len(took)), "us")
		}
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
