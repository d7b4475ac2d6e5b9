package engine

import (
	"context"
	"iter"
	"time"
)

// Fiber is a coroutine on an event loop. The loop's goroutine resumes it, and it
// yields to the loop whenever it has to wait. A switch costs a fraction of waking
// a goroutine and never wakes a thread.
type Fiber struct {
	loop  *Loop
	next  func() (struct{}, bool)
	yield func(struct{}) bool
	job   func(*Fiber) // what to run next; nil: return

	waiting    bool
	wakeOnHalt bool      // halting the run ends the wait
	deadline   time.Time // when the wait ends at the latest; zero: never
	alarm      time.Time // when the loop looks at the deadline next, which may have moved on by then
	heapIndex  int       // in the loop's timers; −1: not in them
	reason     wakeReason
}

// wakeReason is why a wait ended.
type wakeReason uint8

const (
	wokenReady      wakeReason = iota // the event or connection waited for has come
	wokenByDeadline                   // the deadline has passed
	wokenByHalt                       // the run begins no further steps
	wokenByAbort                      // the run was aborted
)

func newFiber(l *Loop) *Fiber {
	f := &Fiber{loop: l, heapIndex: -1}
	f.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		for f.job != nil {
			f.job(f)
			f.job = nil
			l.active--
			l.idle = append(l.idle, f)
			yield(struct{}{})
		}
	})
	return f
}

// wait yields to the loop until the fiber is resumed or the deadline passes. On an
// aborted loop it returns at once.
func (f *Fiber) wait(until time.Time) wakeReason {
	if f.loop.aborted {
		return wokenByAbort
	}
	f.waiting, f.deadline = true, until
	if !until.IsZero() {
		f.loop.timers.lookBy(f, until)
	}
	f.yield(struct{}{})
	return f.reason
}

// RunBlocking runs a blocking call on a goroutine of its own, while the loop goes
// on.
func (f *Fiber) RunBlocking(do func()) {
	l := f.loop
	l.blocked.Go(func() {
		do()
		l.Post(func() { l.resume(f, wokenReady) })
	})
	l.poll.blocking++
	f.yield(struct{}{})
	l.poll.blocking--
}

// SleepUntil waits until a time. False: ctx ended or the loop was aborted before or,
// where halts is set, halted.
func (f *Fiber) SleepUntil(ctx context.Context, until time.Time, halts bool) bool {
	if !f.loop.now().Before(until) {
		return ctx.Err() == nil
	}
	if halts && f.loop.halted {
		return false
	}
	f.wakeOnHalt = halts
	why := f.wait(until)
	f.wakeOnHalt = false
	return why == wokenByDeadline && ctx.Err() == nil
}
