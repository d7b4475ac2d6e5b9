package relay

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// TestAnotherLogIsRefused: the numbers of a log that is another or shorter than the one
// that was drained would count as drained, and its records would go nowhere.
func TestAnotherLogIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Limits: quick(), Dir: folder(t), Keep: -1}
		g := open(t, o)
		mustAppend(t, g, event("k", 0), event("k", 1), event("k", 2))
		if err := g.drain.until(t.Context(), func() bool { return g.drain.checkpoint.Next == 3 }); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, g, event("k", 3), event("k", 4))
		g.close(t)
		drained := newFakeStore(1)
		other := newFakeStore(1)
		for n := range 9 {
			other.put(event("other", n))
		}
		for n := range 4 {
			drained.put(event("k", n))
		}
		for name, log := range map[string]*fakeStore{"another log": other, "one without its last record": drained, "none": newFakeStore(1)} {
			r, err := Open(newFakeSink(log, 0, faults{}), newFakeSink(g.sinks, 0, faults{}), Options{Limits: quick(), Dir: o.Dir, Keep: -1, Dead: newFakeSink(g.deads, 0, faults{})})
			if whittle.CodeOf(err) != whittle.FailedPrecondition {
				t.Errorf("%s: %v", name, err)
			}
			if err == nil {
				_ = r.Close(t.Context())
			}
		}
		g.again(t, o)
		g.close(t)
		if got := slices.Sorted(maps.Values(counts(t, g.sinks))); !slices.Equal(got, []int{1, 1, 1, 1, 1}) {
			t.Errorf("%v", got)
		}
	})
}

// TestTheEndIsRememberedWhileTheSinkIsDown from the start on: what came in then was
// acknowledged, too.
func TestTheEndIsRememberedWhileTheSinkIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Limits: quick(), Dir: folder(t), Keep: -1}
		g := openOver(t, o, func(s *fakeSink) stream.Stream {
			s.setDown(whittle.Errorf(whittle.Unavailable, "nobody is there"))
			return s
		})
		mustAppend(t, g, event("k", 0), event("k", 1))
		time.Sleep(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.Close(ctx); err != nil {
			t.Log(err)
		}
		if r, err := Open(newFakeSink(newFakeStore(1), 0, faults{}), newFakeSink(g.sinks, 0, faults{}), Options{Limits: quick(), Dir: o.Dir, Keep: -1, Dead: newFakeSink(g.deads, 0, faults{})}); whittle.CodeOf(err) != whittle.FailedPrecondition {
			t.Errorf("%v, %v", r, err)
		}
	})
}
