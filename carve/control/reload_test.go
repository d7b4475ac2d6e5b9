package control_test

import (
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

func noSwap() error { return nil }

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := shifted(t, disk)
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
		if got := h.share(); got != 5000 {
			t.Errorf("share %d under the new steps", got)
		}

		// Gone, and back again where it was.
		fatal.If(t, h.c.Reload(whittle.Upstream{}, []whittle.Route{other}, noSwap))
		if got := h.share(); got != 0 {
			t.Errorf("share %d of a route that is gone", got)
		}
		if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Off}); whittle.CodeOf(err) != whittle.NotFound {
			t.Errorf("an order for it: %v", err)
		}
		fatal.If(t, h.c.Reload(whittle.Upstream{}, []whittle.Route{wider, other}, noSwap))
		if s := h.status(); h.share() != 5000 || s.Verdict.Compared < 11 {
			t.Errorf("back with %d and %d compared", h.share(), s.Verdict.Compared)
		}

		// Another candidate.
		h.journal.take()
		mended := spec(func(r *whittle.Route) { r.Candidate = &whittle.Upstream{URL: "http://127.0.0.1:7777"} })
		if err := h.c.Reload(whittle.Upstream{}, []whittle.Route{mended}, func() error {
			if got := h.share(); got != 0 {
				t.Errorf("share %d while the candidate is changed", got)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		// An exchange that is still on its way was served by the old one.
		if skip := h.c.Observe(&whittle.Exchange{Route: name, At: time.Now().Add(-time.Millisecond)}).Skip; skip != whittle.SkipStale {
			t.Errorf("an exchange with the old candidate was skipped as %q", skip)
		}
		pass(time.Second)
		if s := h.status(); s.Verdict.Compared != 0 || len(s.Timeline) == 0 {
			t.Errorf("evidence of another candidate goes on: %+v", s)
		}
		if skip := h.c.Observe(&whittle.Exchange{Route: name, At: time.Now()}).Skip; skip != "" {
			t.Errorf("an exchange with the new candidate was skipped as %q", skip)
		}
		_ = h.stop()
	})
}

// Nobody gets a share of the new candidate by what was decided for the old.
func TestNothingRisesWhileReloading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := shifted(t, &memory{})
		mended := spec(func(r *whittle.Route) { r.Candidate = &whittle.Upstream{URL: "http://127.0.0.1:7777"} })
		err := h.c.Reload(whittle.Upstream{}, []whittle.Route{mended}, func() error {
			h.users(whittle.Candidate, 200, 5)
			pass(time.Minute)
			if got := h.share(); got != 0 {
				t.Errorf("share %d in the middle of a reload", got)
			}
			if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote}); whittle.CodeOf(err) != whittle.Unavailable {
				t.Errorf("an order: %v", err)
			}
			h.mu.Lock()
			h.word = whittle.Undecided
			h.mu.Unlock()
			return nil
		})
		fatal.If(t, err)
		pass(time.Minute)
		if got := h.share(); got != 0 {
			t.Errorf("share %d after the reload", got)
		}
		_ = h.stop()
	})
}
