//go:build !demo_count

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"whittle"
	"whittle/internal/chart"
	"whittle/internal/cputime"
	"whittle/internal/table"
	"whittle/profile"
	"whittle/profile/guard"
	"whittle/profile/measure"
	"whittle/profile/report"
)

// The demo's traffic and measurements.
const (
	emojifyRunTime  = time.Second
	emojifyFall     = 0.90 // of the CPU per request, when the line goes
	emojifyWaitsFor = 60 * time.Second
)

// emojifyTimes is how long the demo measures.
type emojifyTimes struct {
	rate          float64 // pictures a second
	load, profile time.Duration
	runs          int // of the guard
}

// The seed's author profiled for five seconds.
var (
	emojifyWhole = emojifyTimes{rate: 20, load: 8 * time.Second, profile: 5 * time.Second, runs: 5}
	emojifyShort = emojifyTimes{rate: 10, load: 4 * time.Second, profile: 3 * time.Second, runs: 4}
)

// emojifyDemo owns the processes and runs the acts.
type emojifyDemo struct {
	*stage
	times emojifyTimes

	cache, facebox, api *process
	picture             string // the path of a finished one
	figures             emojifyFigures
}

// emojifyFigures is what the demo found; it is written as JSON.
type emojifyFigures struct {
	Format  string         `json:"format"`
	Started time.Time      `json:"started_at"`
	Machine table.Machine  `json:"machine"`
	With    emojifyScene   `json:"with_the_line"`
	Without emojifyScene   `json:"without_it"`
	Fall    float64        `json:"cpu_per_request_fell_by"` // 0.9: to a tenth
	Target  float64        `json:"target"`                  // of the fall
	Guard   *guard.Verdict `json:"guard_when_it_comes_back"`
}

// emojifyScene is the system under the same traffic, with the line or without.
type emojifyScene struct {
	Rate     float64        `json:"requests_per_second"`
	Failed   int64          `json:"failed"`
	P50      float64        `json:"p50_ms"`
	P99      float64        `json:"p99_ms"`
	APICPU   float64        `json:"api_cpu_ms_per_request"`
	CacheCPU float64        `json:"cache_cpu_ms_per_request"`
	Profile  *report.Report `json:"profile"`
}

func newEmojifyDemo(ctx context.Context, on *stage, short bool) (_ *emojifyDemo, err error) {
	d := &emojifyDemo{stage: on, times: emojifyWhole}
	if short {
		d.times = emojifyShort
	}
	d.figures = emojifyFigures{Format: "whittle.demo-emojify/1", Started: time.Now(), Machine: table.ThisMachine(), Target: emojifyFall}
	on.screen.Heading("demo emojify: find the line that uses the CPU")
	if d.cache, err = d.serve(ctx, "cache", "--dir", filepath.Join(on.work, "pictures")); err != nil {
		return nil, err
	}
	d.facebox, err = d.serve(ctx, "facebox")
	return d, err
}

// serve runs one of the services on free ports.
func (d *emojifyDemo) serve(ctx context.Context, verb string, flags ...string) (*process, error) {
	return d.startBuilt(ctx, verb, "emojify", append([]string{verb, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-level", "WARN"}, flags...), nil)
}

// startAPI starts the api with as much patience as a busy machine needs: what is shown is
// CPU time, and a request that is given up is none.
func (d *emojifyDemo) startAPI(ctx context.Context, flags ...string) (err error) {
	d.api, err = d.serve(ctx, "api", append([]string{"--cache", d.cache.Public, "--facebox", "http://" + d.facebox.Public, "--cache-timeout", "20s"}, flags...)...)
	return err
}

func (d *emojifyDemo) report() any { return d.figures }

// play runs the acts.
func (d *emojifyDemo) play(ctx context.Context) error {
	d.screen.Heading("Act 1: a system that works, and is dear")
	if err := d.startAPI(ctx, "--debug-print"); err != nil {
		return err
	}
	if err := d.finishPicture(ctx); err != nil {
		return err
	}
	if err := d.scene(ctx, &d.figures.With); err != nil {
		return err
	}
	with := &d.figures.With
	d.screen.Say("the api costs %.1f times the CPU of the cache behind it, for the same requests", with.APICPU/max(with.CacheCPU, 1e-9))
	d.screen.Heading("Act 2: profile it for %.0f seconds", d.times.profile.Seconds())
	if err := with.Profile.WriteFindings(d.screen); err != nil {
		return err
	}
	named := false
	for _, s := range with.Profile.Smells {
		named = named || s.Name == "printed-message" && strings.HasSuffix(s.File, "api/pictures.go")
	}
	if !named {
		return whittle.Errorf(whittle.FallsShort, "demo emojify: the printed message was not named")
	}
	d.api.Stop()

	d.screen.Heading("Act 3: the same without the line")
	if err := d.startAPI(ctx); err != nil {
		return err
	}
	if err := d.scene(ctx, &d.figures.Without); err != nil {
		return err
	}
	without := &d.figures.Without
	d.figures.Fall = 1 - without.APICPU/max(with.APICPU, 1e-9)
	d.screen.Say("CPU per request: %s before, %s after: it fell by %.0f %%", chart.Milliseconds(with.APICPU), chart.Milliseconds(without.APICPU), 100*d.figures.Fall)
	var parts []string
	for _, p := range without.Profile.Parts[:min(len(without.Profile.Parts), 4)] {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", p.Kind, 100*p.Share))
	}
	d.screen.Say("the profile now: %s", strings.Join(parts, ", "))
	if len(without.Profile.Smells) > 0 {
		return whittle.Errorf(whittle.FallsShort, "demo emojify: the clean service smells of %s", without.Profile.Smells[0].Name)
	}
	if d.figures.Fall < emojifyFall {
		return whittle.Errorf(whittle.FallsShort, "demo emojify: the CPU per request fell by %.0f %%, at least %.0f %% was expected", 100*d.figures.Fall, 100*emojifyFall)
	}
	return d.guard(ctx)
}

// guard keeps a baseline of the clean service, brings the line back, and must
// see it.
func (d *emojifyDemo) guard(ctx context.Context) error {
	d.screen.Heading("Act 4: a guard that fails if it comes back")
	clean, err := d.runs(ctx)
	if err != nil {
		return err
	}
	base := &guard.Baseline{Service: "api", Taken: time.Now().UTC(), Machine: d.figures.Machine, Runs: clean}
	d.api.Stop()
	if err := d.startAPI(ctx, "--debug-print"); err != nil {
		return err
	}
	back, err := d.runs(ctx)
	if err != nil {
		return err
	}
	v := guard.Check(base, &guard.Baseline{Service: base.Service, Machine: base.Machine, Runs: back}, 0.10)
	d.figures.Guard = &v
	d.screen.Say("%s", v.Sentence())
	if v.Outcome != guard.Broken {
		return whittle.Errorf(whittle.FallsShort, "demo emojify: the guard did not see the line come back")
	}
	return nil
}

// runs takes the guard's short runs under the demo's traffic.
func (d *emojifyDemo) runs(ctx context.Context) (out []guard.Run, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer cancel()
		m := measure.Settings{Duration: emojifyRunTime}
		var err error
		out, err = guard.Take(d.times.runs, func(int) (guard.Run, error) {
			before, err := cputime.Of(d.api.Pid())
			if err != nil {
				return guard.Run{}, whittle.Errorf(whittle.Unavailable, "%w", err)
			}
			taken, err := m.Measure(ctx, "http://"+d.api.Admin, []profile.Kind{profile.CPU}, d.screen.Progress)
			if err != nil {
				return guard.Run{}, err
			}
			after, err := cputime.Of(d.api.Pid())
			if err != nil {
				return guard.Run{}, whittle.Errorf(whittle.Unavailable, "%w", err)
			}
			return guard.NewRun(taken.Taken[0].Profile, guard.RunFacts{CPU: after - before})
		})
		return err
	})
	g.Go(func() error {
		_, err := d.traffic(ctx, time.Minute)
		if ctx.Err() == nil {
			return err
		}
		return nil // the runs are done
	})
	err = g.Wait()
	return out, err
}

// scene puts traffic on the system, first to see what it costs, then to profile
// it: what the profiler costs is not the line's.
func (d *emojifyDemo) scene(ctx context.Context, s *emojifyScene) error {
	b, err := d.traffic(ctx, d.times.load)
	if err != nil {
		return err
	}
	s.Rate, s.Failed, s.P50, s.P99 = b.Rate, b.Failed, b.MedianMS, b.P99MS
	s.APICPU, s.CacheCPU = b.CPUByProcess["api"], b.CPUByProcess["cache"]
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		_, err := d.traffic(ctx, d.times.profile+2*time.Second)
		return err
	})
	g.Go(func() error {
		m := measure.Settings{Duration: d.times.profile}
		taken, err := m.Measure(ctx, "http://"+d.api.Admin, nil, d.screen.Progress)
		if err != nil {
			return err
		}
		s.Profile = taken.Report()
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	d.screen.Say("%.0f requests/s, %d failed, p50 %s, p99 %s; CPU a request: api %s, cache %s",
		s.Rate, s.Failed, chart.Milliseconds(s.P50), chart.Milliseconds(s.P99), chart.Milliseconds(s.APICPU), chart.Milliseconds(s.CacheCPU))
	if s.Failed > 0 {
		return whittle.Errorf(whittle.FallsShort, "demo emojify: %d requests failed", s.Failed)
	}
	return nil
}
