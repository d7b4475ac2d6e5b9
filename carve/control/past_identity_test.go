package control

import (
	"testing"
	"time"

	"whittle"
)

// TestIdentify holds that no two bounds of a verdict have one id, whatever a
// judge calls them, and that one which has an id keeps it.
func TestIdentify(t *testing.T) {
	bounds := []whittle.Bound{{What: "share"}, {What: "share", ID: "all"}, {What: "share"}, {What: "share 2"}, {What: "noise"}}
	identify(bounds)
	seen := map[string]bool{}
	for i, want := range []string{"share", "all", "share 2", "share 2 2", "noise"} {
		if got := bounds[i].ID; got != want || seen[got] {
			t.Errorf("bound %d is %q, want %q", i, got, want)
		}
		seen[bounds[i].ID] = true
		if p := evidencePoint(whittle.Verdict{Bounds: bounds}, time.Time{}).Bounds[i]; p.ID != want {
			t.Errorf("its point is %q", p.ID)
		}
	}
}
