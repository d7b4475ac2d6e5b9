package fleet

import (
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
)

// set has a gateway's clock so far ahead of the machine's.
func (g *whole) set(ahead time.Duration) {
	g.w.t.Helper()
	g.mu.Lock()
	clock := g.clock
	g.mu.Unlock()
	if err := clock.Set(ahead); err != nil {
		g.w.t.Fatal(err)
	}
}

// TestClocks: three gateways start by clocks that are a year and an hour off, and have
// them set to and fro, the one that leads too, in the middle of a shift and of a rollback.
// The share, the evidence and the ledger are kept, a rollback stays one, each user is on
// one side, none sees an error, and a broken candidate meets no more of them.
func TestClocks(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	servers := startCluster(t, 1)
	off := map[string]time.Duration{"g0": year, "g1": -time.Hour}
	w := &walk{t: t, nats: []string{"nats://" + servers.clients[0]}, lease: lease}
	w.begin = func(g *whole) func(*exec.Cmd) error {
		return func(cmd *exec.Cmd) error {
			c, err := process.StartWithClock(cmd, off[g.name])
			g.clock = c
			return err
		}
	}
	end := w.halfway(3)
	w.together(5000, 100, false)
	for _, name := range []string{"g0", "g1"} {
		until(t, "it is said that the clock of "+name+" is off", func() bool {
			return slices.ContainsFunc(w.all[2].fleet().Wrong, func(s string) bool { return strings.Contains(s, name) && strings.Contains(s, "clock") })
		})
	}

	for _, ahead := range []time.Duration{year, -time.Hour, 2 * lease, 0} {
		compared, generation := w.latest().Verdict.Compared, w.latest().Generation
		w.leader().set(ahead)
		w.together(5000, compared, false)
		w.all[2].set(-ahead)
		w.together(5000, compared, false)
		if g := w.latest().Generation; g < generation {
			t.Errorf("generation %d after %d", g, generation)
		}
		t.Logf("%v ahead: %d requests, %d compared", ahead, w.requests.Load(), w.latest().Verdict.Compared)
	}

	// One that is killed comes back with another clock.
	lead := w.leader()
	lead.leave(syscall.SIGKILL)
	off[lead.name] = -year
	w.leader()
	lead.start()
	w.together(5000, w.latest().Verdict.Compared, false)

	w.promote(whittle.All)
	w.everywhere(whittle.All)
	w.breaks()
	for _, ahead := range []time.Duration{year, -year, 0} {
		for _, g := range w.all {
			g.set(ahead)
		}
		w.connected()
		w.none("after a rollback, with clocks that were set")
	}
	end()
	w.adds()
	w.faultless()
	w.judged()
}
