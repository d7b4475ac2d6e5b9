package control_test

import (
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

func TestTrafficIsWhatBothSidesDidLately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t, &memory{}, spec())
		h.run()
		responded := func(side whittle.Side, status int, d time.Duration) {
			h.c.Outcome(whittle.Outcome{Route: name, Side: side, Status: status, Latency: d, At: time.Now()})
		}
		for i := range 100 {
			responded(whittle.Monolith, 200, time.Duration(i+1)*time.Millisecond)
		}
		for range 20 {
			x := exchange(500)
			x.At = time.Now()
			x.Candidate.Latency = 3 * time.Millisecond
			h.c.Observe(x)
		}
		pass(2 * time.Second)
		s := h.status()
		if want := (whittle.Traffic{PerSecond: 10, P50: 50, P99: 99}); s.Monolith != want {
			t.Errorf("the monolith's traffic is %+v, want %+v", s.Monolith, want)
		}
		if want := (whittle.Traffic{Mirrored: 2, Errors: 1, P50: 3, P99: 3}); s.Candidate != want {
			t.Errorf("the candidate's traffic is %+v, want %+v", s.Candidate, want)
		}
		pass(15 * time.Second)
		if s := h.status(); s.Monolith != (whittle.Traffic{}) || s.Candidate != (whittle.Traffic{}) {
			t.Errorf("long after: %+v, %+v", s.Monolith, s.Candidate)
		}
	})
}

func TestThePastIsBoundedAndWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := newRig(t, disk, spec())
		h.run()
		begun := time.Now()
		for range 1000 {
			h.users(whittle.Monolith, 200, 1)
			h.say(whittle.Undecided)
			pass(2 * time.Second)
		}
		p, err := h.c.Past(name)
		fatal.If(t, err)
		if n := len(p.Evidence); n < 60 || n > 120 {
			t.Errorf("%d points of evidence", n)
		}
		if n := len(p.Traffic); n < 60 || n > 120 {
			t.Errorf("%d points of traffic", n)
		}
		if first := p.Evidence[0]; first.At.Sub(begun) > 3*time.Second {
			t.Errorf("the first point is of %v after the beginning", first.At.Sub(begun))
		}
		for i := 1; i < len(p.Evidence); i++ {
			if p.Evidence[i].Compared <= p.Evidence[i-1].Compared || !p.Evidence[i].At.After(p.Evidence[i-1].At) {
				t.Fatalf("points %d and %d: %+v, %+v", i-1, i, p.Evidence[i-1], p.Evidence[i])
			}
		}
		if last := p.Evidence[len(p.Evidence)-1].Compared; last < 900 {
			t.Errorf("the last point is of %d exchanges of 1000", last)
		}
		fatal.If(t, h.stop())

		again := newRig(t, disk, spec())
		q, err := again.c.Past(name)
		if err != nil || len(q.Evidence) < len(p.Evidence) || !q.Evidence[0].At.Equal(p.Evidence[0].At) {
			t.Errorf("after a restart %d points of %d (%v)", len(q.Evidence), len(p.Evidence), err)
		}
		fatal.Same(t, len(q.Traffic), 0, "points of another process's traffic")
		other := newRig(t, disk, spec(func(r *whittle.Route) { r.Candidate.URL = "http://127.0.0.1:7777" }))
		if q, err := other.c.Past(name); err != nil || len(q.Evidence) != 0 {
			t.Errorf("another candidate has %d points of the old one's (%v)", len(q.Evidence), err)
		}
		if _, err := again.c.Past("nothing"); whittle.CodeOf(err) != whittle.NotFound {
			t.Errorf("of no route: %v", err)
		}
	})
}

func noSwap() error { return nil }

func TestReload(t *testing.T) {
	inShift(t, func(t *testing.T, h *rig) {
		other := spec(func(r *whittle.Route) { r.Name = "GET /other" })
		mirror(h, 200, 10)

		// One more, and a policy with other steps.
		wider := spec(func(r *whittle.Route) { r.Rollout.Steps = []whittle.Share{100, 5000, whittle.All} })
		fatal.If(t, h.c.Reload(whittle.Upstream{}, []whittle.Route{wider, other}, noSwap))
		if all := h.c.Status(); len(all) != 2 || h.share() != 100 {
			t.Fatalf("share %d, status %+v", h.share(), all)
		}
		h.users(whittle.Candidate, 200, 5)
		pass(11 * time.Second)
		fatal.Same(t, h.share(), 5000, "share under the new steps")

		// Gone, and back again where it was.
		fatal.If(t, h.c.Reload(whittle.Upstream{}, []whittle.Route{other}, noSwap))
		fatal.Same(t, h.share(), 0, "share of a route that is gone")
		fatal.Same(t, whittle.CodeOf(h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Off})), whittle.NotFound, "an order for it")
		fatal.If(t, h.c.Reload(whittle.Upstream{}, []whittle.Route{wider, other}, noSwap))
		if s := h.status(); h.share() != 5000 || s.Verdict.Compared < 11 {
			t.Errorf("back with %d and %d compared", h.share(), s.Verdict.Compared)
		}

		// Another candidate.
		h.journal.take()
		mended := spec(func(r *whittle.Route) { r.Candidate = &whittle.Upstream{URL: "http://127.0.0.1:7777"} })
		if err := h.c.Reload(whittle.Upstream{}, []whittle.Route{mended}, func() error {
			fatal.Same(t, h.share(), 0, "share while the candidate is changed")
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		// An exchange that is still on its way was served by the old one.
		fatal.Same(t, h.c.Observe(&whittle.Exchange{Route: name, At: time.Now().Add(-time.Millisecond)}).Skip, whittle.SkipStale, "an exchange with the old candidate is skipped as")
		pass(time.Second)
		if s := h.status(); s.Verdict.Compared != 0 || len(s.Timeline) == 0 {
			t.Errorf("evidence of another candidate goes on: %+v", s)
		}
		fatal.Same(t, h.c.Observe(&whittle.Exchange{Route: name, At: time.Now()}).Skip, "", "an exchange with the new candidate was skipped")
	})
}

// Nobody gets a share of the new candidate by what was decided for the old.
func TestNothingRisesWhileReloading(t *testing.T) {
	inShift(t, func(t *testing.T, h *rig) {
		mended := spec(func(r *whittle.Route) { r.Candidate = &whittle.Upstream{URL: "http://127.0.0.1:7777"} })
		err := h.c.Reload(whittle.Upstream{}, []whittle.Route{mended}, func() error {
			h.users(whittle.Candidate, 200, 5)
			pass(time.Minute)
			fatal.Same(t, h.share(), 0, "share in the middle of a reload")
			fatal.Same(t, whittle.CodeOf(h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote})), whittle.Unavailable, "an order")
			h.set(func() { h.word = whittle.Undecided })
			return nil
		})
		fatal.If(t, err)
		pass(time.Minute)
		fatal.Same(t, h.share(), 0, "share after the reload")
	})
}
