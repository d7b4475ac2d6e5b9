package control_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// shifted is a harness with a candidate at 1 %.
func shifted(t *testing.T, disk *memory) *rig {
	t.Helper()
	h := newRig(t, disk, spec())
	shift(h)
	return h
}

// inShift runs a test in a bubble, with a candidate at 1 %.
func inShift(t *testing.T, test func(t *testing.T, h *rig)) {
	synctest.Test(t, func(t *testing.T) { test(t, shifted(t, &memory{})) })
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
		fatal.Same(t, h.share(), 0, "it came back by itself")
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
	inShift(t, func(t *testing.T, h *rig) {
		disk := h.disk
		release := make(chan struct{})
		disk.set(func(m *memory) { m.hang, m.hangAt = release, 2500 })
		h.users(whittle.Candidate, 200, 5)
		pass(20 * time.Second) // the rise to 25 % hangs
		h.expectLog()
		h.users(whittle.Candidate, 500, tolerated)
		pass(time.Millisecond)
		h.expectLog("applied 0")
		fatal.Same(t, h.status().Share, 100, "what a status shows")
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
	inShift(t, func(t *testing.T, h *rig) {
		disk := h.disk
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

// Mirrored calls that fail are not differing responses: two services that both
// fail now and then would soon pass a limit that only one of them is held to.
func TestFailuresAreNotMismatches(t *testing.T) {
	inShift(t, func(t *testing.T, h *rig) {
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
		fatal.Same(t, h.share(), 0, "responses that differ did not roll it back")
	})
}

func TestOutcomeIsDroppedRatherThanWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t, &memory{}, spec()) // nobody empties the box
		h.users(whittle.Monolith, 200, 10_000)
		h.users(whittle.Candidate, 500, 10_000)
		const dropped = "whittle_outcomes_dropped_total"
		got, err := testutil.CollectAndFormat(h.c, expfmt.TypeTextPlain, dropped)
		if want := fmt.Sprintf("%s{route=%q} %d\n", dropped, name, 20_000-8192); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	})
}

// TestWhatCannotBeComparedCountsAsWrong: where one request in five is too large to be
// compared, no step rises beyond the harm budget, however many others were the same; the
// verdict, the next step and the budget say how many there were; a restart forgets
// nothing of it; and where the bound on bodies is another one it is counted afresh.
func TestWhatCannotBeComparedCountsAsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		careful := func(r *whittle.Route) { r.Rollout.Harm, r.Mirror.MaxBody = 0.005, 1<<18 }
		h := newRig(t, disk, spec(careful))
		h.run()
		large := func(n int64) {
			h.set(func() {
				l := h.reports[name]
				l.Total, l.Skipped = l.Total+n, map[string]int64{whittle.SkipTooLarge: l.Skipped[whittle.SkipTooLarge] + n}
				h.reports[name] = l
			})
		}
		compare := func(n int64) {
			h.set(func() {
				l := h.reports[name]
				l.Total, l.Pending = l.Total+n, l.Pending+n
				h.reports[name] = l
			})
			mirror(h, 200, int(n))
		}
		h.say(whittle.Equivalent)
		compare(40)
		large(9)
		pass(1500 * time.Millisecond)
		large(1) // and then nothing more
		pass(4 * time.Second)
		if got := h.share(); got != 100 {
			t.Fatalf("share %d at first", got)
		}
		h.users(whittle.Candidate, 200, 50)
		holds := func(h *rig, when string) {
			t.Helper()
			s := h.status()
			for _, text := range []string{s.Verdict.Summary, s.Next, s.Harm.Summary} {
				fatal.Has(t, text, "of the requests could not be compared (10 too_large)")
			}
			if s.Share != 100 || s.Harm.Uncompared < 0.19 || s.Harm.Uncompared > 0.21 || s.Harm.Bound < s.Harm.Uncompared || s.Harm.Needed != -1 {
				t.Errorf("%s: share %d, %+v", when, s.Share, s.Harm)
			}
		}
		pass(time.Minute)
		holds(h, "before the restart")
		fatal.If(t, h.stop())
		again := newRig(t, disk, spec(careful))
		again.set(func() { again.word = whittle.Equivalent })
		again.run()
		pass(time.Minute)
		holds(again, "after it")

		longer := spec(careful, func(r *whittle.Route) { r.Mirror.MaxBody = 1 << 20 })
		fatal.If(t, again.c.Reload(whittle.Upstream{}, []whittle.Route{longer}, func() error { return nil }))
		pass(time.Minute)
		if s := again.status(); s.Share <= 100 || s.Harm.Uncompared != 0 || strings.Contains(s.Verdict.Summary, "compared (") {
			t.Errorf("with another bound: share %d, %q, %+v", s.Share, s.Verdict.Summary, s.Harm)
		}
		fatal.If(t, again.stop())
	})
}

// At a full share the monolith's only responses are those to watched requests.
// Three requests in a hundred are poison. Where both sides fail at them, the
// guards must see the monolith fail as often as the candidate does; where the
// candidate alone does, they must not be blind to it.
func TestPoisonAtAFullShare(t *testing.T) {
	type poison struct {
		monolith whittle.Response // to poison
		breached bool
	}
	inBubbles(t, map[string]poison{
		"both response 500":         {whittle.Response{Status: 500}, false},
		"neither serves":            {whittle.Response{Failure: whittle.FailedReset}, false},
		"the candidate alone fails": {whittle.Response{Status: 200}, true},
	}, func(t *testing.T, tt poison) {
		route := spec(func(r *whittle.Route) {
			r.Rollout = whittle.Rollout{Steps: []whittle.Share{whittle.All}, Hold: time.Hour, MinRequests: 1_000_000}
			r.Guard = whittle.Guard{Errors: 0.01, Confidence: 0.99}
		})
		h := newRig(t, &memory{}, route)
		h.begin(func(o *control.Options) { o.NewGuard = control.NewGuard })
		h.run()
		fatal.If(t, h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote, Force: true, Reason: "test", By: "test"}))
		rng := rand.New(rand.NewPCG(2, 9))
		const most = 30_000
		n := 0
		for ; n < most && h.share() == whittle.All; n++ {
			poisoned(h, rng, tt.monolith)
			if n%20 == 19 {
				pass(100 * time.Millisecond)
			}
		}
		if fell := h.share() == 0; fell != tt.breached {
			t.Errorf("rolled back after %d requests: %v; %+v", n, fell, h.status().Guards)
		}
		// No exchange is counted twice on a side.
		if s := h.status(); !tt.breached && (s.Monolith.Mirrored == 0 || s.Candidate.Mirrored > 0) {
			t.Errorf("traffic of the monolith %+v, of the candidate %+v", s.Monolith, s.Candidate)
		}
	})
}

// poisoned plays one user's request at a full share as the gateway would: one
// in twenty is watched.
func poisoned(h *rig, rng *rand.Rand, monolith whittle.Response) {
	at, watched := time.Now(), rng.IntN(20) == 0
	x := &whittle.Exchange{
		Route: name, At: at, Served: whittle.Candidate,
		Monolith:  whittle.Response{Status: 200, Latency: time.Millisecond},
		Candidate: whittle.Response{Status: 200, Latency: time.Millisecond},
	}
	o := whittle.Outcome{Route: name, At: at, Side: whittle.Candidate, Status: 200, Latency: time.Millisecond}
	if rng.IntN(100) < 3 {
		o.Status, o.FellBack = 500, monolith.Failure == whittle.NoFailure
		x.Served, x.FellBack, x.Monolith = whittle.Monolith, true, monolith
		x.Candidate = whittle.Response{Status: 500, Truncated: true, Latency: time.Millisecond}
	}
	h.c.Outcome(o)
	if watched {
		h.c.Observe(x)
	}
}
