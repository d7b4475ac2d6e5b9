package load

import (
	"context"
	"iter"
	"time"
)

// fiber is one flow of control on a lane: a coroutine, which the lane's
// goroutine goes into and which comes back whenever it has to wait. Passing
// control to and fro costs a fraction of waking a goroutine, and never wakes a
// thread.
type fiber struct {
	lane  *lane
	next  func() (struct{}, bool)
	yield func(struct{}) bool
	job   func(*fiber) // what to do next; nil: to end

	waiting bool
	halts   bool      // a halt of the run ends the wait
	until   time.Time // when the wait is over at the latest; zero: never
	place   int       // in the lane's queue of such times; −1: not in it
	why     cause
}

// cause is why a wait was over.
type cause uint8

const (
	causeReady cause = iota // what was waited for is there
	causeTime               // the time has come
	causeHalt               // the run takes no further steps
	causeEnd                // the run was cut off
)

func newFiber(l *lane) *fiber {
	f := &fiber{lane: l, place: -1}
	f.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		for f.job != nil {
			f.job(f)
			f.job = nil
			l.rest(f)
			yield(struct{}{})
		}
	})
	return f
}

// wait gives control back to the lane until something wakes the fiber, or the
// time has come. A lane that was cut off waits for nothing.
func (f *fiber) wait(until time.Time) cause {
	if f.lane.cut {
		return causeEnd
	}
	f.waiting, f.until = true, until
	if !until.IsZero() {
		f.lane.times.push(f)
	}
	f.yield(struct{}{})
	return f.why
}

// away runs what would block on a goroutine of its own, while the lane goes on.
func (f *fiber) away(do func()) {
	l := f.lane
	l.away++
	l.session.wg.Go(func() {
		do()
		l.post(func() {
			l.away--
			l.resume(f, causeReady)
		})
	})
	f.yield(struct{}{})
}

// sleep waits until a time; false says that the run was ended before, or
// halted where the caller heeds that.
func (f *fiber) sleep(ctx context.Context, until time.Time, halts bool) bool {
	if !f.lane.session.now().Before(until) {
		return ctx.Err() == nil
	}
	if halts && f.lane.halted {
		return false
	}
	f.halts = halts
	why := f.wait(until)
	f.halts = false
	return why == causeTime && ctx.Err() == nil
}

// times is a binary heap of waiting fibers, the earliest first.
type times []*fiber

func (t *times) push(f *fiber) {
	f.place = len(*t)
	*t = append(*t, f)
	t.up(f.place)
}

// remove takes a fiber out, wherever it stands.
func (t *times) remove(f *fiber) {
	i, last := f.place, len(*t)-1
	if i < 0 {
		return
	}
	f.place = -1
	moved := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	if moved == f {
		return
	}
	(*t)[i] = moved
	moved.place = i
	t.up(i)
	t.down(moved.place)
}

func (t times) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t[i].until.Before(t[parent].until) {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t times) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t); child++ {
			if t[child].until.Before(t[least].until) {
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

func (t times) swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}
