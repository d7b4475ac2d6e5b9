package engine

import (
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
