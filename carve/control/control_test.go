package control_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

// shifted is a harness with a candidate at 1 %.
func shifted(t *testing.T, disk *memory) *rig {
	t.Helper()
	h := newRig(t, disk, spec())
	shift(h)
	return h
}

// shift lets a harness that is made begin its shift.
func shift(h *rig) {
	h.t.Helper()
	h.run()
	h.say(whittle.Equivalent)
	pass(time.Second)
	if got := h.share(); got != 100 {
		h.t.Fatalf("the shift did not start: share %d", got)
	}
	h.journal.take()
}

func TestWalkFromShadowToLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t, &memory{}, spec())
		h.run()
		pass(5 * time.Second)
		if s := h.status(); s.Phase != whittle.PhaseShadow || s.Next != "shadow → 1 %: needs the verdict EQUIVALENT (UNDECIDED now)." {
			t.Errorf("at first: %s, %q", s.Phase, s.Next)
		}
		h.say(whittle.Equivalent)
		pass(time.Second)
		if s := h.status(); s.Phase != whittle.PhaseShift || s.Percent != 1 || !strings.HasPrefix(s.Next, "1 % → 25 % in ") {
			t.Errorf("after the verdict: %+v", s)
		}
		for range 2 {
			h.users(whittle.Candidate, 200, 4)
			pass(time.Minute)
			h.users(whittle.Candidate, 200, 1)
			pass(time.Second)
		}
		h.users(whittle.Candidate, 200, 5)
		pass(11 * time.Second)
		s := h.status()
		if s.Phase != whittle.PhaseLive || s.Share != whittle.All || len(s.Timeline) != 4 {
			t.Errorf("at last: %+v", s)
		}
		// Each rise is on disk before it is in force.
		h.expectLog("applied 0", "saved 0", "saved 100", "applied 100", "saved 2500", "applied 2500", "saved 10000", "applied 10000")
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestBreachFallsAtOnceAndBeforeTheDisk(t *testing.T) {
	type breach struct {
		breach func(h *rig)
		reason string
	}
	inBubbles(t, map[string]breach{
		"errors":   {func(h *rig) { h.users(whittle.Candidate, 500, tolerated) }, "The errors guard was breached: 3 bad responses"},
		"mismatch": {func(h *rig) { mirror(h, 404, tolerated) }, "The mismatch guard was breached: 3 differ"},
		"breaker":  {func(h *rig) { h.trip("20 bad responses in a row.") }, "The breaker tripped: 20 bad responses in a row"},
		"verdict":  {func(h *rig) { h.say(whittle.Different) }, "The verdict is DIFFERENT: Stands on 2"},
	}, func(t *testing.T, tt breach) {
		h := shifted(t, &memory{})
		tt.breach(h)
		pass(150 * time.Millisecond)
		h.expectLog("applied 0", "saved 0")
		s := h.status()
		last := s.Timeline[len(s.Timeline)-1]
		if s.Phase != whittle.PhaseRolledBack || s.Share != 0 || !strings.HasPrefix(last.Reason, tt.reason) || last.By != rollout.Self {
			t.Errorf("got %s, %+v", s.Phase, last)
		}
		pass(time.Hour)
		if h.share() != 0 {
			t.Error("it came back by itself")
		}
	})
}

func mirror(h *rig, candidate, n int) {
	for range n {
		h.c.Observe(exchange(candidate))
	}
}

// A fall happens within the tick even while the disk hangs, and in the middle
// of a rise that is being saved.
func TestFallDoesNotWaitForADisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := shifted(t, disk)
		release := make(chan struct{})
		disk.set(func(m *memory) { m.hang, m.hangAt = release, 2500 })
		h.users(whittle.Candidate, 200, 5)
		pass(20 * time.Second) // the rise to 25 % hangs
		h.expectLog()
		h.users(whittle.Candidate, 500, tolerated)
		pass(time.Millisecond)
		h.expectLog("applied 0")
		if s := h.status(); s.Share != 100 {
			t.Errorf("a status shows %d, which is not what is on disk", s.Share)
		}
		disk.set(func(m *memory) { m.hang = nil })
		close(release)
		pass(time.Second)
		// The rise that was on its way is on disk for a moment, never in force.
		h.expectLog("saved 2500", "saved 0")
		if s := h.status(); s.Share != 0 || s.Phase != whittle.PhaseRolledBack {
			t.Errorf("at last: %+v", s)
		}
	})
}

func TestFullDiskStopsRisesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := shifted(t, disk)
		disk.set(func(m *memory) { m.fail = errFull })
		h.users(whittle.Candidate, 200, 5)
		pass(time.Minute)
		if got := h.share(); got != 100 {
			t.Fatalf("rose to %d without a disk", got)
		}
		if s := h.status(); !strings.Contains(s.Next, "no space left on device") || !strings.Contains(s.Next, "no share rises") {
			t.Errorf("the trouble is not shown: %q", s.Next)
		}
		before := disk.attempts()
		pass(10 * time.Second)
		if n := disk.attempts() - before; n > 11 {
			t.Errorf("%d attempts in 10 seconds", n)
		}
		h.users(whittle.Candidate, 500, tolerated)
		pass(150 * time.Millisecond)
		if got := h.share(); got != 0 {
			t.Fatalf("share %d after a breach on a full disk", got)
		}
		if s := h.status(); s.Share != 100 || !strings.Contains(s.Next, "In force is 0 %") {
			t.Errorf("status: %d, %q", s.Share, s.Next)
		}
		disk.set(func(m *memory) { m.fail = nil })
		pass(3 * time.Second)
		if s := h.status(); s.Share != 0 || s.Phase != whittle.PhaseRolledBack || strings.Contains(s.Next, "cannot be saved") {
			t.Errorf("after the disk has room: %+v", s)
		}
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestTheMonolithsWatchedResponsesReachTheGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := shifted(t, disk)
		x := exchange(200)
		x.Served = whittle.Candidate
		h.c.Observe(x)
		h.c.Observe(exchange(200)) // its user's outcome comes from the gateway
		pass(2 * time.Second)
		var kept guard
		if err := kept.UnmarshalBinary(disk.records[name].Guard); err != nil || kept.Monolith != 1 {
			t.Errorf("the guard has %+v, %v", kept, err)
		}
	})
}

// Mirrored calls that fail are not differing responses: two services that both
// fail now and then would soon pass a limit that only one of them is held to.
func TestFailuresAreNotMismatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := shifted(t, &memory{})
		for range 3 * tolerated {
			lost := exchange(0)
			lost.Candidate.Failure = whittle.FailedReset
			h.c.Observe(lost)
			h.c.Observe(exchange(503))
		}
		pass(2 * time.Second)
		if s := h.status(); s.Phase != whittle.PhaseShift || h.share() == 0 {
			t.Errorf("failures alongside the users' requests rolled it back: %s at %d", s.Phase, h.share())
		}
		for range tolerated + 1 {
			h.c.Observe(exchange(404))
		}
		pass(time.Second)
		if h.share() != 0 {
			t.Error("responses that differ did not roll it back")
		}
	})
}

func TestOutcomeIsDroppedRatherThanWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t, &memory{}, spec()) // nobody empties the box
		h.users(whittle.Monolith, 200, 10_000)
		h.users(whittle.Candidate, 500, 10_000)
		if got := metric(t, h.c, "whittle_outcomes_dropped_total"); got != 20_000-8192 {
			t.Errorf("%v dropped", got)
		}
	})
}
