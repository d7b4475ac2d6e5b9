package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"whittle/latency"
	"whittle/paired"
)

// blockResult is what one block of one target came to.
type blockResult struct {
	sample paired.Sample // latencies from the intended time, in milliseconds
	report *Report
	tally  *tally
	at     time.Time
	rate   paired.Share // answers over the seconds they took
}

// turn is one target's side of a duel.
type turn struct {
	duel   *Duel
	who    Contender
	block  *block
	blocks []blockResult
	sum    *tally
	users  Users
	spent  time.Duration
	own    float64 // the generator's CPU, in milliseconds
	watch  []ProcessReport
}

func newTurn(d *Duel, c Contender) *turn {
	return &turn{duel: d, who: c, block: &block{}, sum: newTally(len(d.Plan.names))}
}

func (t *turn) close() { t.block.close() }

// take sends one block and waits for its last answer. The other target's block
// of the same number makes the same random choices.
func (t *turn) take(ctx context.Context, arrivals []Arrival, number uint64) (*blockResult, error) {
	values := &reservoir{rng: rand.New(rand.NewPCG(t.duel.Options.Seed, number))}
	b := t.block
	b.arrivals, b.given, b.each = nil, 0, values.see
	phase := Phase{Duration: t.duel.Block}
	for _, a := range arrivals {
		phase.MaxUsers = t.duel.Plan.Phases[a.Phase].MaxUsers
		b.arrivals = append(b.arrivals, Arrival{At: a.At})
	}
	o := t.duel.Options
	o.block, o.Target, o.Watch, o.WatchURLs = b, t.who.Target, t.who.Watch, t.who.WatchURLs
	// 52 bits: a report's seed is exact in JSON.
	o.Seed = (o.Seed+number*0x9e3779b97f4a7c15)>>12 | 1
	r, err := Run(ctx, t.duel.Plan.forBlock(phase), o)
	if err != nil {
		return nil, err
	}
	r.Users.Planned = int64(len(arrivals))
	if len(t.duel.Plan.groups) > 0 {
		r.Users.Planned = t.duel.Plan.planned()
	}
	r.Users.Started -= b.users
	b.users += r.Users.Started
	pause := time.NewTimer(breath)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
	rate := values.rate()
	if r.Model == ModelClosed {
		// All ask at once when the block begins: their first answers come in one
		// burst, so time counts from the beginning.
		rate = paired.Share{Sum: float64(r.Completed), Of: r.Seconds}
	}
	return &blockResult{sample: paired.NewSample(values.kept), report: r, tally: b.last.total(), at: r.Started, rate: rate}, nil
}

// forBlock is the plan with users for one block only: an open plan's come at
// the times that the block is given, a closed plan's all at once.
func (p *Plan) forBlock(phase Phase) *Plan {
	q := *p
	q.ensure = nil
	if len(p.groups) == 0 {
		q.Phases = []Phase{phase}
		return &q
	}
	q.serial = false
	q.groups = append([]group(nil), p.groups...)
	for i := range q.groups {
		g := &q.groups[i]
		g.Ramp, g.delay, g.Loops, g.Duration = 0, 0, 0, phase.Duration
	}
	return &q
}

// keep counts a block.
func (t *turn) keep(r *blockResult) {
	t.sum.merge(r.tally)
	r.tally = nil
	u := r.report.Users
	t.users.Planned += u.Planned
	t.users.Started += u.Started
	t.users.Skipped += u.Skipped
	t.users.Finished += u.Finished
	t.users.Failed += u.Failed
	t.spent += time.Duration(r.report.Seconds * float64(time.Second))
	t.own += r.report.Generator.CPU
	for i, p := range r.report.Processes {
		if i == len(t.watch) {
			t.watch = append(t.watch, ProcessReport{Name: p.Name, PID: p.PID})
		}
		t.watch[i].CPU += p.CPU
		t.watch[i].Ended = t.watch[i].Ended || p.Ended
	}
	// The whole distributions are in the sum.
	r.report.Histograms, r.report.Names, r.report.Series = Histograms{}, nil, nil
	t.blocks = append(t.blocks, *r)
}

// total is the target's side as a report of its own: one window of its series
// for each block.
func (t *turn) total(started time.Time, early bool) *Report {
	p, o := t.duel.Plan, &t.duel.Options
	target := t.who.Target
	if target == "" {
		target = p.Target
	}
	r := &Report{
		Format: ReportFormat, Plan: p.Name, Target: target, Model: p.Model(), Started: started.UTC(), Early: early,
		Seconds: t.spent.Seconds(), Seed: o.Seed, Unfinished: t.sum.unfinished, Codes: map[string]int64{}, Errors: t.sum.errors,
		Users: t.users, Processes: t.watch,
	}
	r.count(p, t.sum)
	r.Generator = Generator{CPU: t.own, Cores: t.own / 1e3 / max(r.Seconds, 1e-9), CPUPerRequest: t.own * 1e3 / float64(max(r.Requests, 1))}
	for i := range r.Processes {
		r.Processes[i].CPUPerRequest = r.Processes[i].CPU / float64(max(r.Completed, 1))
		r.CPUPerRequest += r.Processes[i].CPUPerRequest
	}
	for i := range t.blocks {
		b := t.blocks[i].report
		in := &b.Latency.Intended
		r.Series = append(r.Series, Point{
			At: t.blocks[i].at.Sub(started).Seconds(), Width: t.duel.Block.Seconds(), Span: thousandths(b.Seconds),
			Arrivals: b.Users.Started, Completed: b.Completed, Failed: b.Failed, Requests: b.Requests, Timed: in.Count,
			Min: latency.Milliseconds(in.Min), Mean: latency.Milliseconds(in.Mean), Max: latency.Milliseconds(in.Max),
			P50: latency.Milliseconds(in.P50), P75: latency.Milliseconds(in.P75), P90: latency.Milliseconds(in.P90),
			P95: latency.Milliseconds(in.P95), P99: latency.Milliseconds(in.P99), P999: latency.Milliseconds(in.P999),
			Codes: b.Codes, Errors: b.Errors, Finished: b.Users.Finished, Broken: b.Users.Failed, Skipped: b.Users.Skipped,
			Received: b.Received, Late: latency.Milliseconds(b.Latency.ScheduleError.Max), GeneratorCores: thousandths(b.Generator.Cores),
		})
	}
	r.Void = voidReason(&r.Latency, o.MaxLate)
	r.Warnings = append(r.Warnings, warnings(r, p.HTTP.Timeout)...)
	return r
}

// reservoir keeps at most maxValues of a block's latencies, each with the same
// chance (Vitter's algorithm R).
type reservoir struct {
	mu sync.Mutex
	// The following is guarded by mu.
	rng  *rand.Rand
	kept []float64
	seen int
	// answers, and when the first and the last of them were whole.
	answers     int
	first, last time.Time
}

const maxValues = 1 << 20

func (v *reservoir) see(o *observed) {
	if o.status == 0 && o.failure != ErrorTimeout {
		return
	}
	// Half a nanosecond for what a coarse clock calls nothing: a sample's values
	// are above zero.
	ms := max(o.done.Sub(o.intended).Seconds()*1e3, 5e-7)
	v.mu.Lock()
	defer v.mu.Unlock()
	if o.status > 0 {
		if v.answers++; v.answers == 1 || o.done.Before(v.first) {
			v.first = o.done
		}
		if o.done.After(v.last) {
			v.last = o.done
		}
	}
	v.seen++
	if len(v.kept) < maxValues {
		v.kept = append(v.kept, ms)
		return
	}
	if i := v.rng.IntN(v.seen); i < maxValues {
		v.kept[i] = ms
	}
}

// rate is the block's answers over time. It counts from the first answer to
// the last: where a target keeps up that is the rate of the plan, and where it
// does not, the rate at which it worked off what it had.
func (v *reservoir) rate() paired.Share {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.answers < 2 {
		return paired.Share{}
	}
	return paired.Share{Sum: float64(v.answers - 1), Of: v.last.Sub(v.first).Seconds()}
}
