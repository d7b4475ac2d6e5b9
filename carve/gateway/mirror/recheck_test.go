package mirror

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAskingAgainKeepsToItsBudget: of many differences that come at once, no more
// rounds are asked than were saved up and the requests allow.
func TestAskingAgainKeepsToItsBudget(t *testing.T) {
	r := NewRechecks()
	asked := 0
	for n := range int64(10_000) {
		if r.Acquire(n + 1) {
			for range RecheckRounds {
				r.Spend()
				asked++
			}
			r.Release()
		}
	}
	if most := recheckSaved + 10_000*recheckShare; float64(asked) > most || float64(asked) < most/2 {
		t.Errorf("%d rounds for 10,000 requests, at most %.0f are allowed", asked, most)
	}
	for range rechecksAtOnce {
		r.saved = recheckSaved
		r.Acquire(10_000)
	}
	if r.Acquire(10_000) {
		t.Error("more are under way than may be")
	}
}

// TestAPauseEndsWithTheRoute: what waits for its next round does not hold up the end.
func TestAPauseEndsWithTheRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRechecks()
		if !r.Acquire(1) {
			t.Fatal("refused")
		}
		go func() {
			defer r.Release()
			if r.Pause(time.Hour) {
				t.Error("it waited for the whole hour")
			}
		}()
		synctest.Wait()
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if r.Acquire(2) {
			t.Error("a closed one gives a permit")
		}
	})
}
