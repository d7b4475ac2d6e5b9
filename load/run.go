package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"whittle/load/engine"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/wire"
)

// task is what one run is made of. A run changes none of it.
type task struct {
	plan    *plan.Plan
	options Options
	seed    uint64
	network *wire.Network
	shared  *sharedState
	// base are the variables after the flow before the run; nil: there was none.
	base []expr.Value
	// firstUser is the number of the first virtual user.
	firstUser int64
	// arrivals are those of open users, from the start of the run. Nil: the plan's.
	arrivals func() (plan.Arrival, bool)
	// onResult is called for every request that ended, on many goroutines at once.
	// Nil: not called.
	onResult func(Result)
	// onSample is called about once a second with what happened since. Nil: not called.
	onSample func(*Sample)
	// givesUp is how late a user may be due for the run to go on; 0: it always does.
	givesUp time.Duration
	// mayLoop says that users may run on event loops, whose connections end with
	// the run.
	mayLoop bool
}

// sharedState is shared by all users of a plan, in all blocks of it.
type sharedState struct {
	state     sync.Map     // by the step that stores it
	rowRounds atomic.Int64 // loops of a closed plan's users that were given rows
}

// execution is the state of a task under way.
type execution struct {
	task
	began    time.Time
	recorder *recorder
	groups   []*userGroup // in the order of the plan's
	// openGroup is what users of open arrivals have in common; nil: nothing.
	openGroup *userGroup
	// loops run the users; none: each user has a goroutine.
	loops  []*userLoop
	served bool // the loops have been run
	timer  *engine.Timer
	end    ending
	state  sync.Map // shared by this run's users, by the step that stores it

	gaveUp atomic.Bool // a user was due too long ago

	users, inFlight, finished, failed, skipped atomic.Int64 // virtual users

	wg sync.WaitGroup

	mu sync.Mutex
	// The following is guarded by mu.
	parked  []*user // waiting for an arrival, most recently used last
	closing bool
	made    int // users' buffers
}

// ending is how a run is ended before its plan is.
type ending struct {
	// halted is closed by halt: no further step begins. abort ends the requests
	// under way. early says that the run was ended by one of its users.
	halted <-chan struct{}
	halt   func()
	abort  func()
	early  atomic.Bool
}

// newExecution makes a run, which begins now. The caller closes it.
func newExecution(t task) (*execution, error) {
	timer, err := engine.NewTimer()
	if err != nil {
		return nil, err
	}
	s := &execution{task: t, recorder: newRecorder(len(t.plan.Names)), timer: timer}
	s.users.Store(t.firstUser)
	for i := range t.plan.Groups {
		g := &t.plan.Groups[i]
		s.groups = append(s.groups, &userGroup{Group: g, index: i, quota: t.options.Part.Quota(g)})
	}
	if g := t.plan.OpenGroup; g != nil {
		s.openGroup = &userGroup{Group: g, index: -1}
	}
	if s.loops, err = newUserLoops(s); err != nil {
		timer.Close()
		return nil, err
	}
	s.began = s.now()
	return s, nil
}

// close frees what the run held; loops that have served have freed their own.
func (s *execution) close() {
	s.timer.Close()
	if !s.served {
		for _, l := range s.loops {
			l.Close()
		}
	}
}

func (s *execution) now() time.Time { return s.options.Now() }

// send starts the plan's users, and returns when all have ended. False: ctx ended
// before the last had started.
func (s *execution) send(ctx context.Context) bool {
	cut, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ctx, halt := context.WithCancel(ctx)
	defer halt()
	s.end.halted, s.end.halt = ctx.Done(), halt
	s.end.abort = func() {
		stop()
		s.network.Abort()
		for _, l := range s.loops {
			l.Abort()
		}
	}
	defer s.serveLoops(ctx)()
	var whole bool
	switch {
	case s.plan.Closed():
		whole = s.startUsers(ctx, cut)
	case len(s.loops) > 0:
		whole = s.paceOnLoops(ctx, cut)
	default:
		whole = s.paceArrivals(ctx, cut)
	}
	s.finish(ctx)
	return whole
}

// serveLoops runs the event loops; they start no more users once ctx has ended.
func (s *execution) serveLoops(ctx context.Context) (stop func() bool) {
	s.served = true
	for _, l := range s.loops {
		s.wg.Go(l.serve)
	}
	return context.AfterFunc(ctx, func() {
		for _, l := range s.loops {
			l.Halt()
		}
	})
}

// waitForUsers starts no further users, and waits until those under way and all
// goroutines of the run have ended.
func (s *execution) waitForUsers() {
	s.mu.Lock()
	s.closing = true
	for _, u := range s.parked {
		close(u.arrivals)
	}
	s.parked = nil
	s.mu.Unlock()
	for _, l := range s.loops {
		l.Finish()
	}
	s.wg.Wait()
}

// sleepUntil waits until a time since the run began. False: ctx ended before.
func (s *execution) sleepUntil(ctx context.Context, at time.Duration) bool {
	return s.timer.SleepUntil(ctx, s.options.Now, s.began.Add(at))
}
