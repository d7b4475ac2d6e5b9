package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// An event loop is woken for each user of a closed model by an eventfd. Were some
// of the wake-ups lost, users would wait until something else woke their loop.
func TestEveryWakeUpEndsAWait(t *testing.T) {
	p, err := newPoller()
	fatal.If(t, err)
	defer p.close()
	for i := range 10_000 {
		p.wake()
		now := time.Now()
		events, err := p.wait(now, now)
		if err != nil || len(events) != 1 || events[0].Fd != eventWakeup {
			t.Fatalf("wake-up %d: %d events, %v", i, len(events), err)
		}
	}
}

// A short wait keeps its place in Go's scheduler: it ends by its deadline, and by a
// wake-up of a goroutine that runs meanwhile.
func TestAShortWaitEnds(t *testing.T) {
	p, err := newPoller()
	fatal.If(t, err)
	defer p.close()
	wait := func(want int32) {
		t.Helper()
		for {
			now := time.Now()
			events, err := p.wait(now, now.Add(shortWait))
			fatal.If(t, err)
			for i := range events {
				if events[i].Fd == eventTimer {
					p.timerFired()
				}
				if events[i].Fd == want {
					return
				}
			}
		}
	}
	wait(eventTimer)
	go p.wake()
	wait(eventWakeup)
}

// TestAlarmsGiveTheEarliest holds the queue against a list of the fibers in it, as alarms are
// set, moved and rung.
func TestAlarmsGiveTheEarliest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q timerHeap
	var held []*Fiber
	base := time.Unix(0, 0)
	some := func() time.Time { return base.Add(time.Duration(rng.IntN(1000))) }
	for range 3_000 {
		switch n := rng.IntN(6); {
		case len(held) == 0 || n < 3:
			f := &Fiber{heapIndex: -1}
			q.lookBy(f, some())
			held = append(held, f)
		case n == 3:
			f, at := held[rng.IntN(len(held))], some()
			want := at
			if f.alarm.Before(at) {
				want = f.alarm // an earlier one stays
			}
			if q.lookBy(f, at); !f.alarm.Equal(want) {
				t.Fatalf("the alarm is at %v, want %v", f.alarm, want)
			}
		case n == 4:
			q.postpone(q[0].alarm.Add(time.Duration(rng.IntN(1000))))
		default:
			held = slices.DeleteFunc(held, func(f *Fiber) bool { return f == q[0] })
			q.pop()
		}
		if len(q) != len(held) {
			t.Fatalf("%d in the queue, %d held", len(q), len(held))
		}
		if len(held) == 0 {
			continue
		}
		first := slices.MinFunc(held, func(a, b *Fiber) int { return a.alarm.Compare(b.alarm) })
		if !q[0].alarm.Equal(first.alarm) {
			t.Fatalf("the first is %v, want %v", q[0].alarm, first.alarm)
		}
		for i, f := range q {
			if f.heapIndex != i {
				t.Fatalf("the fiber at %d thinks it is at %d", i, f.heapIndex)
			}
		}
	}
}
