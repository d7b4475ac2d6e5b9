package load

import (
	"context"
	"slices"
	"time"

	"whittle/internal/latency"
	"whittle/load/plan"
	"whittle/load/report"
)

// Blocks sends a plan to one target block by block, as one side of a comparison.
// The numbering of users goes on from block to block, and connections stay open.
// The plan's flow before the run runs ahead of the first block. Blocks is not safe
// for concurrent use.
type Blocks struct {
	runner *Runner
	length time.Duration
	// task is what all blocks share; its network is nil before the first one.
	task  task
	after func() (warning string) // the flow after the last block; nil: none was sent, or it ran

	// The block that was sent last.
	last   *execution
	report *report.Report

	// The sum of the blocks that were kept.
	sum     *tally
	elapsed time.Duration
	whole   report.Report
	starts  []time.Time
}

// Blocks prepares blocks of the given length. Options.OnResult and OnProgress are not
// used.
func (r *Runner) Blocks(length time.Duration) *Blocks {
	q := *r
	q.options.OnResult, q.options.OnProgress = nil, nil
	return &Blocks{runner: &q, length: length, sum: newTally(len(r.plan.Names))}
}

// Run sends one block and waits for its last response. An open plan's users start
// at the arrivals, which count from the block's start; a closed plan's start all
// at once and send requests for the block's length. A user makes the same random
// choices in every block of the same number. Its CSV rows and shared counters
// differ: closed users take them as quickly as their target responds. onResult is
// called for every request that ended, on many goroutines at once.
func (b *Blocks) Run(ctx context.Context, arrivals []plan.Arrival, number uint64, onResult func(Result)) (*report.Report, error) {
	m, err := openMeter(ctx, &b.runner.options)
	if err != nil {
		return nil, err
	}
	if b.task.network == nil {
		if err := b.begin(ctx, m); err != nil {
			return nil, err
		}
	}
	t := b.block(arrivals, number, onResult)
	s, r, err := b.runner.measure(ctx, t, m)
	if err != nil {
		return nil, err
	}
	b.after = func() string { return b.task.after(ctx) }
	r.Users.Planned = int64(len(arrivals))
	if t.plan.Closed() {
		r.Users.Planned = t.plan.Planned()
	}
	b.task.firstUser = s.users.Load()
	b.last, b.report = s, r
	return r, nil
}

// begin opens what all blocks share, and runs the flow before the run.
func (b *Blocks) begin(ctx context.Context, m *meter) error {
	n, err := b.runner.network()
	if err != nil {
		return err
	}
	t := b.runner.task(n)
	t.plan = t.plan.StagesAside()
	t.mayLoop = false // connections outlive a block
	if t.base, err = t.before(ctx); err != nil {
		n.CloseIdle()
		return err
	}
	b.task = t
	if len(t.plan.Before) > 0 {
		return m.restart(ctx)
	}
	return nil
}

// block is one block's task.
func (b *Blocks) block(arrivals []plan.Arrival, number uint64, onResult func(Result)) task {
	t := b.task
	phase := plan.Phase{Duration: b.length}
	if n := len(arrivals); n > 0 && !t.plan.Closed() {
		phase.MaxUsers = t.plan.Phases[arrivals[n-1].Phase].MaxUsers
	}
	t.plan, t.onResult = forBlock(t.plan, phase), onResult
	// 52 bits: a report's seed is exact in JSON.
	t.seed = (t.seed+number*0x9e3779b97f4a7c15)>>12 | 1
	taken := 0
	t.arrivals = func() (plan.Arrival, bool) {
		if taken == len(arrivals) {
			return plan.Arrival{}, false
		}
		taken++
		return plan.Arrival{At: arrivals[taken-1].At}, true
	}
	return t
}

// forBlock is the plan with the users of one block: an open plan's start at the
// arrivals that the block is given, a closed plan's all at once.
func forBlock(p *plan.Plan, phase plan.Phase) *plan.Plan {
	q := *p
	q.Ensure = nil
	if len(p.Groups) == 0 {
		q.Phases = []plan.Phase{phase}
		return &q
	}
	q.Serial = false
	q.Groups = append([]plan.Group(nil), p.Groups...)
	for i := range q.Groups {
		g := &q.Groups[i]
		g.Ramp, g.Delay, g.Loops, g.Duration = 0, 0, 0, phase.Duration
	}
	return &q
}

// Keep adds the last block to the sum, and drops from its report what the sum
// has too.
func (b *Blocks) Keep() {
	r, sum := b.report, &b.whole
	b.sum.merge(b.last.recorder.total())
	sum.Users.Add(r.Users)
	for _, f := range r.ScriptFailures {
		sum.ScriptFailures = report.AddScriptFailure(sum.ScriptFailures, f)
	}
	b.elapsed += time.Duration(r.Seconds * float64(time.Second))
	sum.Generator.CPU += r.Generator.CPU
	for i, p := range r.Processes {
		if i == len(sum.Processes) {
			sum.Processes = append(sum.Processes, report.ProcessReport{Name: p.Name, PID: p.PID})
		}
		sum.Processes[i].CPU += p.CPU
		sum.Processes[i].Ended = sum.Processes[i].Ended || p.Ended
	}
	sum.Series = append(sum.Series, b.point(r))
	b.starts = append(b.starts, r.Started)
	r.Histograms, r.Names, r.Series = report.Histograms{}, nil, nil
}

// point is a block's window in the sum's series.
func (b *Blocks) point(r *report.Report) report.Point {
	in := &r.Latency.Intended
	return report.Point{
		Width: b.length.Seconds(), Span: thousandths(r.Seconds),
		Arrivals: r.Users.Started, Completed: r.Completed, Failed: r.Failed, Timed: in.Count, Figures: in.Figures(),
		Late: latency.Milliseconds(r.Latency.ScheduleError.Max), GeneratorCores: thousandths(r.Generator.Cores),
	}
}

// Report sums up all blocks that were kept, with one window of its series for
// each.
func (b *Blocks) Report(started time.Time, early bool) *report.Report {
	p, o := b.runner.plan, &b.runner.options
	r := b.whole
	r.Format, r.Plan, r.Target, r.Model = report.Format, p.Name, b.runner.target, modelOf(p)
	r.Started, r.Early, r.Seconds, r.Seed = started.UTC(), early, b.elapsed.Seconds(), o.Seed
	b.sum.fill(&r, p)
	r.SpreadCPU()
	for i := range r.Processes {
		r.Processes[i].CPUPerRequest = r.Processes[i].CPU / float64(max(r.Completed, 1))
		r.CPUPerRequest += r.Processes[i].CPUPerRequest
	}
	r.Series = slices.Clone(r.Series)
	for i := range r.Series {
		r.Series[i].At = b.starts[i].Sub(started).Seconds()
	}
	r.Validate(o.MaxLate, p.HTTP.Timeout)
	return &r
}

// Close runs the plan's flow after the run, unless the last block's context has ended, and
// returns its failure as a warning. It closes the connections that the blocks shared, and
// stops the timers of the plan's scripts. A second Close does nothing.
func (b *Blocks) Close() (warning string) {
	if b.after != nil {
		warning = b.after()
		b.after = nil
	}
	if n := b.task.network; n != nil {
		n.CloseIdle()
	}
	b.runner.rest()
	return warning
}
