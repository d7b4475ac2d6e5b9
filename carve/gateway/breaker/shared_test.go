package breaker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"whittle/internal/fatal"
)

// TestRoutesShareTheExposure: ten routes whose candidate breaks, or hangs, expose as
// many users to it as one would, in the shift and in phase live, and all of them trip, each by
// its own row or by the common bound. A good response of any route makes up for it, and the next
// attempt begins afresh.
func TestRoutesShareTheExposure(t *testing.T) {
	for _, live := range []bool{false, true} {
		for hangs, row := range map[string]int{"hangs": 1000, "fails": 1000, "fails in a row": 5} {
			t.Run(fmt.Sprintf("live %v, %s", live, hangs), func(t *testing.T) {
				hangs := hangs == "hangs"
				synctest.Test(t, func(t *testing.T) {
					s := NewShared()
					routes, trips := closed(s, 10, live)
					within := Bounds{consecutive: row, exposure: 50, Shared: s}
					round := func(how Outcome, end bool) (met int) {
						var under []func()
						for i := range 500 {
							b := routes[i%len(routes)]
							if p, ok := b.Admit(time.Now(), within); ok {
								met++
								under = append(under, func() { b.Done(p, how, time.Now()) })
							}
						}
						for _, done := range under {
							if end {
								done()
							}
						}
						return met
					}
					fatal.Same(t, round(Good, true), 50, "met the good candidate at once")
					fatal.Same(t, round(Bad, !hangs), 50, "met the broken candidate")
					if row > 50 && round(Bad, !hangs) != 0 {
						t.Error("more met it")
					}
					if want := len(routes); !hangs && *trips != want {
						t.Errorf("%d of %d routes tripped", *trips, want)
					}
					if hangs {
						return // each route's own breaker sees that
					}
					for _, b := range routes {
						b.Set(true, live, 2)
					}
					fatal.Same(t, round(Good, true), 50, "met it after all were closed again")
				})
			})
		}
	}
}

// closed makes routes of one candidate whose breakers are closed, and counts their trips.
func closed(s *Shared, n int, live bool) (routes []*Breaker, trips *int) {
	trips = new(int)
	for range n {
		b := New(func(string, uint64) { *trips++ })
		b.Set(true, live, 1)
		routes = append(routes, b)
	}
	s.Bound(50, routes)
	return routes, trips
}

// fails has a route's candidate fail at up to n requests, one after the other, and says how
// many of them it met.
func fails(b *Breaker, n int, within Bounds) (met int) {
	for range n {
		if p, ok := b.Admit(time.Now(), within); ok {
			met++
			b.Done(p, Bad, time.Now())
		}
	}
	return met
}

// TestOneRoutesTripGivesNothingBack: while another route is closed, what the tripped
// one has exposed counts, also after it is closed again.
func TestOneRoutesTripGivesNothingBack(t *testing.T) {
	s := NewShared()
	routes, _ := closed(s, 2, false)
	within, now := Bounds{consecutive: 5, exposure: 50, Shared: s}, time.Unix(0, 0)
	met := 0
	for range 20 {
		met += fails(routes[0], 5, within)
		routes[0].Set(false, false, 2)
		routes[0].Set(true, false, 3)
		if met == 50 {
			break
		}
	}
	if _, ok := routes[1].Admit(now, within); ok || met != 50 {
		t.Errorf("%d met the broken candidate on one route, and one more on the other: %v", met, ok)
	}
}

// TestARouteThatHasLeftIsNotTripped: a route that was removed, or has another candidate
// now, does not trip with the one it had.
func TestARouteThatHasLeftIsNotTripped(t *testing.T) {
	s, other := NewShared(), NewShared()
	routes, trips := closed(s, 2, false)
	within, now := Bounds{consecutive: 1000, exposure: 50, Shared: s}, time.Unix(0, 0)
	moved := within
	moved.Shared = other
	if p, ok := routes[1].Admit(now, within); ok {
		routes[1].Done(p, Good, now)
	}
	s.Bound(50, routes[:1])
	other.Bound(50, routes[1:])
	fails(routes[0], 51, within)
	if _, ok := routes[1].Admit(now, moved); !ok || *trips != 1 {
		t.Errorf("on the sound candidate: admitted %v, %d trips", ok, *trips)
	}
}

// An error that the monolith gives too, for the same request, is not the
// candidate's: no number of them in a row trips anything, at once or one after
// the other, and not even while the monolith takes its time for them.
func TestBreakerLeavesWhatBothFailAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, live := range []bool{false, true} {
			b, got := opened(live)
			b.ObserveMirrored(time.Millisecond)
			for range 40 {
				var passes []Permit
				for range 20 {
					p, ok := b.Admit(time.Now(), tight)
					if !ok {
						t.Fatalf("live %v: not admitted; tripped for %q", live, got.reasons)
					}
					b.Suspect(p)
					passes = append(passes, p)
				}
				time.Sleep(10 * minStallTimeout)
				for _, p := range passes {
					b.Settle(p, true, time.Now())
				}
			}
			synctest.Wait()
			if len(got.reasons) > 0 {
				t.Errorf("live %v: tripped for %q", live, got.reasons)
			}
			for range tight.consecutive { // the candidate alone now
				p, _ := b.Admit(time.Now(), tight)
				b.Suspect(p)
				b.Settle(p, false, time.Now())
			}
			fatal.Same(t, len(got.reasons), 1, "live %v: %d failures of the candidate alone tripped for %q", live, tight.consecutive, got.reasons)
			b.Stop()
		}
	})
}

// While the monolith is being asked, what the candidate failed at counts towards
// the bound on exposure.
func TestBreakerBoundsSuspects(t *testing.T) {
	b, got := opened(false)
	now := time.Unix(0, 0)
	var passes []Permit
	for range 3 * tight.exposure {
		if p, ok := b.Admit(now, tight); ok {
			b.Suspect(p)
			passes = append(passes, p)
		}
	}
	if len(passes) != tight.exposure || len(got.reasons) > 0 {
		t.Fatalf("%d admitted, want %d; tripped for %q", len(passes), tight.exposure, got.reasons)
	}
	for _, p := range passes {
		b.Settle(p, false, now)
	}
	fatal.Same(t, len(got.reasons), 1, "tripped for %q", got.reasons)
}

// A user who goes away counts once; fifty users who do are too many, and so is
// one who waited each time for longer than the candidate ever took.
func TestBreakerCountsUsersWhoGo(t *testing.T) {
	for _, tt := range []struct {
		name  string
		users uint64
		wait  time.Duration
		trips bool
	}{
		{"one user", 1, 0, false},
		{"fewer users than the bound", uint64(tight.exposure) - 1, 0, false},
		{"as many users as the bound", uint64(tight.exposure), 0, true},
		{"one user, whom the candidate keeps waiting", 1, time.Minute, true},
	} {
		for _, live := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, live %v", tt.name, live), func(t *testing.T) {
				b, got := opened(live)
				b.ObserveMirrored(time.Millisecond)
				now := time.Unix(0, 0)
				for i := range uint64(20 * tight.exposure) {
					p, ok := b.Admit(now, tight)
					if !ok {
						break
					}
					p.User = 1 + i%tt.users
					b.Done(p, Unknown, now.Add(tt.wait))
				}
				fatal.Same(t, len(got.reasons) == 1, tt.trips, "tripped for %q", got.reasons)
			})
		}
	}
}
