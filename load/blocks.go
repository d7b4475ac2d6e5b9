package load

import (
	"context"
	"slices"
	"time"

	"whittle/internal/latency"
	"whittle/load/plan"
	"whittle/load/report"
)

// Blocks sends a plan to one target piece by piece, as one side of a
// comparison: users are numbered on from block to block, and connections stay
// open. The plan's flow before the run is ahead of the first block. It is not for
// several goroutines at once.
type Blocks struct {
	plan    *plan.Plan
	options Options
	length  time.Duration

	// The block that is sent, or was sent last.
	arrivals []plan.Arrival // since its start, in order
	given    int            // of arrivals
	each     func(Answer)
	ran      *session
	report   *report.Report

	// first is the first block, whose connections all use, with what the flow
	// before it left and what users have in common.
	first *session
	after func() (warning string) // the flow after the last block; nil: none was sent, or it ran
	// users is how many virtual users the target has had.
	users int64

	// What the blocks that were kept came to.
	sum   *tally
	spent time.Duration
	whole report.Report
	began []time.Time
}

// NewBlocks makes ready for blocks of so much time each. OnAnswer and
// OnProgress of the options are not used.
func NewBlocks(p *plan.Plan, o Options, length time.Duration) *Blocks {
	return &Blocks{plan: p, options: o.WithDefaults(), length: length, sum: newTally(len(p.Names))}
}

// Run sends one block and waits for its last answer: an open plan's users come
// at the arrivals, which count from the block's start; a closed plan's come all
// at once and ask for the block's length. A user's random choices are those of
// the same user in any block of the same number. Its rows and shared counters
// are not: closed users take them as quickly as their target answers. each sees
// every request that ended, without its body, on many goroutines at once.
func (b *Blocks) Run(ctx context.Context, arrivals []plan.Arrival, number uint64, each func(Answer)) (*report.Report, error) {
	b.arrivals, b.given, b.each = nil, 0, each
	phase := plan.Phase{Duration: b.length}
	for _, a := range arrivals {
		phase.MaxUsers = b.plan.Phases[a.Phase].MaxUsers
		b.arrivals = append(b.arrivals, plan.Arrival{At: a.At})
	}
	o := b.options
	o.OnAnswer, o.OnProgress = nil, nil
	o.block = b
	// 52 bits: a report's seed is exact in JSON.
	o.Seed = (o.Seed+number*0x9e3779b97f4a7c15)>>12 | 1
	r, err := Run(ctx, forBlock(b.plan, phase), o)
	if err != nil {
		return nil, err
	}
	b.after = func() string { return b.first.after(ctx) }
	r.Users.Planned = int64(len(arrivals))
	if len(b.plan.Groups) > 0 {
		r.Users.Planned = b.plan.Planned()
	}
	r.Users.Started -= b.users
	b.users += r.Users.Started
	b.report = r
	return r, nil
}

// forBlock is the plan with users for one block only: an open plan's come at
// the times that the block is given, a closed plan's all at once.
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

// join makes a session the block under way.
func (b *Blocks) join(s *session) {
	if b == nil {
		return
	}
	b.ran = s
	s.each = b.each
	s.users.Store(b.users)
	if b.first == nil {
		b.first = s
		return
	}
	s.prepared, s.origins, s.dialer = b.first.prepared, b.first.origins, b.first.dialer
	s.base, s.common = b.first.base, b.first.common
}

// next gives the block's arrivals one by one.
func (b *Blocks) next() (plan.Arrival, bool) {
	if b.given == len(b.arrivals) {
		return plan.Arrival{}, false
	}
	b.given++
	return b.arrivals[b.given-1], true
}

// Keep counts the block that was sent last, and leaves of its report what the
// sum does not have.
func (b *Blocks) Keep() {
	r, sum := b.report, &b.whole
	b.sum.merge(b.ran.total())
	sum.Users.Planned += r.Users.Planned
	sum.Users.Started += r.Users.Started
	sum.Users.Skipped += r.Users.Skipped
	sum.Users.Finished += r.Users.Finished
	sum.Users.Failed += r.Users.Failed
	b.spent += time.Duration(r.Seconds * float64(time.Second))
	sum.Generator.CPU += r.Generator.CPU
	for i, p := range r.Processes {
		if i == len(sum.Processes) {
			sum.Processes = append(sum.Processes, report.ProcessReport{Name: p.Name, PID: p.PID})
		}
		sum.Processes[i].CPU += p.CPU
		sum.Processes[i].Ended = sum.Processes[i].Ended || p.Ended
	}
	sum.Series = append(sum.Series, b.point(r))
	b.began = append(b.began, r.Started)
	r.Histograms, r.Names, r.Series = report.Histograms{}, nil, nil
}

// point is the window of the sum's series that a block makes.
func (b *Blocks) point(r *report.Report) report.Point {
	in := &r.Latency.Intended
	return report.Point{
		Width: b.length.Seconds(), Span: thousandths(r.Seconds),
		Arrivals: r.Users.Started, Completed: r.Completed, Failed: r.Failed, Requests: r.Requests, Timed: in.Count,
		Min: latency.Milliseconds(in.Min), Mean: latency.Milliseconds(in.Mean), Max: latency.Milliseconds(in.Max),
		P50: latency.Milliseconds(in.P50), P75: latency.Milliseconds(in.P75), P90: latency.Milliseconds(in.P90),
		P95: latency.Milliseconds(in.P95), P99: latency.Milliseconds(in.P99), P999: latency.Milliseconds(in.P999),
		Codes: r.Codes, Errors: r.Errors, Finished: r.Users.Finished, Broken: r.Users.Failed, Skipped: r.Users.Skipped,
		Received: r.Received, Late: latency.Milliseconds(r.Latency.ScheduleError.Max), GeneratorCores: thousandths(r.Generator.Cores),
	}
}

// Report is that of all blocks that were kept together, with one window of its
// series for each.
func (b *Blocks) Report(started time.Time, early bool) *report.Report {
	p := b.plan
	r := b.whole
	r.Format, r.Plan, r.Target, r.Model = report.Format, p.Name, b.options.Target, modelOf(p)
	if r.Target == "" {
		r.Target = p.Target
	}
	r.Started, r.Early, r.Seconds, r.Seed = started.UTC(), early, b.spent.Seconds(), b.options.Seed
	r.Unfinished, r.Codes, r.Errors = b.sum.unfinished, map[string]int64{}, b.sum.errors
	b.sum.fill(&r, p)
	own := r.Generator.CPU
	r.Generator.Cores, r.Generator.CPUPerRequest = own/1e3/max(r.Seconds, 1e-9), own*1e3/float64(max(r.Requests, 1))
	for i := range r.Processes {
		r.Processes[i].CPUPerRequest = r.Processes[i].CPU / float64(max(r.Completed, 1))
		r.CPUPerRequest += r.Processes[i].CPUPerRequest
	}
	r.Series = slices.Clone(r.Series)
	for i := range r.Series {
		r.Series[i].At = b.began[i].Sub(started).Seconds()
	}
	r.Judge(b.options.MaxLate, p.HTTP.Timeout)
	return &r
}

// Close runs the plan's flow after the run, unless the last block's context has
// ended, and ends the connections that the blocks shared. What fails in the flow
// is a warning. A second Close does nothing.
func (b *Blocks) Close() (warning string) {
	if b.after != nil {
		warning = b.after()
		b.after = nil
	}
	if b.first != nil {
		b.first.dialer.closeIdle()
	}
	return warning
}
