package control_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/fleet"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// others are the other gateways of a fleet.
type others struct {
	mu      sync.Mutex // guards the following
	floor   fleet.Floor
	waits   bool // no rise may be decided
	reports []control.Report
}

func (o *others) Floor(string) fleet.Floor {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.floor
}

func (o *others) MayRise(string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.waits
}

func (o *others) Reports(string) []control.Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reports
}

func (o *others) set(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// lead makes a controller that decides for a fleet.
func lead(t *testing.T, disk *memory, o *others) *rig {
	t.Helper()
	h := newRig(t, disk, spec())
	h.begin(func(options *control.Options) { options.Fleet = o })
	return h
}

func (h *rig) position() whittle.Position {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest[name]
}

// TestALeaderBeginsBelowWhatIsKnown: a record is taken up above every generation that a
// gateway knows of, and at no more than the share that they allow.
func TestALeaderBeginsBelowWhatIsKnown(t *testing.T) {
	inShift(t, func(t *testing.T, h *rig) {
		disk := h.disk
		saved := h.position()
		fatal.If(t, h.stop())
		kept := disk.records[name]
		for what, c := range map[string]struct {
			floor fleet.Floor
			share whittle.Share
		}{
			"nothing later":   {fleet.Floor{Generation: saved.Generation, Share: 100, Zero: 2}, 100},
			"a later one":     {fleet.Floor{Generation: saved.Generation + 40, Share: 50, Zero: 2}, 50},
			"a later, higher": {fleet.Floor{Generation: saved.Generation + 40, Share: 5000, Zero: 2}, 100},
			"a fall":          {fleet.Floor{Generation: saved.Generation, Share: 100, Zero: saved.Generation + 7}, 0},
			"a trip":          {fleet.Floor{Generation: saved.Generation, Share: 100, Trip: saved.Generation, Reason: "broken"}, 0},
		} {
			disk.records[name] = kept
			h := lead(t, disk, &others{floor: c.floor})
			h.c.Start()
			p := h.position()
			if p.Share != c.share || p.Generation <= max(c.floor.Generation, saved.Generation) || p.Zero < c.floor.Zero {
				t.Errorf("%s: %+v", what, p)
			}
			if c.share == 0 && p.Zero <= c.floor.Zero {
				t.Errorf("%s: the fall is not known to be one: %+v", what, p)
			}
			if d, err := h.c.Decided(name); err != nil || d.Share != c.share {
				t.Errorf("%s: %+v %v", what, d, err)
			}
		}
		if _, err := h.c.Decided("GET /nothing"); whittle.CodeOf(err) != whittle.NotFound {
			t.Errorf("a route that is not there: %v", err)
		}
	})
}

// TestARiseWaitsForTheFleet: nothing rises, by itself or by hand, before the fleet has
// shown what was decided last.
func TestARiseWaitsForTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &others{waits: true}
		h := lead(t, &memory{}, o)
		h.run()
		h.say(whittle.Equivalent)
		pass(time.Minute)
		fatal.Same(t, h.share(), 0, "share")
		err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote})
		fatal.Same(t, whittle.CodeOf(err), whittle.Unavailable, "a promotion: %v", err)
		o.set(func() { o.waits = false })
		pass(time.Second)
		fatal.Same(t, h.share(), 100, "share once it may rise")
	})
}

// TestALeaderThatIsBehind decides anew above what a gateway knows, and no higher.
func TestALeaderThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &others{}
		h := lead(t, &memory{}, o)
		h.run()
		h.say(whittle.Equivalent)
		pass(time.Second)
		before := h.position()
		if before.Share != 100 {
			t.Fatalf("%+v", before)
		}

		h.c.Surpass("GET /nothing", fleet.Floor{})
		h.c.Surpass(name, fleet.Floor{Generation: before.Generation + 10, Share: 5000, Zero: before.Zero})
		if p := h.position(); p.Share != 100 || p.Generation <= before.Generation+10 || p.Zero != before.Zero {
			t.Errorf("behind, and not lower: %+v after %+v", p, before)
		}
		h.c.Surpass(name, fleet.Floor{Generation: before.Generation + 20, Zero: before.Generation + 20})
		p := h.position()
		if p.Share != 0 || p.Generation <= before.Generation+20 || p.Zero != p.Generation {
			t.Errorf("a fall that was not known: %+v", p)
		}
		pass(time.Second) // it is on disk
		fatal.Same(t, h.status().Phase, whittle.PhaseRolledBack, "phase")
		// A trip of a shift that is over: the fall is decided again, later than it.
		h.c.Surpass(name, fleet.Floor{Generation: p.Generation + 1, Trip: p.Generation + 1})
		if again := h.position(); again.Share != 0 || again.Zero != again.Generation || again.Generation <= p.Generation+1 {
			t.Errorf("a trip of a shift that is over: %+v after %+v", again, p)
		}
		// What was surpassed is on disk.
		_ = h.stop()
		if got := newRig(t, h.disk, spec()); got.status().Generation <= p.Generation {
			t.Errorf("generation %d on disk", got.status().Generation)
		}
	})
}

// TestWhatGatewaysSend: exchanges of a fleet's stream are in the ledger of the gateway that
// sent them, and how far the stream is taken in is kept with them.
func TestWhatGatewaysSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		pending := func(run uint64, seq uint64, n int64) whittle.Counts {
			return whittle.Counts{Run: run, Seq: seq, Ledger: whittle.Ledger{Total: n, Pending: n}}
		}
		o := &others{reports: []control.Report{{Gateway: "a", Counts: pending(7, 1, 3)}, {Gateway: "b", Counts: pending(9, 1, 2)}}}
		h := lead(t, disk, o)
		h.run()
		send := func(h *rig, gateway string, run, place uint64, skip string) {
			h.c.ObserveSent(control.Sent{Gateway: gateway, Run: run, Place: place}, skip, exchange(200))
		}
		send(h, "a", 7, 11, "")
		send(h, "b", 9, 12, whittle.SkipStale)
		send(h, "a", 7, 15, "")
		h.c.ObserveSent(control.Sent{Gateway: "a", Run: 7, Place: 99}, "", &whittle.Exchange{Route: "GET /nothing"})
		fatal.Same(t, h.c.Place(name), 15, "place")
		fatal.Same(t, h.c.Place("GET /nothing"), 0, "place of a route that is not there")
		pass(2 * time.Second)
		l := h.status().Ledger
		if l.Total != 5 || l.Compared != 2 || l.Skipped[whittle.SkipStale] != 1 || l.Pending != 2 {
			t.Errorf("%s", l.Account())
		}
		fatal.If(t, h.stop())

		// The next leader goes on behind it, and a gateway that is restarted leaves what was
		// pending interrupted.
		o.set(func() { o.reports[1].Counts = pending(10, 1, 4) })
		next := lead(t, disk, o)
		fatal.Same(t, next.c.Place(name), 15, "the next leader begins behind")
		next.run()
		send(next, "b", 10, 16, "")
		pass(2 * time.Second)
		l = next.status().Ledger
		if l.Total != 9 || l.Compared != 3 || l.Skipped[whittle.SkipInterrupted] != 1 || l.Pending != 4 || l.Total != l.Sum() {
			t.Errorf("%s", l.Account())
		}
		// What reports say alone is kept, too.
		o.set(func() { o.reports[0].Counts = pending(7, 2, 8) })
		pass(2 * time.Second)
		if l = next.status().Ledger; l.Total != 14 {
			t.Errorf("%s", l.Account())
		}
		// What is pending at a gateway that is silent is unknown, in the record as well.
		o.set(func() { o.reports[0].Silent = true })
		pass(2 * time.Second)
		_ = next.stop()
		for _, l := range []whittle.Ledger{next.status().Ledger, lead(t, disk, o).status().Ledger} {
			if l.Total != 14 || l.Pending != 9 || l.Unknown != 6 || l.Total != l.Sum() {
				t.Errorf("%s, with %d pending", l.Account(), l.Pending)
			}
		}
	})
}
