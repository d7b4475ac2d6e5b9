package breaker

import (
	"testing"
	"time"
)

// TestPermits: a gateway of a fleet exposes no more requests than it has permits for, and
// being short of them trips nothing. A pause has nothing counted from 0, a fall has.
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
		if u := s.Use(); u.Exposed != 3 || u.Unproven != 0 || u.Peak != 3 || !u.Good.IsZero() {
			t.Errorf("live %v: three under way: %+v", live, u)
		}
		routes[0].Done(under[0], Bad, now)
		routes[0].Done(under[1], Bad, now)
		if u := s.Use(); u.Exposed != 3 || u.Unproven != 2 {
			t.Errorf("live %v: two that are over without a good response: %+v", live, u)
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
		if u := s.Use(); u.Exposed == 0 {
			t.Errorf("live %v: after the fall of one of two routes nothing counts any more", live)
		}
		routes[0].Done(under[2], Bad, now)
		routes[1].Set(false, live, 4)
		s.Fell()
		if u := s.Use(); u.Exposed != 0 || u.Unproven != 0 {
			t.Errorf("live %v: after a fall: %+v", live, u)
		}
		for _, b := range routes {
			b.Set(true, live, 5)
		}
		if suspect, ok := admit(); ok && !live { // the monolith's response is awaited
			routes[0].Suspect(suspect)
			if u := s.Use(); u.Exposed != 1 || u.Unproven != 0 {
				t.Errorf("a suspect: %+v", u)
			}
			routes[0].Settle(suspect, true, now)
		} else {
			routes[0].Done(suspect, Void, now)
		}
		p, ok := admit()
		if !ok || *trips != 0 {
			t.Fatalf("live %v: the next shift: admitted %v, %d trips", live, ok, *trips)
		}
		later := now.Add(time.Second)
		routes[0].Done(p, Good, later)
		early, _ := routes[0].Admit(now.Add(-time.Minute), within)
		routes[0].Done(early, Good, later)
		if u := s.Use(); !u.Good.Equal(now) || u.Exposed != 0 || u.Peak < 1 {
			t.Errorf("live %v: after good responses: %+v", live, u)
		}
		if u := s.Use(); u.Peak != 0 {
			t.Errorf("live %v: the peak is told again: %+v", live, u)
		}
	}
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
	if u := s.Use(); u.Exposed != 50 {
		t.Errorf("after the trip: %+v", u)
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
