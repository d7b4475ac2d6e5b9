package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"whittle/load/plan"
)

// eventLoop multiplexes the connections of many virtual users on one thread by
// epoll. It sends and receives plain HTTP/1.1 itself, so that a request costs no
// timer of its own, no goroutine wake-up and no switch between threads. Calls
// that would block (TLS, name look-ups) run on goroutines apart.
//
// All fields but posted, closing and ended belong to the loop's goroutine and its
// fibers, of which one at a time runs.
type eventLoop struct {
	session   *session
	shard     *shard
	poll      *poller
	running   *fiber
	fibers    []*fiber // all that exist
	idle      []*fiber // those without a job, most recently used last
	workers   []*worker
	active    int // fibers with a job
	blocking  int // of them, those in runBlocking
	timers    timerHeap
	ready     []*fiber // to be resumed before the next wait
	sockets   socketTable
	pools     map[*endpoint]*loopPool
	poolSize  int // connections per endpoint of this loop's pools; 0: no pool
	addresses map[*endpoint]*resolvedName

	// Arrivals: of n event loops each starts every nth.
	pacer        *plan.Pacer
	next         plan.Arrival
	arriving     bool
	index, loops int
	arrivalsDone func() // called once no arrival is left to start
	halted       bool
	aborted      bool

	mu sync.Mutex
	// The following is guarded by mu.
	posted  []func()
	closing bool // run returns once all jobs are done
	ended   bool // run has returned
}

// newEventLoops makes the event loops of a session. It makes none where no
// request is plain HTTP/1.1, where users send several requests at once, or where
// connections outlive the session.
func newEventLoops(s *session) ([]*eventLoop, error) {
	plain := false
	for _, q := range s.prepared {
		plain = plain || q.endpoint == nil || q.endpoint.plain()
	}
	if !plain || s.options.block != nil || s.plan.Parallel() {
		return nil, nil
	}
	n := min(eventLoopsFor(s.plan), len(s.shards))
	if s.dialer.pool > 0 {
		n = min(n, s.dialer.pool)
	}
	var loops []*eventLoop
	for i := range n {
		p, err := newPoller()
		if err != nil {
			for _, l := range loops {
				l.poll.close()
			}
			return nil, err
		}
		l := &eventLoop{
			session: s, shard: s.shards[i], poll: p, index: i, loops: n,
			pools: map[*endpoint]*loopPool{}, addresses: map[*endpoint]*resolvedName{}, arrivalsDone: func() {},
		}
		if s.dialer.pool > 0 {
			l.poolSize = (s.dialer.pool + n - 1 - i) / n
		}
		loops = append(loops, l)
	}
	return loops, nil
}

// takeArrivals starts the loop's share of the arrivals. done is called once none
// is left.
func (l *eventLoop) takeArrivals(done func()) {
	s := l.session
	l.arrivalsDone = done
	l.pacer = plan.NewPacer(s.plan.Phases, rand.New(rand.NewPCG(s.seed, pacerStream)))
	for range l.index {
		l.pacer.Next()
	}
	l.next, l.arriving = l.pacer.Next()
	if l.arriving = l.arriving && !l.halted; !l.arriving {
		done()
	}
}

// post runs do on the loop's goroutine, unless the loop has ended. Any goroutine
// may call it.
func (l *eventLoop) post(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.posted = append(l.posted, do)
	l.poll.wake()
}

// finish makes run return once all jobs are done.
func (l *eventLoop) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	l.poll.wake()
}

// run is the loop's goroutine. ctx is that of the users' requests.
func (l *eventLoop) run(ctx context.Context) {
	for {
		l.runPosted()
		now := l.session.now()
		l.startDue(ctx, now)
		l.wakeExpired(now)
		l.wakeReady()
		if l.finished() {
			break
		}
		events, err := l.poll.wait(l.session.now(), l.nextWake())
		if err != nil {
			panic(err) // the descriptors are the loop's own, so this is a bug
		}
		for i := range events {
			switch e := &events[i]; e.Fd {
			case eventTimer:
				l.poll.timerFired()
			case eventWakeup:
			default:
				l.sockets.handleEvent(l, e)
			}
		}
		l.wakeReady()
	}
	for _, f := range l.fibers {
		f.next() // without a job its coroutine returns
	}
	l.closeIdle()
	l.mu.Lock()
	l.ended = true
	l.poll.close()
	l.mu.Unlock()
}

// runPosted runs the functions that were posted.
func (l *eventLoop) runPosted() {
	l.mu.Lock()
	mail := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, do := range mail {
		do()
	}
}

// finished reports whether the loop has no jobs and will get none.
func (l *eventLoop) finished() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing && l.active == 0 && !l.arriving && len(l.posted) == 0
}

// arrivalBurst bounds the arrivals that start before events are polled again.
const arrivalBurst = 16

// startDue starts the virtual users that are due.
func (l *eventLoop) startDue(ctx context.Context, now time.Time) {
	for range arrivalBurst {
		if !l.arriving || l.session.start.Add(l.next.At).After(now) {
			return
		}
		a := l.next
		for range l.loops {
			if l.next, l.arriving = l.pacer.Next(); !l.arriving {
				break
			}
		}
		if l.session.admit(a) {
			l.spawnUser(func(f *fiber, w *worker) {
				w.runUser(ctx, a)
				l.session.inFlight.Add(-1)
				l.session.finished.Add(1)
			})
		}
		if !l.arriving {
			l.arrivalsDone()
		}
	}
}

// spawnUser runs a job on a fiber with a worker, until it first waits.
func (l *eventLoop) spawnUser(job func(*fiber, *worker)) {
	var w *worker
	if n := len(l.workers); n > 0 {
		w = l.workers[n-1]
		l.workers = l.workers[:n-1]
	} else {
		w = newWorker(l.session, l.shard)
	}
	l.spawn(func(f *fiber) {
		w.fiber = f
		job(f, w)
		w.fiber = nil
		l.workers = append(l.workers, w)
	})
}

// spawn runs a job on a fiber until it first waits.
func (l *eventLoop) spawn(job func(*fiber)) {
	var f *fiber
	if n := len(l.idle); n > 0 {
		f = l.idle[n-1]
		l.idle = l.idle[:n-1]
	} else {
		f = newFiber(l)
		l.fibers = append(l.fibers, f)
	}
	l.active++
	f.job = job
	l.switchTo(f)
}

// postUser runs a virtual user on the loop. Any goroutine may call it.
func (l *eventLoop) postUser(w *worker, life func()) {
	l.post(func() {
		l.spawn(func(f *fiber) {
			w.fiber = f
			life()
		})
	})
}

// recycle keeps a fiber whose job is done for the next job.
func (l *eventLoop) recycle(f *fiber) {
	l.active--
	l.idle = append(l.idle, f)
}

// resume continues a fiber that waits, or that is in runBlocking.
func (l *eventLoop) resume(f *fiber, why wakeReason) {
	l.timers.remove(f)
	f.waiting, f.reason = false, why
	l.switchTo(f)
}

func (l *eventLoop) switchTo(f *fiber) {
	l.running = f
	f.next()
	l.running = nil
}

// wakeExpired resumes the fibers whose deadline has passed.
func (l *eventLoop) wakeExpired(now time.Time) {
	for len(l.timers) > 0 && !l.timers[0].deadline.After(now) {
		l.resume(l.timers[0], wokenByDeadline)
	}
}

// wakeReady resumes the fibers that got the connection they waited for.
func (l *eventLoop) wakeReady() {
	for len(l.ready) > 0 {
		f := l.ready[0]
		l.ready = l.ready[1:]
		l.resume(f, wokenReady)
	}
}

// nextWake is when the next deadline or arrival is due; zero: none is.
func (l *eventLoop) nextWake() time.Time {
	var at time.Time
	if len(l.timers) > 0 {
		at = l.timers[0].deadline
	}
	if l.arriving {
		if next := l.session.start.Add(l.next.At); at.IsZero() || next.Before(at) {
			at = next
		}
	}
	return at
}

// halt starts no further arrivals, and resumes the fibers that wait with
// wakeOnHalt.
func (l *eventLoop) halt() {
	l.halted = true
	if l.arriving {
		l.arriving = false
		l.arrivalsDone()
	}
	l.wakeAll(wokenByHalt, func(f *fiber) bool { return f.wakeOnHalt })
}

// abort ends whatever is under way.
func (l *eventLoop) abort() {
	l.halt()
	l.aborted = true
	l.wakeAll(wokenByAbort, func(*fiber) bool { return true })
}

func (l *eventLoop) wakeAll(why wakeReason, which func(*fiber) bool) {
	for _, f := range l.fibers {
		if f.waiting && which(f) {
			l.resume(f, why)
		}
	}
}
