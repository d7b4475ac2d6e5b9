package breaker

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"whittle/internal/fatal"
)

// TestPermits: a gateway of a fleet exposes no more requests than it has permits for, and
// trips once all of them are without a good response. A pause has nothing counted from 0, a fall has.
func TestPermits(t *testing.T) {
	for _, live := range []bool{false, true} {
		s := NewShared()
		routes, trips := closed(s, 2, live)
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
		fatal.Same(t, exposed(s), 3, "live %v: one under way and two without a good response", live)

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
		fatal.Same(t, exposed(s), 0, "live %v: after a fall", live)
		for _, b := range routes {
			b.Set(true, live, 5)
		}
		if met := fails(routes[0], 3, within); met != 3 || *trips != 0 { // the last of the permits, with nothing in flight
			t.Fatalf("live %v: the next shift: admitted %d, %d trips", live, met, *trips)
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
	routes, trips := closed(s, 1, false)
	s.Permit(1000, time.Time{})
	met := fails(routes[0], 100, Bounds{consecutive: 1000, exposure: 50, Shared: s})
	if met != 50 || *trips != 1 {
		t.Errorf("%d met the broken candidate, %d trips", met, *trips)
	}
	// Alone, a trip has everything counted from 0; in a fleet the fall does.
	fatal.Same(t, exposed(s), 50, "after the trip")
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
	routes, trips := closed(s, 1, false)
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

// The promised second, on a clock that no loaded machine can slow down: 500
// users, and a candidate that took at most 249 ms until it breaks for good.
// (TestRollback of e2e/walk does the same over processes, where only counts are sure.)
func TestShareFallsWithinASecond(t *testing.T) {
	const (
		users   = 500
		slowest = 249 * time.Millisecond
		bound   = time.Second
	)
	ways := []struct {
		name string
		// fails returns when a request has been let down by the candidate.
		fails func(letDown context.Context)
	}{
		{"at once", func(context.Context) {}},
		{"as late as it answered", func(context.Context) { time.Sleep(slowest) }},
		{"never: it hangs", func(letDown context.Context) { <-letDown.Done() }},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broke, fell atomic.Int64
				var met atomic.Int32
				b := New(func(string, uint64) { fell.Store(time.Now().UnixNano()) })
				b.Set(true, false, 1)
				defer b.Stop()
				asks := func(p Permit, pace time.Duration) Outcome {
					if broke.Load() == 0 {
						time.Sleep(pace)
					}
					if broke.Load() == 0 {
						return Good
					}
					met.Add(1)
					way.fails(p.Tripped)
					return Bad
				}
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				for user := range users {
					rng := rand.New(rand.NewPCG(1, uint64(user)))
					upTo := func(d time.Duration) time.Duration { return 1 + time.Duration(rng.Int64N(int64(d))) }
					running.Go(func() {
						for ctx.Err() == nil {
							time.Sleep(upTo(400 * time.Millisecond))
							if p, ok := b.Admit(time.Now(), tight); ok {
								b.Done(p, asks(p, upTo(slowest)), time.Now())
							}
						}
					})
				}
				time.Sleep(10 * time.Second)
				fatal.Same(t, fell.Load(), 0, "tripped before anything broke")
				broke.Store(time.Now().UnixNano())
				time.Sleep(5 * time.Second)
				stop()
				running.Wait()
				if took := time.Duration(fell.Load() - broke.Load()); fell.Load() == 0 || took > bound {
					t.Errorf("share 0 after %v, promised within %v", took, bound)
				}
				if n := int(met.Load()); n == 0 || n > tight.exposure {
					t.Errorf("%d requests met the broken candidate, bound %d", n, tight.exposure)
				}
			})
		})
	}
}

// ends are the permits under way, by their end.
type ends []struct {
	at time.Time
	p  Permit
}

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(ends)[0]) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return ends{last}
}

// TestASoundCandidateUnderLoad: 20,000 users' requests a second, for 50 ms each, are
// 1,000 under way (Little's law). During a shift the candidate serves as many of them as
// guard.exposure has room for; in phase live it serves them all. What is refused is said
// to be for want of room.
func TestASoundCandidateUnderLoad(t *testing.T) {
	synctest.Test(t, soundUnderLoad) // whose clock stands still: no stall is of this machine
}

func soundUnderLoad(t *testing.T) {
	const rate, service = 20_000.0, 50 * time.Millisecond
	for _, tt := range []struct {
		exposure int
		live     bool
		// served is between these shares of the requests.
		least, most float64
	}{
		{50, false, .04, .06},
		{500, false, .45, .55},
		{1200, false, .99, 1},
		{50, true, .999, 1},
	} {
		b, got := opened(tt.live)
		within := Bounds{consecutive: 5, exposure: tt.exposure}
		rng := rand.New(rand.NewPCG(1, 1))
		now := time.Unix(1, 0)
		var under ends
		served, full := 0, 0
		const all = 100_000
		for range all {
			now = now.Add(time.Duration(rng.ExpFloat64() / rate * float64(time.Second)))
			for len(under) > 0 && under[0].at.Before(now) {
				e := heap.Pop(&under).(ends)[0]
				b.Done(e.p, Good, e.at)
			}
			p, ok := b.Admit(now, within)
			if ok {
				served++
				heap.Push(&under, ends{{now.Add(time.Duration(rng.ExpFloat64() * float64(service))), p}})
			} else if p.Full {
				full++
			}
		}
		b.Stop()
		share := float64(served) / all
		t.Logf("exposure %d, live %v: %.1f %% served, %d under way in the end", tt.exposure, tt.live, 100*share, len(under))
		if share < tt.least || share > tt.most || served+full != all || len(got.reasons) > 0 {
			t.Errorf("exposure %d, live %v: %.4f served, %d of %d refused for want of room; tripped for %q", tt.exposure, tt.live, share, full, all-served, got.reasons)
		}
	}
}
