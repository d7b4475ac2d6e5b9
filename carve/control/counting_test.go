package control

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"whittle"
	"whittle/carve/fleet"
	"whittle/carve/rollout"
	"whittle/carve/state"
	"whittle/internal/fatal"
)

// heard is a fleet of which some reports are there.
type heard []Report

func (h *heard) Floor(string) fleet.Floor { return fleet.Floor{} }
func (h *heard) MayRise(string) bool      { return true }
func (h *heard) Reports(string) []Report  { return *h }

// TestNoReportsAreNoNews: while a fleet shows no report at all nothing is known of its
// gateways, so none of them is gone.
func TestNoReportsAreNoNews(t *testing.T) {
	now, all := noon, &heard{
		{Gateway: "a", Counts: whittle.Counts{Run: 1, Seq: 1, At: noon, Ledger: whittle.Ledger{Total: 5, Pending: 2}}},
		{Gateway: "b", Counts: whittle.Counts{Run: 1, Seq: 1, At: noon, Ledger: whittle.Ledger{Total: 9, Pending: 4}}, Silent: true},
	}
	c, r := judged(t, 0, func(o *Options) {
		o.Fleet, o.Now = all, func() time.Time { return now }
	})
	if got, want := c.reportsOf("/x"), (reports{total: 14, pending: 6, silent: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.takeReports()
	before := r.ev.account.Total()
	*all, now = nil, noon.Add(1000*time.Hour)
	r.takeReports()
	if after := r.ev.account.Total(); before.Pending != 6 || before.Unknown != 4 || !reflect.DeepEqual(before, after) {
		t.Errorf("%+v became %+v", before, after)
	}
}

// TestQueriesShareTheirErrorRate, as many of them as test, and begin anew where what was
// saved cannot be read.
func TestQueriesShareTheirErrorRate(t *testing.T) {
	side := whittle.SideQuery{Monolith: "m", Candidate: "c"}
	test := whittle.Query{Name: "a", Bad: side, Total: side, Excess: 0.01, For: 3, Every: time.Second}
	other, rule := test, whittle.Query{Name: "rule", Value: whittle.SideQuery{Candidate: "d"}, Limit: 10, For: 2, Every: time.Second}
	other.Name = "b"
	spec := &whittle.Route{Guard: whittle.Guard{Confidence: 0.96}, Queries: []whittle.Query{test, other, rule}}
	alpha := (1 - spec.Guard.Confidence) / 2
	list := newQueries(spec, nil)
	for i, q := range spec.Queries {
		if !list[i].Is(q, alpha) {
			t.Errorf("%s has another error rate than half of 4 %%", q.Name)
		}
	}
	kept, err := list.kept()
	if err != nil || len(kept) != 3 {
		t.Fatalf("%d kept, %v", len(kept), err)
	}
	fatal.Same(t, len(newQueries(spec, nil).restore(kept)), 0, "failures of what was saved")
	kept[fingerprint(test)] = json.RawMessage(`"no state"`)
	fatal.Same(t, len(newQueries(spec, nil).restore(kept)), 1, "failures of one that cannot be read")
	for share, exposed := range map[whittle.Share]bool{0: false, 500: true} {
		c, r := judged(t, share)
		r.ev.queries = newQueries(spec, nil)
		c.Query("/x", "rule", whittle.QueryReading{At: noon, Value: whittle.SideValues{Candidate: 1}})
		fatal.Same(t, r.ev.exposed, exposed, "read at a share of %d the candidate is exposed", share)
	}
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// judged is a controller of one route, and its route at a share.
func judged(t *testing.T, share whittle.Share, change ...func(*Options)) (*Controller, *route) {
	t.Helper()
	o := Options{
		Store: &sheet{r: state.Record{}}, Apply: func(string, whittle.Position) bool { return true },
		Routes: []whittle.Route{{
			Name: "/x", Candidate: &whittle.Upstream{URL: "http://127.0.0.1:1"},
			Compare: whittle.Comparison{Kind: whittle.Exact, Confidence: 0.99, MaxDiffer: 0.05, MinCompared: 50},
			Rollout: whittle.Rollout{Steps: []whittle.Share{500, 2500, whittle.All}, Hold: time.Hour},
		}},
		Now: func() time.Time { return noon },
	}
	for _, c := range change {
		c(&o)
	}
	c, err := New(o)
	fatal.If(t, err)
	c.Start()
	r := c.find("/x")
	if share > 0 {
		r.st.Phase, r.st.Share = whittle.PhaseShift, share
		r.decided.Store(&whittle.Position{Generation: r.generation, Share: share, Phase: whittle.PhaseShift})
	}
	return c, r
}

// sheet is a store of one record.
type sheet struct{ r state.Record }

func (s *sheet) Load(string) (state.Record, error)   { return s.r, nil }
func (s *sheet) Save(_ string, r state.Record) error { s.r = r; return nil }
func (s *sheet) share(t *testing.T, c *Controller) whittle.Share {
	t.Helper()
	again, err := New(Options{Store: s, Routes: []whittle.Route{c.find("/x").spec}, Apply: c.o.Apply})
	fatal.If(t, err)
	return again.find("/x").st.Share
}

// Whoever reads the breaker's word first, it is not lost: a rise that is being
// saved and an order that changes nothing leave it for the step that falls.
// Here that step comes last, as it may when all wait for the route's lock.
func TestATripIsKeptUntilTheFall(t *testing.T) {
	forced := rollout.Order{Kind: rollout.Promote, Force: true, Reason: "test", By: "test"}
	for name, reads := range map[string]func(t *testing.T, r *route){
		"rise": func(t *testing.T, r *route) {
			if _, err := r.order(forced); err != nil {
				t.Fatal(err)
			}
			r.box.trip(trip{r.generation, "broken"})
			fatal.If(t, r.saveOnce())
		},
		"hold": func(t *testing.T, r *route) {
			r.box.trip(trip{r.generation, "broken"})
			if _, err := r.order(rollout.Order{Kind: rollout.Hold}); err != nil {
				t.Fatal(err)
			}
		},
		"promotion": func(t *testing.T, r *route) {
			r.box.trip(trip{r.generation, "broken"})
			for range 2 {
				if _, err := r.order(forced); whittle.CodeOf(err) != whittle.FailedPrecondition {
					t.Errorf("promoted over a trip: %v", err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := &sheet{}
			inForce := whittle.Share(0)
			c, r := judged(t, 0, func(o *Options) {
				o.Store, o.Apply = disk, func(_ string, p whittle.Position) bool { inForce = p.Share; return true }
			})
			r.disk.open = true // and nobody decides or saves but this test
			if _, err := r.order(forced); err != nil {
				t.Fatal(err)
			}
			if err := r.saveOnce(); err != nil || r.st.Share != 500 {
				t.Fatalf("share %d, %v", r.st.Share, err)
			}
			reads(t, r)
			r.step(true)
			fatal.If(t, r.saveOnce())
			if r.st.Share != 0 || r.st.Phase != whittle.PhaseRolledBack || inForce != 0 || disk.share(t, c) != 0 {
				t.Errorf("%s at %d, %d in force, %d after a restart", r.st.Phase, r.st.Share, inForce, disk.share(t, c))
			}
			// It was about that shift alone.
			if _, err := r.order(forced); err != nil {
				t.Fatal(err)
			}
			if err := r.saveOnce(); err != nil || inForce != 500 {
				t.Errorf("a new shift: %d in force, %v", inForce, err)
			}
		})
	}
}

// TestFailuresDecide: a candidate that never responds is DIFFERENT after some more requests, so
// the verdict keeps its own sentence. Requests that are not mirrored decide nothing.
func TestFailuresDecide(t *testing.T) {
	for _, tt := range []struct {
		ledger whittle.Ledger
		state  whittle.State
		want   string
	}{
		{whittle.Ledger{Total: 6, Failed: 6}, whittle.Different, "DIFFERENT: failure proven; 100 % of the requests could not be compared (6 failed)"},
		{
			whittle.Ledger{Total: 6, Skipped: map[string]int64{whittle.SkipNotSafe: 6}},
			whittle.Undecided,
			"UNDECIDED: none of the requests could be compared (6 not_safe), and more of their like decide nothing; write safe: true, or a dry_run, into the route to have them mirrored",
		},
	} {
		e, v := evidence{uncompared: uncomparedIn(&tt.ledger)}, whittle.Verdict{State: tt.state, Summary: "DIFFERENT: failure proven"}
		e.sayUncompared(&v)
		fatal.Same(t, v.Summary, tt.want, "the sentence")
	}
}
