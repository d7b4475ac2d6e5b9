package breaker

import (
	"testing"
	"time"
)

// TestPermits: a gateway of a fleet exposes no more requests than it has permits for, and
// trips once all of them are without a good response. A pause has nothing counted from 0, a fall has.
func TestPermits(t *testing.T) {
	for _, live := range []bool{false, true} {
		s := NewShared()
		routes, trips := closed(s, 2)
		for _, b := range routes {
			b.Set(true, live, 1)
		}
		within, now := Bounds{consecutive: 100, exposure: 50, Shared: s}, time.Unix(100, 0)
		admit := func() (p Permit, ok bool) { return routes[0].Admit(now, within) }

		s.Permit(0, time.Time{})
		if p, ok := admit(); ok || !p.Full || *trips != 0 {
			t.Fatalf("live %v: without a permit: admitted %v, full %v, %d trips", live, ok, p.Full, *trips)
		}
		s.Permit(-1, time.Time{})
		if _, ok := admit(); ok {
			t.Fatalf("live %v: fewer than no permits admit a request", live)
		}
		s.Permit(3, time.Time{})
		var under []Permit
		for range 3 {
			p, ok := admit()
			if !ok {
				t.Fatalf("live %v: a permit is refused", live)
			}
			under = append(under, p)
		}
		if _, ok := admit(); ok {
			t.Errorf("live %v: a fourth request with three permits", live)
		}
		for _, p := range under[:2] {
			routes[0].Done(p, Bad, now)
		}
		if n := exposed(s); n != 3 {
			t.Errorf("live %v: one under way and two without a good response: %d", live, n)
		}

		// A pause, as when the gateway is cut off.
		for _, b := range routes {
			b.Set(false, live, 2)
		}
		for _, b := range routes {
			b.Set(true, live, 3)
		}
		if _, ok := admit(); ok {
			t.Errorf("live %v: after a pause nothing counts any more", live)
		}

		// A fall of one route, while the other one goes on, and then of both.
		routes[0].Set(false, live, 4)
		s.Fell()
		if exposed(s) == 0 {
			t.Errorf("live %v: after the fall of one of two routes nothing counts any more", live)
		}
		routes[0].Done(under[2], Bad, now)
		routes[1].Set(false, live, 4)
		s.Fell()
		if n := exposed(s); n != 0 {
			t.Errorf("live %v: after a fall: %d", live, n)
		}
		for _, b := range routes {
			b.Set(true, live, 5)
		}
		for range 3 { // the last of the permits, with nothing in flight
			p, ok := admit()
			if !ok || *trips != 0 {
				t.Fatalf("live %v: the next shift: admitted %v, %d trips", live, ok, *trips)
			}
			routes[0].Done(p, Bad, now)
		}
		if _, ok := admit(); ok || *trips == 0 {
			t.Errorf("live %v: nobody can show any more that the candidate works: admitted %v, %d trips", live, ok, *trips)
		}
	}
}

// exposed is how many requests count, on all routes.
func exposed(s *Shared) int {
	s.shift.mu.Lock()
	defer s.shift.mu.Unlock()
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	return s.shift.exposed() + s.live.exposed()
}

// TestPermitsNeverLiftTheBound: many permits allow no more than guard.exposure, at which
// the breaker trips as it does alone.
func TestPermitsNeverLiftTheBound(t *testing.T) {
	s := NewShared()
	routes, trips := closed(s, 1)
	s.Permit(1000, time.Time{})
	within, now := Bounds{consecutive: 1000, exposure: 50, Shared: s}, time.Unix(100, 0)
	met := 0
	for range 100 {
		if p, ok := routes[0].Admit(now, within); ok {
			met++
			routes[0].Done(p, Bad, now)
		}
	}
	if met != 50 || *trips != 1 {
		t.Errorf("%d met the broken candidate, %d trips", met, *trips)
	}
	// Alone, a trip has everything counted from 0; in a fleet the fall does.
	if n := exposed(s); n != 50 {
		t.Errorf("after the trip: %d", n)
	}
	alone := NewShared()
	alone.Fell()
	if alone.leased {
		t.Error("a gateway that is alone needs permits")
	}
}

// TestPermitsUntil: permits are over by themselves, by whichever clock, and that trips nothing:
// a process that was suspended has none when it goes on.
func TestPermitsUntil(t *testing.T) {
	s := NewShared()
	routes, trips := closed(s, 1)
	within, now := Bounds{consecutive: 1, exposure: 50, Shared: s}, time.Now()
	s.Permit(10, now.Add(time.Second))
	for _, at := range []struct {
		now time.Time
		ok  bool
	}{
		{now, true},
		{now.Add(time.Second), true},
		{now.Add(time.Second + 1), false},
		{now.Round(0).Add(time.Second + 1), false}, // of the wall's clock alone
		{now, true},
	} {
		p, ok := routes[0].Admit(at.now, within)
		if ok != at.ok || p.Full {
			t.Errorf("at %v: admitted %v, full %v", at.now.Sub(now), ok, p.Full)
		}
		if ok {
			routes[0].Done(p, Good, at.now)
		}
	}
	s.Permit(10, now.Add(time.Hour))
	if _, ok := routes[0].Admit(now.Add(time.Minute), within); !ok || *trips != 0 {
		t.Errorf("renewed: admitted %v, %d trips", ok, *trips)
	}
}
