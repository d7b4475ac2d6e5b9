package load

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// session is one run under way.
type session struct {
	plan     *plan.Plan
	options  Options
	prepared map[*plan.Request]*prepared
	origins  *origins
	base     []expr.Value // what the flow before the run left; nil: nothing
	dialer   *dialer
	seed     uint64
	start    time.Time
	shards   []*shard
	// each is called for every request that ended, on many goroutines at once.
	// Nil: nobody looks.
	each func(Answer)

	crowds []*crowd // of a closed plan
	// halted is closed when no further step is to begin; halt does so, halting
	// says that it changed what the plan would have done. cut breaks off what is
	// under way.
	halted  <-chan struct{}
	halt    func()
	halting atomic.Bool
	cut     func()
	common  *common
	kept    sync.Map // what its users alone have in common, by the step that keeps it

	users, inFlight, finished, failed, skipped atomic.Int64

	// lanes carry the users; none: each has a goroutine.
	lanes []*lane
	// calls is the contract of gRPC; nil: it is not spoken.
	calls *calls

	wg sync.WaitGroup

	mu sync.Mutex
	// The following is guarded by mu.
	parked  []*worker // waiting for an arrival, most recently used last
	closing bool
	workers int
}

// common is what all users of a plan have in common, in all blocks of it.
type common struct {
	kept  sync.Map     // by the step that keeps it
	dealt atomic.Int64 // rounds of a closed plan's users that began with rows
}

func (s *session) now() time.Time { return s.options.Now() }

// arrive starts a virtual user, or counts it as skipped where too many are
// under way. What is under way is cut when ctx ends.
func (s *session) arrive(ctx context.Context, a plan.Arrival) {
	if !s.admitted(a) {
		return
	}
	s.mu.Lock()
	if n := len(s.parked); n > 0 {
		w := s.parked[n-1]
		s.parked = s.parked[:n-1]
		s.mu.Unlock()
		w.wake <- a
		return
	}
	w := newWorker(s, s.shards[s.workers%len(s.shards)])
	s.workers++
	s.mu.Unlock()
	s.wg.Go(func() { w.live(ctx, a) })
}

// admitted counts a virtual user as under way, or as skipped.
func (s *session) admitted(a plan.Arrival) bool {
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

// park keeps a worker for the next arrival; false tells it to end.
func (s *session) park(w *worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.parked = append(s.parked, w)
	return true
}

// settle lets the users under way come to their end, and everything with
// them.
func (s *session) settle() {
	s.mu.Lock()
	s.closing = true
	for _, w := range s.parked {
		close(w.wake)
	}
	s.parked = nil
	s.mu.Unlock()
	for _, l := range s.lanes {
		l.finish()
	}
	s.wg.Wait()
	if s.options.block == nil {
		s.dialer.closeIdle()
	}
}

// pause waits until a time; false says that the run was ended before or, where
// halts is set, halted.
func (w *worker) pause(ctx context.Context, until time.Time, halts bool) bool {
	if w.fiber != nil {
		return w.fiber.sleep(ctx, until, halts)
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

// keep is how many bytes of an answer's body are worth holding.
func (s *session) keep(q *prepared) int {
	if s.options.OnAnswer != nil {
		return max(q.keep, expr.MaxKept)
	}
	return q.keep
}

// drain empties what all shards counted since the last look.
func (s *session) drain() *pulse {
	p := new(pulse)
	for _, sh := range s.shards {
		sh.mu.Lock()
		p.drain(&sh.now)
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
