package simtest

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// ofOne is how many steps of a run have faults; the rest is quiet.
const ofOne = 5000

// found are seeds that have found mistakes in the protocol, as it was then: a leader
// that skipped a step while the store was slow (4, 17), a clock that was set back after a
// suspension (19), a route whose key the store had lost (60), a run that was counted as the
// one before (184), a watch that begins anew and passes for whole (858).
var found = []uint64{4, 17, 19, 60, 184, 858}

// TestFleets runs fleets, each from another seed, until FLEET_STEPS steps are done, or the
// seeds above have run. With FLEET_SEED it runs that one alone, and logs what is written to the
// store.
func TestFleets(t *testing.T) {
	if one, err := strconv.ParseUint(os.Getenv("FLEET_SEED"), 10, 64); err == nil {
		trace = func(line string) { t.Log(line) }
		t.Error(run(one, ofOne).Fault)
		return
	}
	steps, _ := strconv.ParseInt(os.Getenv("FLEET_STEPS"), 10, 64) // 0: the seeds above
	var next, done atomic.Int64
	seed := func() (uint64, bool) {
		n := next.Add(1) - 1
		if n < int64(len(found)) {
			return found[n], true
		}
		return uint64(n), done.Load() < steps
	}
	var mu sync.Mutex // guards count
	count := map[string]int{}
	var work sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for s, more := seed(); more && !t.Failed(); s, more = seed() {
				r := run(s, ofOne)
				done.Add(int64(r.Steps))
				if r.Fault != "" {
					t.Errorf("seed %d: %s (again: FLEET_SEED=%d go test -v -run Fleets ./carve/fleet/simtest)", s, r.Fault, s)
				}
				mu.Lock()
				for what, n := range r.Count {
					count[what] += n
				}
				mu.Unlock()
			}
		})
	}
	work.Wait()
	t.Log(done.Load(), "steps:", count)
	for _, what := range []string{"crashes", "partitions", "suspensions", "clock jumps", "store losses", "terms", "rises", "falls", "trips"} {
		if count[what] == 0 {
			t.Errorf("there were no %s", what)
		}
	}
}

// A seed is a run: it fails again at the same step.
func TestASeedIsARun(t *testing.T) {
	a, b := run(7, 1000), run(7, 1000)
	if a.Steps != b.Steps || fmt.Sprint(a.Count) != fmt.Sprint(b.Count) {
		t.Errorf("%v and then %v", a, b)
	}
}
