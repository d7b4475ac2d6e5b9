// Package load runs a load plan against a target: plan → pacer → senders →
// histograms → report. Arrivals are open: they come at their intended times
// whether or not the target keeps up, and latency counts from those times.
package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"whittle"
	"whittle/load/plan"
	"whittle/load/report"
)

// Options are what a run is told beside its plan. The zero value runs the plan
// as it is.
type Options struct {
	// Target replaces the plan's own base URL. Empty: the plan's.
	Target string
	// Pool replaces the plan's number of shared connections where positive.
	Pool int
	// MaxInFlight bounds the virtual users under way at once; arrivals above it
	// are skipped and counted. 0: 10,000.
	MaxInFlight int
	// Seed makes the choices of a run repeatable. 0: a random one, which the
	// report names.
	Seed uint64
	// Headers appends name, value pairs that every request of virtual user i
	// (from 0) carries. Called on many goroutines at once. Nil: none.
	Headers func(pairs []string, i int64) []string
	// OnAnswer is called for every request that ended, on many goroutines at
	// once; the body (its first MiB) belongs to the callee only until it
	// returns. Nil: nobody looks.
	OnAnswer func(Answer)
	// OnLog is called with the lines of the plan's log steps, on many goroutines
	// at once. Nil: they are not even rendered.
	OnLog func(user int64, line string)
	// OnProgress is called about once a second, from one goroutine. Nil:
	// nobody looks.
	OnProgress func(report.Progress)
	// Watch names processes whose CPU time is measured over the run.
	Watch []Process
	// WatchURLs are followed over the run as Watch is by process id: the
	// process_cpu_seconds_total of a Prometheus metrics page or, where a path is
	// /debug/pprof/, the samples of Go's CPU profile, which takes a second before
	// the run and up to one after it.
	WatchURLs []string
	// Protocol is HTTP1, HTTP2 or GRPC, for all requests. Empty: HTTP1.
	Protocol string
	// Descriptor is the binary FileDescriptorSet of gRPC's contract.
	Descriptor []byte
	// Grace is how long requests under way may go on when the context ends.
	// 0: 2 s; negative: not at all.
	Grace time.Duration
	// MaxLate is the schedule error that a run may have at its 99th percentile
	// (or a tenth of the median latency, where that is more) without being
	// void. 0: 10 ms.
	MaxLate time.Duration
	// Now is the clock. Nil: time.Now.
	Now func() time.Time

	block *Blocks // what the run is a block of; nil: it is a whole run
}

// Answer is what one request came to.
type Answer struct {
	User    int64  // the virtual user, from 0
	Name    string // the request's name in the report
	Status  int    // 0: no whole answer
	Failure string // an error kind, empty for none
	Body    []byte
	// Intended, Sent and Done: latency is Done − Intended.
	Intended, Sent, Done time.Time
}

// WithDefaults fills in what is zero.
func (o Options) WithDefaults() Options {
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 10_000
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()>>12 | 1 // 52 bits: exact in JSON
	}
	if o.Grace == 0 {
		o.Grace = 2 * time.Second
	}
	if o.MaxLate <= 0 {
		o.MaxLate = 10 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Run sends what the plan says, and returns when every virtual user has come
// to its end. When ctx ends, no more users start, those under way get Grace,
// and the report covers what was sent; that is not an error. An error means
// that nothing could be sent: a plan without a target, a process that cannot
// be watched.
func Run(ctx context.Context, p *plan.Plan, o Options) (*report.Report, error) {
	o = o.WithDefaults()
	target := o.Target
	if target == "" {
		target = p.Target
	}
	if target == "" && p.Relative() {
		return nil, whittle.Errorf(whittle.Invalid, "run plan %s: no target", p.Name).
			WithHint("give config.target in the plan, or a target on the command line")
	}
	if err := checkProtocol(&o); err != nil {
		return nil, fmt.Errorf("run plan %s: %w", p.Name, err)
	}
	prepared, origins, err := prepare(p, target, o.Protocol)
	if err != nil {
		return nil, fmt.Errorf("run plan %s: %w", p.Name, err)
	}
	pool := p.HTTP.Pool
	if o.Pool > 0 {
		pool = o.Pool
	}
	var contract *calls
	if o.Protocol == GRPC {
		if contract, err = newCalls(p, o.Descriptor); err != nil {
			return nil, fmt.Errorf("run plan %s: %w", p.Name, err)
		}
	}
	cut, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	s := &session{
		plan: p, options: o, prepared: prepared, origins: origins, dialer: newDialer(pool, o.Now),
		seed: o.Seed, shards: newShards(len(p.Names)), calls: contract, common: new(common),
	}
	cpu, err := watch(o.Watch)
	if err != nil {
		return nil, err
	}
	pages, err := openPages(ctx, o.WatchURLs)
	if err != nil {
		return nil, err
	}
	timer, err := newNapper()
	if err != nil {
		return nil, err
	}
	defer timer.close()
	if o.block == nil {
		defer s.dialer.closeIdle()
	}
	o.block.join(s)
	if len(p.Before) > 0 && s.base == nil {
		if err := s.before(ctx); err != nil {
			return nil, err
		}
		if cpu, err = watchAgain(ctx, o.Watch, pages); err != nil {
			return nil, err
		}
	}
	if s.lanes, err = newLanes(s); err != nil {
		return nil, err
	}
	s.start = o.Now()
	m := newMonitor(s, cpu)
	m.pages = pages
	m.begin(ctx)
	ctx, s.halt = context.WithCancel(ctx)
	defer s.halt()
	s.halted = ctx.Done()
	s.cut = func() {
		stop()
		s.dialer.end()
		for _, l := range s.lanes {
			l.post(l.end)
		}
	}
	if p.Arriving != nil {
		s.crowds = []*crowd{{Group: p.Arriving, index: -1}}
	}
	defer s.runLanes(ctx, cut)()
	arrive := s.pace
	if p.Closed() {
		arrive = s.gather
	}
	early := !arrive(ctx, cut, timer)
	s.finish(ctx)
	m.end()
	r := m.report(target, early || s.halting.Load())
	if o.block != nil {
		return r, nil // the flow after the run is behind the last of them
	}
	if warning := s.after(ctx); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r, nil
}

// pace lets the virtual users arrive; false says that ctx ended it early. What
// they have under way goes on until cut ends.
func (s *session) pace(ctx, cut context.Context, timer *napper) bool {
	if len(s.lanes) > 0 {
		s.lanesPace()
		return timer.sleepUntil(ctx, s.options.Now, s.start.Add(plan.TotalLength(s.plan.Phases)))
	}
	next := plan.NewPacer(s.plan.Phases, rand.New(rand.NewPCG(s.seed, pacerStream))).Next
	if b := s.options.block; b != nil {
		next = b.next
	}
	for {
		a, ok := next()
		if !ok {
			return timer.sleepUntil(ctx, s.options.Now, s.start.Add(plan.TotalLength(s.plan.Phases)))
		}
		if !timer.sleepUntil(ctx, s.options.Now, s.start.Add(a.At)) {
			return false
		}
		s.arrive(cut, a)
	}
}

// runLanes starts the lanes; they take no more users once ctx has ended.
func (s *session) runLanes(ctx, cut context.Context) (forget func() bool) {
	for _, l := range s.lanes {
		s.wg.Go(func() { l.run(cut) })
	}
	return context.AfterFunc(ctx, func() {
		for _, l := range s.lanes {
			l.post(l.halt)
		}
	})
}

// pacerStream keeps the pacer's random numbers apart from the users'.
const pacerStream = 0x70616365

// lanesPace returns when the lanes have let the last virtual user come, or ctx
// has ended that.
func (s *session) lanesPace() {
	var wg sync.WaitGroup
	for _, l := range s.lanes {
		wg.Add(1)
		l.post(func() { l.follow(wg.Done) })
	}
	wg.Wait()
}

// finish waits for the users under way; once ctx has ended, at most Grace.
func (s *session) finish(ctx context.Context) {
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		s.settle()
	}()
	select {
	case <-settled:
		return
	case <-ctx.Done():
	}
	t := time.NewTimer(max(s.options.Grace, 0))
	defer t.Stop()
	select {
	case <-t.C:
		s.cut()
		<-settled
	case <-settled:
	}
}
