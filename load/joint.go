package load

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/internal/latency"
	"whittle/load/expr"
	"whittle/load/report"
)

// JointRun is a run whose parts other processes run: it puts their results together, as if
// one had run all. Its methods may be called by several goroutines.
type JointRun struct {
	runner *Runner
	task   task
	meter  *meter
	began  time.Time

	mu sync.Mutex
	// The following is guarded by mu.
	parts  []contribution
	recent *latency.Rolling
	own    history // what is measured here: the watched processes
	last   time.Duration
	used   time.Duration // by the watched processes until then
}

// contribution is the coordinator's knowledge of a part.
type contribution struct {
	history
	last  Sample
	sum   window // of all samples
	tally *tally
	final *PartResult
	void  string
}

// Joint prepares a run in so many parts. The Runner's options say no part.
func (r *Runner) Joint(ctx context.Context, parts int) (*JointRun, error) {
	if err := r.divisible(parts); err != nil {
		return nil, err
	}
	n, err := r.network()
	if err != nil {
		return nil, err
	}
	m, err := openMeter(ctx, &r.options)
	if err != nil {
		return nil, err
	}
	w := &JointRun{runner: r, task: r.task(n), meter: m, parts: make([]contribution, parts), recent: latency.NewRolling(tick, recentTicks), own: newHistory()}
	for i := range w.parts {
		w.parts[i].history = newHistory()
	}
	return w, nil
}

// divisible refuses what parts cannot do together as the whole does.
func (r *Runner) divisible(parts int) error {
	reason := r.plan.Undividable(parts)
	if o := &r.options; reason == "" && (o.Pool > 0 && o.Pool < parts || o.MaxInFlight < parts) {
		reason = "there is less than one connection, or user at once, for each"
	}
	if reason == "" {
		return nil
	}
	return whittle.Errorf(whittle.Unsupported, "plan %s cannot be run by %d workers: %s", r.plan.Name, parts, reason).
		WithHint("run it in one process, without --workers, or by fewer workers")
}

// Before runs the plan's flow before the run, and returns the variables that it leaves.
func (w *JointRun) Before(ctx context.Context) ([]expr.Value, error) {
	base, err := w.task.before(ctx)
	if err == nil && len(w.runner.plan.Before) > 0 {
		err = w.meter.restart(ctx)
	}
	return base, err
}

// Begin says when the run begins.
func (w *JointRun) Begin(ctx context.Context, at time.Time) {
	w.began = at
	w.meter.start(ctx)
}

// Sample takes in what a part did. An error means that no part can have done that.
func (w *JointRun) Sample(part int, s *Sample) error {
	if err := s.check(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &w.parts[part]
	p.add(s.At, s.Latency, &s.window)
	w.recent.Add(s.At, s.Latency)
	p.last = *s
	p.sum.add(&s.window)
	return nil
}

// Add takes in the result of a part.
func (w *JointRun) Add(part int, r *PartResult) error {
	plan := w.runner.plan
	t, err := r.checked(len(plan.Names), len(plan.Groups))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts[part].tally, w.parts[part].final = t, r
	return nil
}

// Void says why the figures of a part, and so of the whole, may not be used.
func (w *JointRun) Void(part int, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := &w.parts[part]; p.void == "" {
		p.void = printableLine(why, maxReason)
	}
	w.parts[part].last.InFlight = 0 // nothing more is known of them
}

// Tick passes on how the run stands. It is called about once a second.
func (w *JointRun) Tick() {
	if p, show := w.progress(), w.runner.options.OnProgress; show != nil && p.Elapsed > 0 {
		show(p)
	}
}

// progress takes in what the watched processes have used by now, and gives how the run
// stands.
func (w *JointRun) progress() report.Progress {
	w.meter.sample()
	at, used := max(time.Since(w.began), 0), w.meter.used()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own.add(w.last, new(latency.Histogram), &window{watchedCPU: max(used-w.used, 0)})
	w.last, w.used = at, used
	p := report.Progress{Elapsed: at, Left: max(w.runner.plan.End()-at, 0), Recent: w.recent.Snapshot(at)}
	for i := range w.parts {
		o := &w.parts[i]
		p.Skipped += o.sum.Skipped
		p.Completed += o.sum.Completed
		p.Failed += o.sum.Failed
		p.InFlight += o.last.InFlight
		p.Rate += o.last.rate()
	}
	return p
}

// PartName names a part in the report, and says how far its start may be from the
// others'.
type PartName struct {
	Name       string
	ClockError time.Duration
}

// Report runs the plan's flow after the run, and gives the report of all parts whose
// results are there. void is why none of it may be used, apart from what the parts say.
func (w *JointRun) Report(ctx context.Context, names []PartName, void string, early bool) *report.Report {
	w.progress()
	w.meter.finish()
	r := w.sum(early)
	w.series(r)
	var warnings, voids []statement
	for i := range w.parts {
		p := &w.parts[i]
		worker := p.worker(names[i])
		if p.final != nil {
			for _, warning := range p.final.Warnings {
				warnings = append(warnings, statement{worker.Name, printableLine(warning, maxReason)})
			}
		}
		voids = append(voids, statement{worker.Name, worker.Void})
		r.Workers = append(r.Workers, worker)
	}
	r.Warnings = append(r.Warnings, lines(warnings)...)
	checkBounds(w.runner.plan, &w.runner.options, r)
	r.Validate(w.runner.options.MaxLate, w.runner.plan.HTTP.Timeout)
	if reasons := lines(voids); void != "" || len(reasons) > 0 {
		if void != "" {
			reasons = slices.Insert(reasons, 0, void)
		}
		r.Void = strings.Join(reasons, "; ")
	}
	if warning := w.task.after(ctx); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r
}

// statement is what a worker says; an empty text: nothing.
type statement struct{ worker, text string }

// lines are statements, each text once, with who says it.
func lines(said []statement) (out []string) {
	who := map[string][]string{}
	for _, s := range said {
		who[s.text] = append(who[s.text], s.worker)
	}
	delete(who, "")
	for _, s := range said {
		switch names := who[s.text]; len(names) {
		case 0: // it is there already
		case 1:
			out = append(out, "worker "+s.worker+": "+s.text)
		default:
			out = append(out, "workers "+strings.Join(names, ", ")+": "+s.text)
		}
		delete(who, s.text)
	}
	return out
}

// Close frees what the flows before and after the run used.
func (w *JointRun) Close() {
	w.runner.rest()
	w.task.network.CloseIdle()
}

// sum adds up the parts' results.
func (w *JointRun) sum(early bool) *report.Report {
	t, plan := newTally(len(w.runner.plan.Names)), w.runner.plan
	r := &report.Report{
		Format: report.Format, Plan: plan.Name, Target: w.runner.target, Model: modelOf(plan), Started: w.began.UTC(),
		Early: early, Seed: w.runner.options.Seed,
	}
	for i := range w.parts {
		p := w.parts[i].final
		if p == nil {
			continue
		}
		t.merge(w.parts[i].tally)
		r.Seconds = max(r.Seconds, p.Elapsed.Seconds())
		r.Early = r.Early || p.Early
		r.Users.Add(p.Users)
		r.Generator.CPU += latency.Milliseconds(p.CPU)
		for _, f := range p.printableFailures() {
			r.ScriptFailures = report.AddScriptFailure(r.ScriptFailures, f)
		}
	}
	r.Users.Planned = plan.Planned() // each part says it of the whole
	t.fill(r, plan)
	r.SpreadCPU()
	w.meter.fill(r)
	return r
}

// series puts the parts' windows together.
func (w *JointRun) series(r *report.Report) {
	all := newHistory()
	parts := []*history{&w.own}
	for i := range w.parts {
		parts = append(parts, &w.parts[i].history)
	}
	for _, h := range parts {
		all.series.WidenTo(h.series.Width())
	}
	for _, h := range parts {
		before := h.series.Width()
		h.series.WidenTo(all.series.Width())
		h.widened(before)
		all.series.Merge(h.series)
		for len(all.windows) < len(h.windows) {
			all.windows = append(all.windows, window{})
		}
		for i := range h.windows {
			all.windows[i].join(&h.windows[i])
		}
	}
	r.Series = all.points()
}

// join adds what another process did in the same window.
func (c *window) join(o *window) {
	span, users := max(c.Span, o.Span), c.InFlight+o.InFlight
	c.add(o)
	c.Span, c.InFlight = span, users
}

// maxReason bounds what a worker says of its part.
const maxReason = 1000

// worker is the part as the report has it.
func (p *contribution) worker(name PartName) report.Worker {
	w := report.Worker{Name: name.Name, ClockError: latency.Milliseconds(name.ClockError), Void: p.void}
	if p.final == nil {
		return w
	}
	w.Users, w.ScheduleError = p.final.Users.Started, p.tally.ScheduleError.Snapshot()
	for _, n := range p.tally.Names {
		w.Requests += n.Requests
		w.Completed += n.Completed
		w.Failed += n.Failed
	}
	if p.final.Elapsed > 0 {
		w.Cores = cores(p.final.CPU, p.final.Elapsed)
	}
	if w.Void == "" {
		w.Void = printableLine(p.final.Void, maxReason)
	}
	return w
}
