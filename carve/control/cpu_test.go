package control_test

import (
	"testing"
	"testing/synctest"
	"time"

	"whittle"
)

// TestCPUTakesTheUsersBack: a candidate that costs too much while users depend
// on it is rolled back; before, what it costs is only shown.
func TestCPUTakesTheUsersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t, &memory{}, spec())
		h.run()
		use := func(cpu time.Duration) whittle.CPUUse { return whittle.CPUUse{CPU: cpu, Requests: 1000} }
		dear := whittle.CPUReading{At: time.Now(), Monolith: use(time.Second), Candidate: use(3 * time.Second)}
		for range tolerated + 1 {
			h.c.CPU(name, dear)
		}
		h.c.CPU("GET /elsewhere", dear)
		pass(5 * time.Second)
		if s := h.status(); s.Phase != whittle.PhaseShadow || s.Monolith.CPU != 1000 || s.Candidate.CPU != 3000 {
			t.Errorf("in shadow: %s, %+v, %+v", s.Phase, s.Monolith, s.Candidate)
		}
		if meters := h.status().Guards; len(meters) != 3 || meters[2].Name != "cpu" || meters[2].Count != 0 || meters[2].Breached {
			t.Errorf("in shadow the guards count what no user met: %+v", meters)
		}
		h.say(whittle.Equivalent)
		pass(time.Second)
		if h.share() != 100 {
			t.Fatalf("the shift did not start: share %d", h.share())
		}
		for range tolerated {
			h.c.CPU(name, dear)
		}
		pass(time.Second)
		s := h.status()
		if h.share() != 0 || s.Phase != whittle.PhaseRolledBack || s.Timeline[len(s.Timeline)-1].By != "whittle" {
			t.Errorf("share %d, %s, %+v", h.share(), s.Phase, s.Timeline)
		}
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	})
}
