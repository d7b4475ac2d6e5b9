package load

import (
	"context"
	"iter"
	"time"
)

// fiber is a coroutine on an event loop. The loop's goroutine resumes it, and it
// yields to the loop whenever it has to wait. A switch costs a fraction of waking
// a goroutine and never wakes a thread.
type fiber struct {
	loop  *eventLoop
	next  func() (struct{}, bool)
	yield func(struct{}) bool
	job   func(*fiber) // what to run next; nil: return

	waiting    bool
	wakeOnHalt bool      // halting the run ends the wait
	deadline   time.Time // when the wait ends at the latest; zero: never
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

func newFiber(l *eventLoop) *fiber {
	f := &fiber{loop: l, heapIndex: -1}
	f.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		for f.job != nil {
			f.job(f)
			f.job = nil
			l.recycle(f)
			yield(struct{}{})
		}
	})
	return f
}

// wait yields to the loop until the fiber is resumed or the deadline passes. On an
// aborted loop it returns at once.
func (f *fiber) wait(until time.Time) wakeReason {
	if f.loop.aborted {
		return wokenByAbort
	}
	f.waiting, f.deadline = true, until
	if !until.IsZero() {
		f.loop.timers.push(f)
	}
	f.yield(struct{}{})
	return f.reason
}

// runBlocking runs a blocking call on a goroutine of its own, while the loop goes
// on.
func (f *fiber) runBlocking(do func()) {
	l := f.loop
	l.blocking++
	l.session.wg.Go(func() {
		do()
		l.post(func() {
			l.blocking--
			l.resume(f, wokenReady)
		})
	})
	f.yield(struct{}{})
}

// sleepUntil waits until a time. False: the run was aborted before, or, where
// wakeOnHalt is set, halted.
func (f *fiber) sleepUntil(ctx context.Context, until time.Time, halts bool) bool {
	if !f.loop.session.now().Before(until) {
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

// timerHeap is a binary heap of waiting fibers, the earliest first.
type timerHeap []*fiber

func (t *timerHeap) push(f *fiber) {
	f.heapIndex = len(*t)
	*t = append(*t, f)
	t.up(f.heapIndex)
}

// remove takes a fiber out of the heap; one that is not in it changes nothing.
func (t *timerHeap) remove(f *fiber) {
	i, last := f.heapIndex, len(*t)-1
	if i < 0 {
		return
	}
	f.heapIndex = -1
	moved := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	if moved == f {
		return
	}
	(*t)[i] = moved
	moved.heapIndex = i
	t.up(i)
	t.down(moved.heapIndex)
}

func (t timerHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t[i].deadline.Before(t[parent].deadline) {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t timerHeap) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t); child++ {
			if t[child].deadline.Before(t[least].deadline) {
				least = child
			}
		}
		if least == i {
			return
		}
		t.swap(i, least)
		i = least
	}
}

func (t timerHeap) swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].heapIndex, t[j].heapIndex = i, j
}
