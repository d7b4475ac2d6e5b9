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

// TestTimesGiveTheEarliest holds the queue against a sorted list, with fibers
// leaving it from anywhere.
func TestTimesGiveTheEarliest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q timerHeap
	var held []*Fiber
	base := time.Unix(0, 0)
	for range 3_000 {
		switch {
		case len(held) == 0 || rng.IntN(5) < 3:
			f := &Fiber{heapIndex: -1, deadline: base.Add(time.Duration(rng.IntN(1000)))}
			q.push(f)
			held = append(held, f)
		default:
			i := rng.IntN(len(held))
			q.remove(held[i])
			q.remove(held[i]) // a second time changes nothing
			held = slices.Delete(held, i, i+1)
		}
		if len(q) != len(held) {
			t.Fatalf("%d in the queue, %d held", len(q), len(held))
		}
		if len(held) == 0 {
			continue
		}
		first := slices.MinFunc(held, func(a, b *Fiber) int { return a.deadline.Compare(b.deadline) })
		if !q[0].deadline.Equal(first.deadline) {
			t.Fatalf("the first is %v, want %v", q[0].deadline, first.deadline)
		}
		for i, f := range q {
			if f.heapIndex != i {
				t.Fatalf("the fiber at %d thinks it is at %d", i, f.heapIndex)
			}
		}
	}
}
