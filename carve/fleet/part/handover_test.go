package part

import (
	"maps"
	"testing"
	"time"

	"whittle/carve/gateway/breaker"
)

// TestKeep: a process that another one replaces keeps half of its permits at first, and then
// as many as the clients may need that it still has; what is exposed counts as long as it is.
func TestKeep(t *testing.T) {
	const candidate = "http://c"
	g := &gateway{}
	before := 0 // of processes that it has replaced itself
	p := &Part{o: Options{Gateway: g, Exposed: func(string, time.Time) int { return before }}}
	p.table.Store(newTable(monolith, routes(candidate)))
	p.place.limits, p.place.until = map[string]int{candidate: 10}, time.Now().Add(time.Hour)
	for i, at := range []struct {
		leaving, exposed, before, permits, kept int
	}{
		{leaving: -1, exposed: 7, permits: 5, kept: 7}, // it still accepts
		{leaving: -1, exposed: 2, permits: 5, kept: 5}, // its clients may have many under way
		{leaving: 20, exposed: 2, permits: 5, kept: 5},
		{leaving: 3, exposed: 4, before: 2, permits: 3, kept: 6},
		{leaving: 4, exposed: 1, permits: 3, kept: 3}, // never more again
		{leaving: 0, exposed: 1, permits: 0, kept: 1},
		{leaving: 0, permits: 0, kept: 0},
	} {
		g.mu.Lock()
		g.leaving, g.use = at.leaving, breaker.Use{Exposed: at.exposed}
		g.mu.Unlock()
		before = at.before
		kept := p.Keep()
		if _, permits := g.position(); permits != at.permits || !maps.Equal(kept, map[string]int{candidate: at.kept}) {
			t.Errorf("%d: %d permits, and %v are kept", i, permits, kept)
		}
	}
	g.leaving = -1
	p.place = place{limits: map[string]int{candidate: 10}, until: time.Now().Add(-time.Second)}
	if kept := p.Keep(); kept[candidate] != 0 {
		t.Errorf("%v are kept of a lease that is over", kept)
	}
}
