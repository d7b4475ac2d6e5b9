package engine

import (
	"testing"
	"time"
)

// An event loop is woken for each user of a closed model by an eventfd. Were some
// of the wake-ups lost, users would wait until something else woke their loop.
func TestEveryWakeUpEndsAWait(t *testing.T) {
	p, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
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
