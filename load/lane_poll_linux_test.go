package load

import (
	"testing"
	"time"
)

// A lane is told of each closed user by its bell. One that rings only so often
// leaves the later ones waiting for something else to wake their lane.
func TestABellRingsAsOftenAsItIsRung(t *testing.T) {
	p, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for i := range 10_000 {
		p.ring()
		now := time.Now()
		events, err := p.wait(now, now)
		if err != nil || len(events) != 1 || events[0].Fd != aboutBell {
			t.Fatalf("ring %d: %d events, %v", i, len(events), err)
		}
	}
}
