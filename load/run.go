// Package load is the load generator: it runs a plan of virtual users against a
// target and measures it. In the open model, users arrive at their intended times
// whether or not the target keeps up, and latency counts from those times, so that
// there is no coordinated omission. In the closed model, a fixed number of users
// each send their next request after the response to the previous one.
//
// The path of a request is plan → pacer → worker (one per virtual user) →
// connection → recorder → report.
package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"whittle"
	"whittle/load/cpu"
	"whittle/load/engine"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/load/wire"
)

// Options are the settings of a run that are not in its plan. The zero value runs
// the plan as it is.
type Options struct {
	// Target replaces the plan's own base URL. Empty: the plan's.
	Target string
	// Pool replaces the plan's number of shared connections where positive.
	Pool int
	// MaxInFlight bounds the virtual users under way at once; arrivals above it
	// are skipped and counted. 0: 10,000.
	MaxInFlight int
	// Seed makes the random choices of a run repeatable. 0: a random seed, which
	// is in the report.
	Seed uint64
	// Headers appends the headers, as name and value in turn, of all requests of
	// virtual user i (from 0). Called on many goroutines at once. Nil: none.
	Headers func(pairs []string, i int64) []string
	// OnResult is called for every request that ended, on many goroutines at
	// once; the body (its first MiB) is valid only until it returns. Nil: not
	// called.
	OnResult func(Result)
	// OnLog is called with the lines of the plan's log steps, on many goroutines
	// at once. Nil: the lines are not rendered.
	OnLog func(user int64, line string)
	// OnProgress is called about once a second, from one goroutine. Nil: not
	// called.
	OnProgress func(report.Progress)
	// Watch names processes whose CPU time is measured over the run.
	Watch []cpu.Process
	// WatchURLs are pages that give a process's CPU time: a Prometheus metrics page
	// with process_cpu_seconds_total or, where a path is /debug/pprof/, Go's CPU
	// profile, which takes a second before the run and up to one after it.
	WatchURLs []string
	// Protocol is wire.HTTP1, wire.HTTP2 or wire.GRPC, for all requests. Empty:
	// wire.HTTP1.
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

	block *Blocks // of which the run is a block; nil: it is a whole run
}

// Result is the outcome of one request.
type Result struct {
	User    int64  // the virtual user, from 0
	Name    string // the request's name in the report
	Status  int    // 0: no complete response
	Failure string // an error kind, empty for none
	Body    []byte
	// Intended, Sent and Done: latency is Done − Intended.
	Intended, Sent, Done time.Time
}

// WithDefaults sets the documented defaults of zero fields.
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

// Run runs the plan, and returns when every virtual user has ended. When ctx ends,
// no more users start, those under way get Grace, and the report covers what was
// sent; that is not an error. An error means that nothing could be sent: a plan
// without a target, a process that cannot be watched.
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
	network, err := o.network(p, target)
	if err != nil {
		return nil, fmt.Errorf("run plan %s: %w", p.Name, err)
	}
	cut, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	s := &session{
		plan: p, options: o, network: network,
		seed: o.Seed, shards: newShards(len(p.Names)), shared: new(sharedState),
	}
	watched, err := cpu.WatchProcesses(o.Watch)
	if err != nil {
		return nil, err
	}
	pages, err := cpu.OpenSources(ctx, o.WatchURLs)
	if err != nil {
		return nil, err
	}
	timer, err := engine.NewTimer()
	if err != nil {
		return nil, err
	}
	defer timer.Close()
	if o.block == nil {
		defer s.network.CloseIdle()
	}
	o.block.attach(s)
	if len(p.Before) > 0 && s.base == nil {
		if err := s.before(ctx); err != nil {
			return nil, err
		}
		if watched, err = rewatch(ctx, o.Watch, pages); err != nil {
			return nil, err
		}
	}
	if s.loops, err = newUserLoops(s); err != nil {
		return nil, err
	}
	s.start = o.Now()
	m := newMonitor(s, watched)
	m.pages = pages
	m.start(ctx)
	ctx, s.halt = context.WithCancel(ctx)
	defer s.halt()
	s.halted = ctx.Done()
	s.abort = func() {
		stop()
		s.network.Abort()
		for _, l := range s.loops {
			l.Abort()
		}
	}
	if p.OpenGroup != nil {
		s.groups = []*userGroup{{Group: p.OpenGroup, index: -1}}
	}
	defer s.startLoops(ctx, cut)()
	arrive := s.paceArrivals
	if p.Closed() {
		arrive = s.startUsers
	}
	early := !arrive(ctx, cut, timer)
	s.finish(ctx)
	m.finish()
	r := m.report(target, early || s.stoppedEarly.Load())
	if o.block != nil {
		return r, nil // the flow after the run follows the last block
	}
	if warning := s.after(ctx); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r, nil
}

// network prepares a plan's requests to a target.
func (o *Options) network(p *plan.Plan, target string) (*wire.Network, error) {
	c := wire.Config{Plan: p, Target: target, Protocol: o.Protocol, Descriptor: o.Descriptor, Pool: p.HTTP.Pool, Now: o.Now}
	if o.Pool > 0 {
		c.Pool = o.Pool
	}
	if o.OnResult != nil {
		c.KeepBody = expr.MaxBody
	}
	return wire.NewNetwork(c)
}

// rewatch takes the first readings again, so that the CPU time of the flow before
// the run is not counted.
func rewatch(ctx context.Context, ps []cpu.Process, pages []cpu.Source) ([]*cpu.Watch, error) {
	for _, p := range pages {
		if err := p.Reopen(ctx); err != nil {
			return nil, err
		}
	}
	return cpu.WatchProcesses(ps)
}

// paceArrivals starts the virtual users of open arrivals. Their requests go on
// until cut ends. False: ctx ended before the last had started.
func (s *session) paceArrivals(ctx, cut context.Context, timer *engine.Timer) bool {
	if len(s.loops) > 0 {
		s.paceOnLoops()
		return timer.SleepUntil(ctx, s.options.Now, s.start.Add(plan.TotalLength(s.plan.Phases)))
	}
	next := plan.NewPacer(s.plan.Phases, rand.New(rand.NewPCG(s.seed, pacerStream))).Next
	if b := s.options.block; b != nil {
		next = b.next
	}
	for {
		a, ok := next()
		if !ok {
			return timer.SleepUntil(ctx, s.options.Now, s.start.Add(plan.TotalLength(s.plan.Phases)))
		}
		if !timer.SleepUntil(ctx, s.options.Now, s.start.Add(a.At)) {
			return false
		}
		s.startArrival(cut, a)
	}
}

// startLoops starts the event loops; they start no more users once ctx has ended.
func (s *session) startLoops(ctx, cut context.Context) (stop func() bool) {
	for _, l := range s.loops {
		s.wg.Go(func() { l.serve(cut) })
	}
	return context.AfterFunc(ctx, func() {
		for _, l := range s.loops {
			l.Halt()
		}
	})
}

// pacerStream is the pacer's random stream, apart from those of the users.
const pacerStream = 0x70616365

// paceOnLoops starts the virtual users on the event loops. It returns when the last
// has started, or when ctx has ended.
func (s *session) paceOnLoops() {
	var wg sync.WaitGroup
	for _, l := range s.loops {
		wg.Add(1)
		l.Post(func() { l.takeArrivals(wg.Done) })
	}
	wg.Wait()
}

// finish waits for the users under way; once ctx has ended, at most Grace.
func (s *session) finish(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.waitForUsers()
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	t := time.NewTimer(max(s.options.Grace, 0))
	defer t.Stop()
	select {
	case <-t.C:
		s.abort()
		<-done
	case <-done:
	}
}
