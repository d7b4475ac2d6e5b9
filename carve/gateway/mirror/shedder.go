package mirror

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Shedder watches the monolith's latency on one route and says when mirroring
// should stop for its sake.
//
// Two medians are compared. The recent one is that of the last 64 responses. The
// baseline is a slowly moving estimate of the median (stochastic approximation
// of a quantile, Robbins and Monro 1951, on the logarithm): each response moves
// it up or down by one step. Responses given while nothing was being mirrored
// move it by a large step, others by a small one, so it stays near what the
// latency is without mirroring. Shedding is its own control: while it lasts,
// responses come without mirroring. Either they are quick again, and mirroring
// resumes; or they stay slow, so mirroring was not the cause, the baseline
// rises to them, and mirroring resumes too.
type Shedder struct {
	// Above is the multiple of the baseline that sheds; 0: never.
	Above float64

	mu sync.Mutex // guards the following
	// recent is a ring of logarithms of seconds.
	recent [recentResponses]float64
	seen   int
	base   float64
	// shedding holds until the time named, unless confirmed again.
	shedding bool
	until    time.Time
}

const (
	recentResponses = 64
	// medianEvery is how many responses pass between two looks at the medians.
	medianEvery = 16
	// The baseline's steps, in units of the logarithm: while it is first
	// learned, while nothing is mirrored, and otherwise. A latency that has
	// doubled is learned in about 45 responses without mirroring, or 1,400 with it.
	firstStep, unmirroredStep, mirroredStep = 1.0 / 8, 1.0 / 64, 1.0 / 2048
	// leastRise is how much slower the monolith must be in absolute terms: a
	// median that goes from 0.1 to 0.3 ms is a scheduler's noise and nobody's
	// trouble.
	leastRise = time.Millisecond
	// shedLease ends shedding on a route with too few requests to confirm it.
	shedLease = 30 * time.Second
)

// Observe takes one latency of the monolith's. unmirrored says that nothing was
// being mirrored meanwhile.
func (s *Shedder) Observe(latency time.Duration, unmirrored bool, now time.Time) {
	if s.Above <= 0 {
		return
	}
	x := math.Log(max(latency, time.Microsecond).Seconds())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(x, unmirrored)
	s.recent[s.seen%recentResponses] = x
	s.seen++
	if s.seen >= recentResponses && s.seen%medianEvery == 0 {
		s.look(now)
	}
}

// follow moves the baseline. The caller holds mu.
func (s *Shedder) follow(x float64, unmirrored bool) {
	if s.seen == 0 {
		s.base = x
		return
	}
	step := mirroredStep
	switch {
	case s.seen < recentResponses:
		step = firstStep
	case unmirrored:
		step = unmirroredStep
	}
	if x < s.base {
		step = -step
	}
	s.base += step
}

// look decides. It takes more to begin than to go on: shedding ends when the
// median is back under the geometric half of the allowed rise. The caller
// holds mu.
func (s *Shedder) look(now time.Time) {
	sorted := s.recent
	slices.Sort(sorted[:])
	median := sorted[recentResponses/2]
	rise := math.Log(s.Above)
	if s.shedding {
		rise /= 2
	}
	s.shedding = median > s.base+rise && math.Exp(median)-math.Exp(s.base) > leastRise.Seconds()
	if s.shedding {
		s.until = now.Add(shedLease)
	}
}

// Sheds reports whether mirroring should pause.
func (s *Shedder) Sheds(now time.Time) bool {
	if s.Above <= 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shedding && now.Before(s.until)
}
