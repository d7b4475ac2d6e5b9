package control_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

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
			for what, text := range map[string]string{"verdict": s.Verdict.Summary, "next": s.Next, "harm": s.Harm.Summary} {
				if !strings.Contains(text, "of the requests could not be compared (10 too_large)") {
					t.Errorf("%s, the %s says %q", when, what, text)
				}
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
