package load

import (
	"context"
	"math/rand/v2"
	"sync"

	"whittle/load/plan"
)

// pacerStream is the pacer's random stream, apart from those of the users.
const pacerStream = 0x70616365

func (t *task) pacer() *plan.Pacer {
	return plan.NewPacer(t.plan.Phases, rand.New(rand.NewPCG(t.seed, pacerStream)))
}

// paceArrivals starts the virtual users of open arrivals, each on a goroutine. Their
// requests go on until cut ends. False: ctx ended before the last had started.
func (s *execution) paceArrivals(ctx, cut context.Context) bool {
	next := s.arrivals
	if next == nil {
		next = s.options.Part.Arrivals(s.pacer().Next)
	}
	for {
		a, ok := next()
		if !ok {
			return s.sleepUntil(ctx, plan.TotalLength(s.plan.Phases))
		}
		if !s.sleepUntil(ctx, a.At) {
			return false
		}
		s.startArrival(cut, a)
	}
}

// paceOnLoops starts the virtual users of open arrivals on the event loops. False:
// ctx ended before the last had started.
func (s *execution) paceOnLoops(ctx, cut context.Context) bool {
	var wg sync.WaitGroup
	for _, l := range s.loops {
		wg.Add(1)
		l.Post(func() { l.takeArrivals(cut, wg.Done) })
	}
	wg.Wait()
	return s.sleepUntil(ctx, plan.TotalLength(s.plan.Phases))
}

// startArrival starts a virtual user, or counts it as skipped where too many are
// under way. When ctx ends, its requests are aborted.
func (s *execution) startArrival(ctx context.Context, a plan.Arrival) {
	if !s.admit(a) {
		return
	}
	s.mu.Lock()
	if n := len(s.parked); n > 0 {
		u := s.parked[n-1]
		s.parked = s.parked[:n-1]
		s.mu.Unlock()
		u.arrivals <- a
		return
	}
	s.mu.Unlock()
	u := s.newUser()
	u.arrivals = make(chan plan.Arrival, 1)
	s.wg.Go(func() {
		for ok := true; ok; a, ok = <-u.arrivals {
			u.runArrival(ctx, a)
			if !s.park(u) {
				return
			}
		}
	})
}

// admit counts a virtual user as under way, or as skipped.
func (s *execution) admit(a plan.Arrival) bool {
	if s.givesUp > 0 && (s.gaveUp.Load() || s.now().Sub(s.began.Add(a.At)) > s.givesUp) {
		s.gaveUp.Store(true)
		s.end.early.Store(true)
		s.end.halt()
		return false
	}
	part := s.options.Part
	limit := part.Share(int64(s.options.MaxInFlight))
	if m := s.plan.Phases[a.Phase].MaxUsers; m > 0 {
		limit = min(limit, part.Share(int64(m)))
	}
	if s.inFlight.Add(1) > limit {
		s.inFlight.Add(-1)
		s.skipped.Add(1)
		return false
	}
	return true
}

// park keeps a user's goroutine for the next arrival. False: it must end.
func (s *execution) park(u *user) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.parked = append(s.parked, u)
	return true
}
