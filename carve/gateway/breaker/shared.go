package breaker

import (
	"math"
	"sync"
	"time"
)

// Shared bounds how many users' requests meet one broken candidate over all of the
// routes that it serves: as many as a breaker admits on a route alone, where the
// largest bound of the routes holds. Routes in phase live are counted for themselves,
// since others bound what is in flight. When it trips, the breakers of its routes do.
type Shared struct {
	shift, live *Breaker

	mu       sync.Mutex // guards the following
	exposure int
	members  map[*Breaker]struct{}
}

// NewShared makes the bound of one candidate.
func NewShared() *Shared {
	s := &Shared{members: map[*Breaker]struct{}{}}
	s.shift, s.live = s.part(false), s.part(true)
	return s
}

// part makes a breaker that closes again at once: what has tripped are the routes'.
func (s *Shared) part(live bool) *Breaker {
	var b *Breaker
	b = New(func(reason string, _ uint64) {
		b.Set(true, live, 0)
		for _, m := range s.all() {
			m.Trip(reason + " over all routes of the candidate")
		}
	})
	b.Set(true, live, 0)
	return b
}

// Bound sets how many users' requests may meet the candidate.
func (s *Shared) Bound(exposure int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exposure = max(exposure, 1)
}

// admit acquires a permit for a request of a route's breaker.
func (s *Shared) admit(of *Breaker, live bool, now time.Time) (*Breaker, Permit, bool) {
	s.mu.Lock()
	s.members[of] = struct{}{}
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

func (s *Shared) all() []*Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Breaker
	for m := range s.members {
		all = append(all, m)
	}
	clear(s.members) // whoever is closed again comes again
	return all
}
