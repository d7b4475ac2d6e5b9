package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"whittle"
	"whittle/latency"
	loaded "whittle/load/report"
	"whittle/profile"
	"whittle/profile/report"
	"whittle/profile/smell"
)

type findVerb struct {
	Process string `arg:"" name:"target" placeholder:"TARGET" help:"The monolith: a Node process's id or inspector URL, or a Go service's pprof URL."`

	measuring
	JSON string `name:"json" placeholder:"FILE" help:"Write the ranking as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (findVerb) Help() string {
	return `Watches the monolith under its own traffic, or under a plan's, and ranks its endpoints by what they cost: their part of the CPU, how long they keep others waiting, how often they block the event loop.

Examples:
  whittle find $(pgrep -f server.js) --duration 30s
  whittle find $(pgrep -f server.js) --during plan.yml --target http://127.0.0.1:3000`
}

// ranking is what find says.
type ranking struct {
	Format    string      `json:"format"`
	Service   string      `json:"service"`
	Advice    string      `json:"advice"`
	Endpoints []candidate `json:"endpoints"`
	// Blocked says which calls kept the event loop, by their place in the code.
	Blocked []string      `json:"event_loop_blocked,omitempty"`
	Smells  []smell.Smell `json:"smells"`
}

// candidate is an endpoint that may be carved.
type candidate struct {
	Endpoint      string  `json:"endpoint"`
	Share         float64 `json:"cpu_share"`
	CPUPerRequest float64 `json:"cpu_ms_per_request"`
	Requests      int64   `json:"requests"`
	P50           float64 `json:"p50_ms,omitempty"`
	P99           float64 `json:"p99_ms,omitempty"`
}

// Run measures and ranks.
func (v *findVerb) Run(ctx context.Context, s streams) error {
	screen := newScreen(s)
	if v.JSON == "-" {
		screen.w, screen.tty = s.err, false
	}
	m, err := v.measure(ctx, v.Process, []profile.Kind{profile.CPU}, screen)
	if err != nil {
		return err
	}
	screen.clear()
	r := rank(m.report(), m.load)
	if v.JSON != "" {
		if err := writeJSON(s, v.JSON, r); err != nil {
			return err
		}
	}
	if v.JSON == "-" {
		return nil
	}
	fmt.Fprintf(s.out, "\n%s\n\n  %-32s %8s %14s %10s %10s %10s\n", r.Advice, "endpoint", "CPU", "CPU a request", "requests", "p50", "p99")
	for _, e := range r.Endpoints {
		fmt.Fprintf(s.out, "  %-32s %7.1f%% %11.3f ms %10d %10s %10s\n", e.Endpoint, 100*e.Share, e.CPUPerRequest, e.Requests, took(e.P50), took(e.P99))
	}
	for _, b := range r.Blocked {
		fmt.Fprintf(s.out, "\n  %s\n", b)
	}
	if len(r.Endpoints) == 0 {
		return whittle.Errorf(whittle.FailedPrecondition, "find: no endpoint was seen at work").
			WithHint("put load on the monolith: --during PLAN --target URL")
	}
	return nil
}

func took(ms float64) string {
	if ms == 0 {
		return "–"
	}
	return time.Duration(ms * float64(time.Millisecond)).Round(10 * time.Microsecond).String()
}

// rank orders the endpoints by their part of the CPU.
func rank(r *report.Report, l *loaded.Report) ranking {
	out := ranking{Format: "whittle.find/1", Service: r.Service, Smells: r.Smells, Endpoints: []candidate{}}
	for _, e := range r.Endpoints {
		if e.Name == "" || e.Share == 0 {
			continue
		}
		c := candidate{Endpoint: e.Name, Share: e.Share, CPUPerRequest: e.CPUPerRequest, Requests: e.Requests}
		if l != nil {
			for _, n := range l.Names {
				if n.Name == e.Name {
					c.P50, c.P99 = latency.Milliseconds(n.Intended.P50), latency.Milliseconds(n.Intended.P99)
				}
			}
		}
		out.Endpoints = append(out.Endpoints, c)
	}
	slices.SortStableFunc(out.Endpoints, func(a, b candidate) int { return cmp.Compare(b.Share, a.Share) })
	for _, s := range r.Smells {
		if s.Name == "event-loop-blocked" {
			out.Blocked = append(out.Blocked, s.Where()+": "+s.Evidence)
		}
	}
	if len(out.Endpoints) == 0 {
		return out
	}
	top := &out.Endpoints[0]
	out.Advice = fmt.Sprintf("Carve %s first: %.0f %% of the CPU.", top.Endpoint, 100*top.Share)
	return out
}
