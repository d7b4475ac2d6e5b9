package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// TestPositions: of two positions the later one is in force, whatever the order in
// which they arrive, and a trip is undone by no position that was decided before it
// was known.
func TestPositions(t *testing.T) {
	shift := func(generation uint64, share whittle.Share) whittle.Position {
		return whittle.Position{Generation: generation, Share: share, Phase: whittle.PhaseShift}
	}
	// known is a rise of whoever knows of the trips before zero, back a rollback, and
	// frozen a pause of a shift.
	known := func(generation, zero uint64, share whittle.Share) whittle.Position {
		return whittle.Position{Generation: generation, Zero: zero, Share: share, Phase: whittle.PhaseShift}
	}
	back := func(generation uint64) whittle.Position {
		return whittle.Position{Generation: generation, Zero: generation, Phase: whittle.PhaseRolledBack}
	}
	frozen := func(generation uint64) whittle.Position {
		return whittle.Position{Generation: generation, Phase: whittle.PhaseShadow}
	}
	type step struct {
		position whittle.Position // of Apply, or
		trips    uint64           // the generation under which the breaker trips
		takes    bool
		share    whittle.Share
	}
	for name, steps := range map[string][]step{
		"in order":          {{position: shift(1, 100), takes: true, share: 100}, {position: shift(2, 500), takes: true, share: 500}, {position: back(3), takes: true}},
		"a late rise":       {{position: shift(1, 100), takes: true, share: 100}, {position: back(3), takes: true}, {position: shift(2, 500)}},
		"a late fall":       {{position: shift(1, 100), takes: true, share: 100}, {position: shift(3, 500), takes: true, share: 500}, {position: back(2), share: 500}},
		"twice":             {{position: shift(1, 100), takes: true, share: 100}, {position: shift(1, 100), takes: true, share: 100}},
		"another of one":    {{position: shift(1, 100), takes: true, share: 100}, {position: shift(1, 500), share: 100}},
		"none":              {{position: shift(0, 100)}},
		"too much":          {{position: shift(1, 20000), takes: true, share: whittle.All}},
		"a share while off": {{position: whittle.Position{Generation: 1, Share: 100, Phase: whittle.PhaseOff}, takes: true}},
		"a rise over a trip": {
			{position: shift(1, 100), takes: true, share: 100},
			{trips: 1},
			{position: shift(2, 500)},
			{position: shift(1, 100)},
			{position: back(3), takes: true},
			{position: shift(4, 100), takes: true, share: 100},
		},
		"a rise that is stale and one over a trip": {
			{position: shift(3, 100), takes: true, share: 100}, {trips: 3}, {position: back(2)}, {position: shift(4, 100)},
		},
		"a trip after the fall": {
			{position: shift(1, 100), takes: true, share: 100},
			{position: back(2), takes: true},
			{trips: 1},
			{position: shift(3, 500), takes: true, share: 500},
			{trips: 1, share: 500},
			{trips: 3},
		},
		"a pause over a trip": {
			{position: shift(1, 100), takes: true, share: 100},
			{trips: 1},
			{position: frozen(2), takes: true},
			{position: shift(3, 100)},
			{position: known(5, 4, 100), takes: true, share: 100}, // its rollback was missed
		},
		"a trip under the step before": {
			{position: shift(1, 100), takes: true, share: 100}, {position: shift(2, 500), takes: true, share: 500}, {trips: 1}, {position: shift(3, 500)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var trips []uint64
			s := newRouteState("/x", func(_, _ string, generation uint64) { trips = append(trips, generation) })
			var want []uint64
			for i, step := range steps {
				if step.trips > 0 {
					before := s.counts.trips.Load()
					s.trip("broken", step.trips)
					s.notices.Wait()
					if s.counts.trips.Load() > before {
						want = append(want, step.trips)
					}
				} else if got := s.apply(step.position); got != step.takes {
					t.Errorf("step %d: %+v in force: %v", i, step.position, got)
				}
				if got := s.setting.Load().share; got != step.share {
					t.Errorf("step %d: share %d, want %d", i, got, step.share)
				}
			}
			if !slices.Equal(trips, want) {
				t.Errorf("reported trips under %v, want %v", trips, want)
			}
		})
	}
}

// TestAClosedRouteTellsNobody: close waits for what has begun to tell of a trip, so nothing
// may begin meanwhile. The race detector sees who does not wait.
func TestAClosedRouteTellsNobody(t *testing.T) {
	for range 200 {
		var notices atomic.Int32
		s := newRouteState("/x", func(string, string, uint64) { notices.Add(1) })
		s.claim()
		s.apply(whittle.Position{Generation: 1, Phase: whittle.PhaseShift, Share: whittle.All})
		tripping := make(chan struct{})
		go func() {
			defer close(tripping)
			s.trip("broken", 1)
		}()
		fatal.If(t, s.close(t.Context()))
		before := notices.Load()
		<-tripping
		if after := notices.Load(); after != before {
			t.Fatal("a trip was told of after the route was closed")
		}
	}
}

// TestAGroupSharesDrawAndShare: whatever the shares of two routes of a group, each user is on
// one side for both, by the lesser of them; a fall of the one takes the users of the other
// back; and what holds a route up is said.
func TestAGroupSharesDrawAndShare(t *testing.T) {
	m, c := httptest.NewServer(says(200, "monolith")), httptest.NewServer(says(200, "candidate"))
	t.Cleanup(m.Close)
	t.Cleanup(c.Close)
	o := Options{Monolith: upstreamAt(m.URL)}
	for _, name := range []string{"/page", "/assets"} {
		spec := everything()
		candidate := upstreamAt(c.URL)
		spec.Name, spec.Match.Pattern, spec.Mirror.Sample, spec.Group, spec.Candidate = name, name, 0, "shop", &candidate
		spec.Rollout.Sticky = whittle.Sticky{By: "header", Name: "X-User"}
		o.Routes = append(o.Routes, spec)
	}
	ls, urls := facing(t, 1)
	g := behind(t, ls[0], o)
	const users = 200
	for i, at := range []struct {
		page, assets whittle.Share
		least, most  int // users on the candidate
	}{{5000, 5000, 70, 130}, {whittle.All, 1000, 5, 40}, {5000, whittle.All, 70, 130}, {whittle.All, whittle.All, users, users}, {0, whittle.All, 0, 0}} {
		for name, share := range map[string]whittle.Share{"/page": at.page, "/assets": at.assets} {
			if !g.Apply(name, whittle.Position{Generation: uint64(i) + 1, Share: share, Phase: whittle.PhaseShift}) {
				t.Fatal("not in force")
			}
		}
		on := 0
		for user := range users {
			_, page := ask(t, http.MethodGet, urls[0]+"/page", "", "X-User", fmt.Sprint(user))
			_, assets := ask(t, http.MethodGet, urls[0]+"/assets", "", "X-User", fmt.Sprint(user))
			if page != assets {
				t.Fatalf("%+v: user %d has the page of the %s and the assets of the %s", at, user, page, assets)
			}
			if page == "candidate" {
				on++
			}
		}
		if on < at.least || on > at.most {
			t.Errorf("%+v: %d users are on the candidate", at, on)
		}
	}
	said := fmt.Sprint(g.Remarks())
	if !strings.Contains(said, "the least share of the routes of group shop counts for all; it is that of /page now, 0 %") {
		t.Error(said)
	}
}
