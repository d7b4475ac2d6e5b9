package collect

import (
	"cmp"
	"context"
	"slices"
	"time"

	"whittle/internal/notify"
	"whittle/profile"
)

// sampleEvery is how often V8's profiler looks: as often as Go's. Each look is a
// signal that interrupts the process, busy or not; --cpu-prof looks ten times as
// often. It is enough to see stretches of 50 ms.
const sampleEvery = 10 * time.Millisecond

// clockEvery is how often the CPU clock of a process's main thread is read, and
// workerClockEvery that of a worker: a pool's workers wait for their jobs, often and for a
// short while, in calls that V8 does not know from work. A long profile reads it less
// often, so that its readings have a bound.
const (
	clockEvery       = sampleEvery
	workerClockEvery = time.Millisecond
	workerReadings   = 1 << 17
)

// lookFor is how long a profile is looked at before code is forgotten for it,
// and lookShare how much of it at most: what was seen until then is dropped.
const (
	lookFor   = time.Second
	lookShare = 5
)

// SetLines chooses how a Node process's CPU profiles come by their lines. Exact ones
// name inlined functions from the start: for a load that is there to be measured, and
// that may turn to other endpoints later. Cheap ones never make V8 optimize anew.
// Otherwise a look decides. False: it is not Node's, and there is nothing to choose.
func SetLines(s Source, lines profile.Lines) bool {
	i, ok := s.(*inspector)
	if ok {
		i.lines = lines
	}
	return ok
}

// running is a CPU profile that has begun.
type running struct {
	began time.Time
	used  usage // by the process when it had
}

// takeCPU takes a CPU profile, and has V8 forget its optimized code where inlined
// functions are hidden otherwise.
func (i *inspector) takeCPU(ctx context.Context, d time.Duration) (*Collected, error) {
	i.mark(ctx, d)
	defer i.unmark(ctx)
	i.attach(ctx)
	defer i.detach(ctx)
	clock := readThread(ctx, i.pid, i.pid, clockEvery)
	defer clock.stop()
	lines := cmp.Or(i.lines, profile.Cheap)
	run, err := i.startCPU(ctx, d, lines == profile.Exact)
	if err != nil {
		return nil, err
	}
	rest := d
	if i.lines == "" {
		look := min(d/lookShare, lookFor)
		rest -= look
		if i.inlined(ctx, look) == profile.Hidden {
			if _, err = i.stop(ctx); err != nil {
				return nil, err
			}
			if run, err = i.startCPU(context.WithoutCancel(ctx), rest, true); err != nil {
				return nil, err
			}
			lines = profile.Exact
		}
	}
	notify.Sleep(ctx, rest)
	used := i.usage(ctx)
	raw, err := i.stop(ctx)
	if err != nil {
		return nil, err
	}
	t := &Collected{Raw: raw, Ext: ".cpuprofile"}
	if t.Profile, err = profile.ReadV8CPU(raw, run.began); err != nil {
		return nil, err
	}
	t.Lines = lines
	t.SetMainClock(clock.stop())
	t.MarkWaiting()
	i.account(ctx, t.Profile, run.used, used)
	marks := i.marked(ctx)
	label(t.Profile, marks, i.readRouter(ctx, t.Profile))
	return t, nil
}

// label gives the samples their endpoints, and the profile its requests.
func label(p *profile.Profile, m *marks, r *router) {
	var turn func(time.Duration) string
	if m != nil {
		r.keys = keysIn(m.names)
		turn = func(at time.Duration) string {
			if name := m.at(float64((p.Clock + at).Microseconds())); name != "" {
				return r.endpoint(name)
			}
			return ""
		}
		r.missing(p, m)
		r.reconcile(p, m, turn)
		p.Requests, p.Routes, p.Paths = m.requests(r.endpoint), r.endpoints, map[string]bool{}
		for e := range p.Requests {
			p.Paths[e] = !slices.Contains(r.endpoints, e)
		}
		p.Turns, p.Cut = m.turns(p.Clock), m.cut
	}
	p.LabelEndpoints(r.of, turn)
	if m != nil {
		m.flights(r.endpoint).infer(p)
	}
}

// startCPU begins a profile that is to last so long, with optimized code or without.
func (i *inspector) startCPU(ctx context.Context, d time.Duration, forget bool) (running, error) {
	r := running{began: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	call := func(method string, params any) error { return i.call(ctx, method, params, nil) }
	if err := startProfiler(call); err != nil {
		return r, err
	}
	i.startWorkers(ctx, d)
	r.used = i.usage(ctx) // without what it took to tell the profiler what code there is
	if !forget {
		return r, nil
	}
	return r, forgetOptimized(call)
}

// startProfiler begins a CPU profile of the thread that commands are sent to by call.
func startProfiler(call func(method string, params any) error) error {
	if err := call("Profiler.enable", nil); err != nil {
		return err
	}
	if err := call("Profiler.setSamplingInterval", map[string]any{"interval": sampleEvery.Microseconds()}); err != nil {
		return err
	}
	return call("Profiler.start", nil)
}

// inlined looks at what a running profile sees for a while, by a second one at the
// same time: V8 gives a profile only when it ends, and to begin another one anew
// costs more than to have two. A profile that ctx ends is as good as it gets.
func (i *inspector) inlined(ctx context.Context, d time.Duration) profile.Inlining {
	open, cancel := context.WithTimeout(context.WithoutCancel(ctx), d+responseTimeout)
	defer cancel()
	i.look = nil
	if i.evaluate(open, "console.profile('whittle')", nil) != nil {
		return profile.Untold
	}
	notify.Sleep(ctx, d)
	if i.evaluate(open, "console.profileEnd('whittle')", nil) != nil || ctx.Err() != nil {
		return profile.Untold
	}
	p, err := profile.ReadV8CPU(i.look, time.Time{})
	if err != nil {
		return profile.Untold
	}
	r := newRoutes()
	label(p, i.marked(ctx), &router{})
	p.LabelEndpoints(r.of, nil)
	return p.Inlined(r.calls)
}

// forgetOptimized lets V8 throw its optimized code away. What it optimized
// before a profiler ran has no source positions, so that an inlined function
// counts for the one that it was inlined into: on a process that has been hot
// for a while, a library's. V8 does so when precise coverage begins; the code is
// optimized anew, with positions, as it gets hot again. That is the dearest part
// of a profile where an application's work is spread over many functions: its
// requests cost half as much again at first, and more for thousands of them.
func forgetOptimized(call func(method string, params any) error) error {
	if err := call("Profiler.startPreciseCoverage", map[string]any{"callCount": true, "detailed": false}); err != nil {
		return err
	}
	return call("Profiler.stopPreciseCoverage", nil)
}

// account makes the profile's total that of the process's own clock: the main thread's
// samples are held to what that used, the worker threads' are added, and what other
// threads used.
func (i *inspector) account(ctx context.Context, p *profile.Profile, before, after usage) {
	if after.Process == 0 {
		return // it is not known
	}
	if main := after.of(after.Self) - before.of(after.Self); after.Self != 0 && main > 0 {
		p.FitTotal(main)
	} else {
		p.CapTotal(time.Duration(after.Process - before.Process))
	}
	known := time.Duration(p.Total())
	known += i.stopWorkers(ctx, p, before, after)
	addOthers(p, before, after, known)
}
