package load

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/wire"
)

// session is the state of one run.
type session struct {
	plan    *plan.Plan
	options Options
	network *wire.Network
	base    []expr.Value // the variables after the flow before the run; nil: there was none
	seed    uint64
	start   time.Time
	shards  []*shard
	// onResult is called for every request that ended, on many goroutines at once.
	// Nil: not called.
	onResult func(Result)

	groups []*userGroup // of a closed plan
	// halted is closed by halt: no further step begins. stoppedEarly says that this
	// changed what the plan would have done. abort ends the requests under way.
	halted       <-chan struct{}
	halt         func()
	stoppedEarly atomic.Bool
	abort        func()
	shared       *sharedState
	state        sync.Map // shared by this session's users, by the step that stores it

	users, inFlight, finished, failed, skipped atomic.Int64

	// loops run the users; none: each user has a goroutine.
	loops []*userLoop

	wg sync.WaitGroup

	mu sync.Mutex
	// The following is guarded by mu.
	parked  []*worker // waiting for an arrival, most recently used last
	closing bool
	workers int
}

// sharedState is shared by all users of a plan, in all blocks of it.
type sharedState struct {
	state     sync.Map     // by the step that stores it
	rowRounds atomic.Int64 // loops of a closed plan's users that were given rows
}

func (s *session) now() time.Time { return s.options.Now() }

// startArrival starts a virtual user, or counts it as skipped where too many are
// under way. When ctx ends, its requests are aborted.
func (s *session) startArrival(ctx context.Context, a plan.Arrival) {
	if !s.admit(a) {
		return
	}
	s.mu.Lock()
	if n := len(s.parked); n > 0 {
		w := s.parked[n-1]
		s.parked = s.parked[:n-1]
		s.mu.Unlock()
		w.arrivals <- a
		return
	}
	w := newWorker(s, s.shards[s.workers%len(s.shards)])
	s.workers++
	s.mu.Unlock()
	s.wg.Go(func() { w.serveArrivals(ctx, a) })
}

// admit counts a virtual user as under way, or as skipped.
func (s *session) admit(a plan.Arrival) bool {
	limit := int64(s.options.MaxInFlight)
	if m := s.plan.Phases[a.Phase].MaxUsers; m > 0 {
		limit = min(limit, int64(m))
	}
	if s.inFlight.Add(1) > limit {
		s.inFlight.Add(-1)
		s.skipped.Add(1)
		return false
	}
	return true
}

// park keeps a worker for the next arrival. False: the worker must end.
func (s *session) park(w *worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.parked = append(s.parked, w)
	return true
}

// waitForUsers starts no further users, and waits until those under way and all
// goroutines of the session have ended.
func (s *session) waitForUsers() {
	s.mu.Lock()
	s.closing = true
	for _, w := range s.parked {
		close(w.arrivals)
	}
	s.parked = nil
	s.mu.Unlock()
	for _, l := range s.loops {
		l.Finish()
	}
	s.wg.Wait()
	if s.options.block == nil {
		s.network.CloseIdle()
	}
}

// sleepUntil waits until a time. False: the run was aborted before or, where halts
// is set, halted.
func (w *worker) sleepUntil(ctx context.Context, until time.Time, halts bool) bool {
	if w.fiber != nil {
		return w.fiber.SleepUntil(ctx, until, halts)
	}
	d := until.Sub(w.run.now())
	if d <= 0 {
		return ctx.Err() == nil
	}
	var halted <-chan struct{}
	if halts {
		halted = w.run.halted
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-halted:
	case <-ctx.Done():
	}
	return false
}

// drain returns and resets what all shards counted since the last sample.
func (s *session) drain() *delta {
	p := new(delta)
	for _, sh := range s.shards {
		sh.mu.Lock()
		p.drain(&sh.recent)
		sh.mu.Unlock()
	}
	return p
}

func (s *session) total() *tally {
	t := newTally(len(s.plan.Names))
	for _, sh := range s.shards {
		sh.mu.Lock()
		t.merge(sh.sum)
		sh.mu.Unlock()
	}
	return t
}

func newShards(names int) []*shard {
	shards := make([]*shard, min(runtime.GOMAXPROCS(0), 8))
	for i := range shards {
		shards[i] = &shard{sum: newTally(names)}
	}
	return shards
}
