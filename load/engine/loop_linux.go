package engine

import (
	"sync"
	"time"
)

// Available says whether this system has event loops.
const Available = true

// Loop multiplexes the connections of many jobs on one thread by epoll. Calls that
// would block (TLS, name look-ups) run on goroutines apart.
//
// Post, Finish, Halt and Abort may be called by any goroutine. All else belongs to the
// loop's goroutine and its fibers, which run one at a time.
type Loop struct {
	now       func() time.Time
	poll      *poller
	running   *Fiber
	fibers    []*Fiber // all that exist
	idle      []*Fiber // those without a job, most recently used last
	active    int      // fibers with a job
	timers    timerHeap
	ready     []*Fiber // to be resumed before the next wait
	sockets   socketTable
	addresses map[string]*resolvedName
	blocked   sync.WaitGroup // the goroutines of RunBlocking

	schedule     Schedule
	scheduleDone func() // called once nothing is left to start
	halted       bool
	aborted      bool

	mu sync.Mutex
	// The following is guarded by mu.
	posted  []func()
	closing bool // Run returns once all jobs are done
	ended   bool // Run has returned
}

// New makes a loop. The caller runs it, or closes it.
func New(now func() time.Time) (*Loop, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	return &Loop{now: now, poll: p, addresses: map[string]*resolvedName{}}, nil
}

// Close frees what a loop holds that is never run.
func (l *Loop) Close() { l.poll.close() }

// Follow starts the jobs of a schedule when they are due, until the loop is halted.
// done is called once none is left.
func (l *Loop) Follow(s Schedule, done func()) {
	if l.halted || s.Due().IsZero() {
		done()
		return
	}
	l.schedule, l.scheduleDone = s, done
}

// endSchedule starts no more of the schedule's jobs.
func (l *Loop) endSchedule() {
	l.schedule = nil
	l.scheduleDone()
}

// Post runs do on the loop's goroutine, unless the loop has ended. Any goroutine
// may call it.
func (l *Loop) Post(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.posted = append(l.posted, do)
	l.poll.wake()
}

// Finish makes Run return once all jobs are done.
func (l *Loop) Finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	l.poll.wake()
}

// Run serves the loop until Finish was called and all jobs are done. The goroutine
// that calls it is the loop's.
func (l *Loop) Run() {
	for {
		l.runPosted()
		now := l.now()
		l.startDue(now)
		l.wakeExpired(now)
		l.wakeReady()
		if l.finished() {
			break
		}
		events, err := l.poll.wait(l.now(), l.nextWake())
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
	l.blocked.Wait()
	l.mu.Lock()
	l.ended = true
	l.poll.close()
	l.mu.Unlock()
}

// runPosted runs the functions that were posted.
func (l *Loop) runPosted() {
	l.mu.Lock()
	mail := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, do := range mail {
		do()
	}
}

// finished reports whether the loop has no jobs and will get none.
func (l *Loop) finished() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing && l.active == 0 && l.schedule == nil && len(l.posted) == 0
}

// arrivalBurst bounds the scheduled jobs that start before events are polled again.
const arrivalBurst = 16

// startDue starts the jobs that are due.
func (l *Loop) startDue(now time.Time) {
	for range arrivalBurst {
		if l.schedule == nil || l.schedule.Due().After(now) {
			return
		}
		l.schedule.Start()
		// A job that started may have halted the loop.
		if l.schedule != nil && l.schedule.Due().IsZero() {
			l.endSchedule()
		}
	}
}

// Spawn runs a job on a fiber until it first waits.
func (l *Loop) Spawn(job func(*Fiber)) {
	var f *Fiber
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

// resume continues a fiber that waits, or that is in RunBlocking.
func (l *Loop) resume(f *Fiber, why wakeReason) {
	f.waiting, f.reason = false, why
	l.switchTo(f)
}

func (l *Loop) switchTo(f *Fiber) {
	l.running = f
	f.next()
	l.running = nil
}

// wakeExpired resumes the fibers whose deadline has passed.
func (l *Loop) wakeExpired(now time.Time) {
	for len(l.timers) > 0 && !l.timers[0].alarm.After(now) {
		f := l.timers[0]
		if f.waiting && f.deadline.After(now) {
			l.timers.postpone(f.deadline)
			continue
		}
		l.timers.pop()
		if f.waiting && !f.deadline.IsZero() {
			l.resume(f, wokenByDeadline)
		}
	}
}

// wakeReady resumes the fibers that got the connection they waited for.
func (l *Loop) wakeReady() {
	for len(l.ready) > 0 {
		f := l.ready[0]
		l.ready = l.ready[1:]
		l.resume(f, wokenReady)
	}
}

// nextWake is when to look at the next deadline or scheduled job; zero: there is none.
func (l *Loop) nextWake() time.Time {
	var at time.Time
	if len(l.timers) > 0 {
		at = l.timers[0].alarm
	}
	if l.schedule != nil {
		if next := l.schedule.Due().Add(l.schedule.Patience()); at.IsZero() || next.Before(at) {
			at = next
		}
	}
	return at
}

// Halt starts no more scheduled jobs, and ends the sleeps that a halt ends.
func (l *Loop) Halt() { l.Post(l.halt) }

// Abort ends whatever is under way: every wait, now and later, returns at once.
func (l *Loop) Abort() { l.Post(l.abort) }

func (l *Loop) halt() {
	l.halted = true
	if l.schedule != nil {
		l.endSchedule()
	}
	l.wakeAll(wokenByHalt, func(f *Fiber) bool { return f.wakeOnHalt })
}

func (l *Loop) abort() {
	l.halt()
	l.aborted = true
	l.wakeAll(wokenByAbort, func(*Fiber) bool { return true })
}

func (l *Loop) wakeAll(why wakeReason, which func(*Fiber) bool) {
	for _, f := range l.fibers {
		if f.waiting && which(f) {
			l.resume(f, why)
		}
	}
}
