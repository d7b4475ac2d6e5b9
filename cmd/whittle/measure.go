package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"whittle"
	"whittle/load"
	"whittle/load/plan"
	loaded "whittle/load/report"
	"whittle/profile"
	"whittle/profile/collect"
	"whittle/profile/report"
)

// windowOf is how long one of the profiles is of which a Go service's is made
// while a plan runs: a profile that breaks off is lost, and the windows' times
// are what lays it beside the plan's phases.
const windowOf = 5 * time.Second

// measured is what a measurement gave.
type measured struct {
	taken []*collect.Taken
	plan  *plan.Plan     // nil: what was live was profiled
	load  *loaded.Report // of the plan
}

// measure profiles a running process: while a plan loads it, or as it is.
func (m *measuring) measure(ctx context.Context, target string, kinds []profile.Kind, screen *screen) (_ *measured, err error) {
	source, err := collect.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close(ctx)) }()
	if len(kinds) == 0 {
		kinds = collect.Defaults(source)
	}
	for _, k := range kinds {
		if !slices.Contains(source.Kinds(), k) {
			return nil, whittle.Errorf(whittle.Invalid, "profile %s: it has no kind %q", target, k).
				WithHint("a Go service has cpu, allocations, heap, mutex, block and goroutines; Node has cpu, allocations and heap")
		}
	}
	if m.During != "" {
		return m.underLoad(ctx, source, target, kinds, screen)
	}
	return m.live(ctx, source, target, kinds, screen)
}

// page is the metrics page that requests are counted by. "": there is none.
func (m *measuring) page(ctx context.Context, target string) (page string, counts map[string]int64, err error) {
	if page = m.Metrics; page == "" {
		page = collect.MetricsOf(target)
	}
	if page == "" {
		return "", nil, nil
	}
	counts, err = collect.Requests(ctx, page)
	if err != nil && m.Metrics == "" { // it was only a guess
		return "", nil, nil
	}
	return page, counts, err
}

// live profiles what is.
func (m *measuring) live(ctx context.Context, source collect.Source, target string, kinds []profile.Kind, screen *screen) (*measured, error) {
	page, before, err := m.page(ctx, target)
	if err != nil {
		return nil, err
	}
	screen.progress("profiling %s for %s", target, m.Duration)
	taken, err := collect.All(ctx, source, kinds, m.Duration)
	if err != nil {
		return nil, err
	}
	if page == "" {
		return &measured{taken: taken}, nil
	}
	after, err := collect.Requests(ctx, page)
	if err != nil {
		return nil, err
	}
	between := map[string]int64{}
	for e, n := range after {
		if d := n - before[e]; d > 0 {
			between[e] = d
		}
	}
	for _, t := range taken {
		t.Requests = between
	}
	return &measured{taken: taken}, nil
}

// underLoad runs the plan and profiles meanwhile.
func (m *measuring) underLoad(ctx context.Context, source collect.Source, target string, kinds []profile.Kind, screen *screen) (*measured, error) {
	plan, err := load.ReadPlan(m.During)
	if err != nil {
		return nil, err
	}
	o := load.Options{Target: m.Target, OnProgress: func(p loaded.Progress) { screen.progress("%s", p) }}
	if pid, err := strconv.Atoi(target); err == nil {
		o.Watch = []load.Process{{Name: "process " + target, PID: pid}}
	} else if page, _, err := m.page(ctx, target); err == nil && page != "" {
		o.WatchURLs = []string{page}
	}
	out := &measured{plan: plan}
	g, ctx := errgroup.WithContext(ctx)
	ended, end := context.WithCancel(ctx)
	g.Go(func() (err error) {
		defer end()
		out.load, err = load.Run(ctx, plan, o)
		return err
	})
	g.Go(func() (err error) {
		out.taken, err = m.during(ended, source, plan, kinds)
		if ended.Err() == nil || len(out.taken) == 0 {
			return err
		}
		return nil // the load ended in the middle of a window
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, t := range out.taken {
		from := t.Began.Sub(out.load.Started)
		t.Requests = requestsBetween(out.load, from, from+t.Duration)
	}
	return out, nil
}

// during profiles until the load ends.
func (m *measuring) during(ended context.Context, source collect.Source, plan *plan.Plan, kinds []profile.Kind) ([]*collect.Taken, error) {
	var whole time.Duration
	for _, p := range plan.Phases {
		whole += p.Duration
	}
	if whole == 0 {
		whole = m.Duration // a closed plan's length is not known beforehand
	}
	if !slices.Contains(source.Kinds(), profile.Mutex) { // Node: ends with the load
		return collect.All(ended, source, kinds, whole)
	}
	g, ctx := errgroup.WithContext(context.WithoutCancel(ended))
	rest := slices.DeleteFunc(slices.Clone(kinds), func(k profile.Kind) bool { return k == profile.CPU })
	var others []*collect.Taken
	if len(rest) > 0 {
		g.Go(func() (err error) {
			others, err = collect.All(ctx, source, rest, max(whole-time.Second, time.Second))
			return err
		})
	}
	var windows []*profile.Profile
	var last *collect.Taken
	over := func() bool { return ended.Err() != nil }
	if slices.Contains(kinds, profile.CPU) {
		g.Go(func() error {
			for _, d := range windowsOf(plan, whole) {
				if over() {
					break
				}
				t, err := source.Take(ctx, profile.CPU, d)
				if err != nil {
					return err
				}
				windows, last = append(windows, t.Profile), t
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if len(windows) == 0 {
		return others, nil
	}
	merged := &collect.Taken{Profile: profile.Merge(windows), Raw: last.Raw, Ext: last.Ext}
	return append([]*collect.Taken{merged}, others...), nil
}

// windowsOf cuts a plan's time into windows of whole seconds that keep within
// its phases.
func windowsOf(plan *plan.Plan, whole time.Duration) []time.Duration {
	phases := []time.Duration{whole}
	if len(plan.Phases) > 0 {
		phases = nil
		for _, p := range plan.Phases {
			phases = append(phases, p.Duration)
		}
	}
	var out []time.Duration
	for _, left := range phases {
		left = left.Truncate(time.Second)
		for left > 0 {
			d := min(left, windowOf)
			out = append(out, d)
			left -= d
		}
	}
	if len(out) == 0 {
		out = []time.Duration{time.Second}
	}
	return out
}

// requestsBetween gives the answered requests in a part of a run, by name: each
// point of the series counts by how much of it lies within, and the names share
// them as they share the whole run's.
func requestsBetween(r *loaded.Report, from, to time.Duration) map[string]int64 {
	var within float64
	for _, p := range r.Series {
		low, high := max(p.At, from.Seconds()), min(p.At+p.Width, to.Seconds())
		if high > low && p.Width > 0 {
			within += float64(p.Completed) * (high - low) / p.Width
		}
	}
	if r.Completed == 0 || within == 0 {
		return nil
	}
	out := map[string]int64{}
	for _, n := range r.Names {
		out[n.Name] = int64(within*float64(n.Completed)/float64(r.Completed) + 0.5)
	}
	return out
}

// report looks at what was taken, phase by phase where a plan had some.
func (m *measured) report() *report.Report {
	var all []*profile.Profile
	for _, t := range m.taken {
		all = append(all, t.Profile)
	}
	r := report.New(all)
	if m.plan == nil {
		return r
	}
	var at time.Duration
	for i, p := range m.plan.Phases {
		from := m.load.Started.Add(at).Sub(r.Started)
		var n int64
		for _, count := range requestsBetween(m.load, at, at+p.Duration) {
			n += count
		}
		name := p.Name
		if name == "" {
			name = "phase " + strconv.Itoa(i+1)
		}
		r.AddPhase(name, max(from, 0), from+p.Duration, n)
		at += p.Duration
	}
	if m.load.Void != "" {
		r.Warnings = append(r.Warnings, "the load generator was late: "+m.load.Void)
	}
	return r
}

// sidecar is what a profile's file does not hold, kept beside it.
type sidecar struct {
	Format   string           `json:"format"`
	Service  string           `json:"service"`
	Requests map[string]int64 `json:"requests"`
}

const sidecarFormat = "whittle.profile-requests/1"

// save keeps the profiles' files, each with the requests that it knows.
func (m *measured) save(folder string) error {
	if folder == "" {
		return nil
	}
	fail := func(err error) error { return whittle.Errorf(whittle.Unavailable, "save profile: %w", err) }
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fail(err)
	}
	for _, t := range m.taken {
		path := filepath.Join(folder, string(t.Kind)+t.Ext)
		if err := os.WriteFile(path, t.Raw, 0o644); err != nil {
			return fail(err)
		}
		b, err := json.MarshalIndent(sidecar{sidecarFormat, t.Service, t.Requests}, "", "  ")
		if err != nil {
			return fail(err)
		}
		if err := os.WriteFile(path+".json", append(b, '\n'), 0o644); err != nil {
			return fail(err)
		}
	}
	return nil
}

// readSidecar gives the requests that were kept beside a profile.
func readSidecar(path string) (map[string]int64, error) {
	b, err := os.ReadFile(path + ".json")
	if err != nil {
		return nil, err
	}
	var s sidecar
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	if s.Format != sidecarFormat {
		return nil, whittle.Errorf(whittle.Invalid, "%s.json: not of the format %s", path, sidecarFormat)
	}
	return s.Requests, nil
}
