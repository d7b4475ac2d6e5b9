package fleet

import (
	"os"
	"path/filepath"
	"testing"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
)

// startReplaceable starts the gateway as one whose process others replace.
func (g *whole) startReplaceable(program, file string) {
	g.w.t.Helper()
	g.processes = process.StartReplaceable(g.w.t, g.dir, []string{"FLEET_SECRET=0123456789abcdef"}, program, "run", "-c", file)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.p, g.up, g.killed = &child.Process{Public: g.processes.Public, Admin: g.processes.Admin}, true, false
}

// replace has the gateway's process replaced by another, which has its share at once.
func (g *whole) replace(share whittle.Share) {
	g.w.t.Helper()
	g.processes.Replace()
	var got float64
	process.Until(g.w.t, g.name+" says what users have", func() bool { got = g.inForce(); return got <= 1 })
	if got != float64(share)/float64(whittle.All) {
		g.w.t.Errorf("%s has a share of %v when it has taken over, not %v\n%s", g.name, got, share, g.processes.Said())
	}
}

// fails has a process replaced by one whose state file cannot be opened, which it finds once
// the old process has left the fleet.
func (g *whole) fails() {
	g.w.t.Helper()
	file := filepath.Join(g.dir, "whittle.yaml")
	good, err := os.ReadFile(file)
	fatal.If(g.w.t, err)
	fatal.If(g.w.t, os.WriteFile(file, []byte("state: whittle.db/whittle.db\n"+string(good)), 0o600))
	g.processes.FailToReplace()
}

// TestReplaced: each gateway's process is replaced under load, that of the leader too, twice
// and by one that fails as well: no user sees an error or another side, the share is in force at
// once, the ledger has each request once, those that were under way as interrupted, and a
// candidate that breaks then meets no more users than before.
func TestReplaced(t *testing.T) {
	servers := startCluster(t, 1)
	w := &walk{t: t, nats: []string{"nats://" + servers.clients[0]}, lease: lease, replaceable: true, exposure: walkExposure}
	end := w.halfway(3)
	for _, g := range w.all {
		g.replace(5000)
	}
	for _, g := range w.all {
		<-g.processes.Ended // or both have permits
		g.replace(5000)
	}
	if both := w.sides.onBoth(); len(both) > 0 {
		t.Errorf("%d users were on both sides: %s", len(both), both)
	}
	for _, g := range w.all {
		process.Until(t, g.name+" is connected", func() bool { return g.fleet().Connected })
	}
	w.promote(whittle.All)
	w.everywhere(whittle.All)

	g := w.all[0]
	g.fails()
	process.Until(t, "it to take part again", func() bool { return g.fleet().Connected && g.inForce() == 1 })

	w.breaks()
	end()
	w.adds()
	w.faultless()
}
