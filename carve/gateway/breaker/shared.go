package breaker

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Shared bounds how many users' requests meet one broken candidate over all of the
// routes that it serves: as many as a breaker admits on a route alone, where the
// largest bound of the routes holds. Routes in phase live are counted for themselves,
// since others bound what is in flight. When it trips, the breakers of its routes do.
// Once all of them are open it counts from 0, as each of them does.
type Shared struct {
	shift, live *Breaker

	mu       sync.Mutex // guards the following
	exposure int
	routes   []*Breaker
	// leased says that a fleet leases permits to this gateway.
	leased bool
}

// Permit sets how many requests a fleet lets be exposed here, and until when; zero: until
// the next call. From the first call on a pause is no reason to count from 0: the candidate
// may be as broken as before it. When it returns no more are exposed than n, or than were
// before.
func (s *Shared) Permit(n int, until time.Time) {
	s.mu.Lock()
	s.leased = true
	s.mu.Unlock()
	s.shift.permit(max(n, 0), until)
	s.live.permit(max(n, 0), until)
}

// Fell takes note that a shift of one of the routes is over, everywhere in the fleet:
// once all of them are open, what was exposed in it does not count any more.
func (s *Shared) Fell() {
	if s.isLeased() {
		s.restart()
	}
}

func (s *Shared) isLeased() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leased
}

// NewShared makes the bound of one candidate.
func NewShared() *Shared {
	s := &Shared{}
	s.shift, s.live = s.part(false), s.part(true)
	return s
}

// part makes a breaker that closes again at once: what has tripped are the routes'.
func (s *Shared) part(live bool) *Breaker {
	var b *Breaker
	b = New(func(reason string, _ uint64) {
		if s.isLeased() {
			b.goOn() // what was exposed counts until the fall is everywhere
		} else {
			b.Set(true, live, 0)
		}
		for _, r := range s.all() {
			r.Trip(reason + " over all routes of the candidate")
		}
	})
	b.Set(true, live, 0)
	return b
}

// Bound sets how many users' requests may meet the candidate, and the breakers of the
// routes that it serves.
func (s *Shared) Bound(exposure int, routes []*Breaker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exposure, s.routes = max(exposure, 1), routes
}

// admit acquires a permit for a request of a route's breaker.
func (s *Shared) admit(live bool, now time.Time) (*Breaker, Permit, bool) {
	s.mu.Lock()
	// A row of bad responses is a matter of one route.
	within := Bounds{consecutive: math.MaxInt, exposure: s.exposure}
	s.mu.Unlock()
	b := s.shift
	if live {
		b = s.live
	}
	p, ok := b.Admit(now, within)
	return b, p, ok
}

// opened takes note that the breaker of a route has opened.
func (s *Shared) opened() {
	if !s.isLeased() {
		s.restart()
	}
}

// restart counts from 0, if no route's breaker lets requests through.
func (s *Shared) restart() {
	if !slices.ContainsFunc(s.all(), (*Breaker).isClosed) {
		s.shift.restart()
		s.live.restart()
	}
}

func (s *Shared) all() []*Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.routes
}
