package control

import (
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/carve/state"
	"whittle/internal/fatal"
)

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
			c, err := New(Options{
				Store: disk, Apply: func(_ string, p whittle.Position) bool { inForce = p.Share; return true },
				Routes: []whittle.Route{{
					Name: "/x", Candidate: &whittle.Upstream{URL: "http://127.0.0.1:1"},
					Compare: whittle.Comparison{Kind: whittle.Exact, Confidence: 0.99, MaxDiffer: 0.05, MinCompared: 50},
					Rollout: whittle.Rollout{Steps: []whittle.Share{500, 2500, whittle.All}, Hold: time.Hour},
				}},
			})
			fatal.If(t, err)
			c.Start()
			r := c.find("/x")
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
