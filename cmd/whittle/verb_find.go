package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/config"
	"whittle/latency"
	"whittle/load"
	"whittle/load/plan"
	loaded "whittle/load/report"
	"whittle/profile"
	"whittle/profile/collect"
	"whittle/profile/report"
	"whittle/profile/smell"
)

type findVerb struct {
	Processes []string `arg:"" optional:"" name:"target" placeholder:"TARGET" help:"The monolith, or its processes: Node process ids or inspector URLs, or Go services' pprof URLs. With a config, the processes that listen at its monolith's port."`

	Config    string   `group:"What is measured" short:"c" placeholder:"FILE" help:"A whittle.yaml: its monolith is measured, on this machine."`
	Endpoints []string `group:"What is measured" name:"endpoint" sep:"none" placeholder:"ENDPOINT" help:"Load this endpoint, \"METHOD /path\" or \"METHOD /path JSON\", and others that are given, all alike. They are really called."`
	Rate      float64  `group:"What is measured" default:"20" placeholder:"N" help:"Requests a second, over all of --endpoint (${default})."`
	measuring
	JSON string `name:"json" placeholder:"FILE" help:"Write the ranking as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (findVerb) Help() string {
	return `Watches the monolith under its own traffic, or loads it by a plan or a list of endpoints, and ranks its endpoints by what they cost: their part of the CPU, how long they keep their users waiting, how long they block the event loop for everyone.

Examples:
  whittle find -c whittle.yaml --duration 30s
  whittle find $(pgrep -f server.js) --duration 30s
  whittle find $(pgrep -f server.js) --during plan.yml --target http://127.0.0.1:3000
  whittle find -c whittle.yaml --endpoint 'POST /Count {"times": 1000000}' --endpoint 'GET /'`
}

// ranking is what find says.
type ranking struct {
	Format    string      `json:"format"`
	Service   string      `json:"service"`
	Advice    string      `json:"advice"`
	Endpoints []candidate `json:"endpoints"`
	// Blocked says which calls kept the event loop, by their place in the code.
	Blocked  []string      `json:"event_loop_blocked,omitempty"`
	Smells   []smell.Smell `json:"smells"`
	Warnings []string      `json:"warnings,omitempty"`
}

// candidate is an endpoint that may be carved.
type candidate struct {
	Endpoint      string  `json:"endpoint"`
	Share         float64 `json:"cpu_share"`
	CPUPerRequest float64 `json:"cpu_ms_per_request"`
	Requests      int64   `json:"requests"`
	P50           float64 `json:"p50_ms,omitempty"`
	P99           float64 `json:"p99_ms,omitempty"`
	// Blocking is the share of the time in which it kept an event loop for
	// profile.BlockedFor or more, and Longest the longest such stretch.
	Blocking float64 `json:"event_loop_blocked_share,omitempty"`
	Longest  float64 `json:"event_loop_blocked_ms,omitempty"`

	cpu time.Duration
}

// Run measures and ranks.
func (v *findVerb) Run(ctx context.Context, s streams) error {
	screen := newScreen(s)
	if v.JSON == "-" {
		screen.w, screen.tty = s.err, false
	}
	targets, monolith, err := v.targets(ctx)
	if err != nil {
		return err
	}
	if v.Target == "" {
		v.Target = monolith
	}
	under, err := v.plan()
	if err != nil {
		return err
	}
	all, err := v.measureAll(ctx, targets, []profile.Kind{profile.CPU}, under, screen)
	if err != nil {
		return err
	}
	screen.clear()
	r := rank(all)
	if v.JSON != "" {
		if err := writeJSON(s, v.JSON, r); err != nil {
			return err
		}
	}
	if v.JSON != "-" {
		r.print(s)
	}
	if len(r.Endpoints) == 0 {
		return whittle.Errorf(whittle.FailedPrecondition, "find: no endpoint was seen at work").
			WithHint("put load on the monolith: --during PLAN, or --endpoint 'GET /path', with --target URL")
	}
	return nil
}

// targets gives what is profiled, and the monolith's URL where it is known.
func (v *findVerb) targets(ctx context.Context) (targets []string, monolith string, err error) {
	if v.Config != "" {
		f, err := config.Load(v.Config)
		if err != nil {
			return nil, "", err
		}
		monolith = strings.Replace(f.Monolith.URL, "h2c://", "http://", 1)
	}
	switch {
	case len(v.Processes) > maxTargets:
		return nil, "", whittle.Errorf(whittle.Invalid, "find: %d targets, at most %d are measured at once", len(v.Processes), maxTargets)
	case len(v.Processes) > 0:
		slices.Sort(v.Processes)
		return slices.Compact(v.Processes), monolith, nil
	case monolith == "":
		return nil, "", whittle.Errorf(whittle.Invalid, "find: what is to be measured?").
			WithHint("give a process id, a URL, or -c whittle.yaml: see whittle find --help")
	}
	targets, err = collect.Locate(ctx, monolith)
	return targets, monolith, err
}

// Bounds of one call of find.
const (
	maxTargets   = 64
	maxEndpoints = 100
)

// plan is the load, or nil to watch what is live.
func (v *findVerb) plan() (*plan.Plan, error) {
	switch {
	case v.During != "" && len(v.Endpoints) > 0:
		return nil, whittle.Errorf(whittle.Invalid, "find: either --during or --endpoint says what the load is")
	case v.During != "":
		return load.ReadPlan(v.During)
	case len(v.Endpoints) == 0:
		return nil, nil
	case v.Target == "":
		return nil, whittle.Errorf(whittle.Invalid, "find: where do the requests go?").WithHint("give --target URL, or -c whittle.yaml")
	case len(v.Endpoints) > maxEndpoints || !(v.Rate > 0):
		return nil, whittle.Errorf(whittle.Invalid, "find: 1 to %d endpoints at a --rate above 0", maxEndpoints)
	}
	return endpointPlan(v.Target, v.Endpoints, v.Rate, v.Duration)
}

// endpointPlan asks for some endpoints alike, as an Artillery plan would.
func endpointPlan(target string, endpoints []string, rate float64, length time.Duration) (*plan.Plan, error) {
	var scenarios []any
	for _, e := range endpoints {
		method, rest, ok := strings.Cut(strings.TrimSpace(e), " ")
		path, body, _ := strings.Cut(strings.TrimSpace(rest), " ")
		method = strings.ToLower(method)
		if !ok || !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) || !strings.HasPrefix(path, "/") {
			return nil, whittle.Errorf(whittle.Invalid, "find: %q is no endpoint: write \"GET /path\", or \"POST /path JSON\"", e)
		}
		request := map[string]any{"url": path, "name": strings.ToUpper(method) + " " + path}
		if body = strings.TrimSpace(body); body != "" {
			if !json.Valid([]byte(body)) {
				return nil, whittle.Errorf(whittle.Invalid, "find: %s %s: %q is not JSON", method, path, body)
			}
			request["body"], request["headers"] = body, map[string]string{"content-type": "application/json"}
		}
		scenarios = append(scenarios, map[string]any{"flow": []any{map[string]any{method: request}}})
	}
	text, err := json.Marshal(map[string]any{
		"config": map[string]any{"target": target, "phases": []any{map[string]any{
			"duration": strconv.FormatFloat(length.Seconds(), 'f', -1, 64) + "s", "arrivalRate": rate,
		}}},
		"scenarios": scenarios,
	})
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "find: %w", err)
	}
	return load.Parse("--endpoint", text, plan.Source{})
}

// rank orders the endpoints by their part of the CPU, over all that was
// measured.
func rank(all []*measured) *ranking {
	out := &ranking{Format: "whittle.find/1", Smells: []smell.Smell{}, Endpoints: []candidate{}}
	rows := map[string]*candidate{}
	var total, lasted time.Duration
	for _, m := range all {
		r := m.report()
		if out.Service == "" {
			out.Service = r.Service
		}
		out.Smells = append(out.Smells, r.Smells...)
		for _, w := range r.Warnings {
			if !slices.Contains(out.Warnings, w) {
				out.Warnings = append(out.Warnings, w)
			}
		}
		p := m.taken[0].Profile
		total += time.Duration(p.Total())
		lasted = max(lasted, p.Duration)
		for _, e := range p.ByEndpoint() {
			if e.Endpoint == "" {
				continue
			}
			c := rows[e.Endpoint]
			if c == nil {
				c = &candidate{Endpoint: e.Endpoint}
				rows[e.Endpoint] = c
			}
			c.cpu += time.Duration(e.Value)
			if m.together {
				c.Requests = max(c.Requests, e.Requests)
			} else {
				c.Requests += e.Requests
			}
		}
		for _, b := range p.Blocked() {
			if c := rows[b.Endpoint]; c != nil {
				c.Blocking += b.Sum.Seconds()
				c.Longest = max(c.Longest, latency.Milliseconds(b.Longest))
			}
		}
	}
	for _, c := range rows {
		if c.cpu == 0 {
			continue
		}
		c.Share = float64(c.cpu) / float64(max(total, 1))
		c.Blocking /= max(lasted.Seconds(), 1e-9)
		if c.Requests > 0 {
			c.CPUPerRequest = latency.Milliseconds(c.cpu) / float64(c.Requests)
		}
		c.latencies(all[0].load)
		out.Endpoints = append(out.Endpoints, *c)
	}
	slices.SortFunc(out.Endpoints, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	for _, s := range out.Smells {
		if s.Name == "event-loop-blocked" {
			out.Blocked = append(out.Blocked, s.Where()+": "+s.Evidence)
		}
	}
	if len(out.Endpoints) > 0 {
		out.Advice = fmt.Sprintf("Carve %s first: %.0f %% of CPU.", out.Endpoints[0].Endpoint, 100*out.Endpoints[0].Share)
	}
	return out
}

// latencies takes what the load's users felt; of several of its names that are
// one endpoint, the slowest.
func (c *candidate) latencies(l *loaded.Report) {
	if l == nil {
		return
	}
	for _, n := range l.Names {
		if profile.SameEndpoint(c.Endpoint, n.Name) {
			c.P50 = max(c.P50, latency.Milliseconds(n.Intended.P50))
			c.P99 = max(c.P99, latency.Milliseconds(n.Intended.P99))
		}
	}
}

func (r *ranking) print(s streams) {
	var rows [][]string
	for _, e := range r.Endpoints {
		blocked := "–"
		if e.Longest > 0 {
			blocked = fmt.Sprintf("%.0f %% of the time, up to %s", 100*e.Blocking, took(e.Longest))
		}
		rows = append(rows, []string{
			e.Endpoint, fmt.Sprintf("%.1f %%", 100*e.Share), took(e.CPUPerRequest), strconv.FormatInt(e.Requests, 10), took(e.P50), took(e.P99), blocked,
		})
	}
	if len(rows) > 0 {
		fmt.Fprintf(s.out, "\n%s\n\n", r.Advice)
		report.WriteTable(s.out, []string{"endpoint", "CPU", "CPU a request", "requests", "p50", "p99", "event loop blocked"}, rows)
	}
	for _, b := range r.Blocked {
		fmt.Fprintf(s.out, "\n  %s\n", b)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(s.out, "\nnote: %s\n", w)
	}
}

func took(ms float64) string {
	if ms == 0 {
		return "–"
	}
	return time.Duration(ms * float64(time.Millisecond)).Round(10 * time.Microsecond).String()
}
