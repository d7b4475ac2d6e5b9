package sim

import (
	"fmt"
	"testing"
)

// found are seeds that have found mistakes in the protocol, as it was then: a leader
// that skipped a step while the store was slow (4, 17), permits that nobody could give
// back (5), a restarted gateway with a fresh bound (14), permits given twice (0), a
// clock that was set back after a suspension (19, 548), a route whose key the store had
// lost (60), a run that was counted as the one before (184), a good response of another
// candidate's (469), a watch that begins anew and passes for whole (858).
var found = []uint64{0, 4, 5, 14, 17, 19, 60, 184, 469, 548, 858}

// TestFleets runs fleets, each from another seed; make fleet-sim runs as many as are
// wanted.
func TestFleets(t *testing.T) {
	count := map[string]int{}
	steps := 0
	for _, seed := range found {
		r := Run(seed, 5000)
		if r.Fault != "" {
			t.Fatalf("seed %d: %s (again: go run ./bench/fleet -one -seed %d)", seed, r.Fault, seed)
		}
		steps += r.Steps
		for what, n := range r.Count {
			count[what] += n
		}
	}
	t.Log(steps, "steps:", fmt.Sprint(count))
	for _, what := range []string{"crashes", "partitions", "suspensions", "clock jumps", "store losses", "terms", "rises", "falls", "trips"} {
		if count[what] == 0 {
			t.Errorf("there were no %s", what)
		}
	}
}

// A seed is a run: it fails again at the same step.
func TestASeedIsARun(t *testing.T) {
	a, b := Run(7, 1000), Run(7, 1000)
	if a.Steps != b.Steps || fmt.Sprint(a.Count) != fmt.Sprint(b.Count) {
		t.Errorf("%v and then %v", a, b)
	}
}
