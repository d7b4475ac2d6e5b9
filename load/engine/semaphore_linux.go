package engine

import (
	"os"
	"slices"
	"time"
)

// Semaphore bounds how many fibers of one loop hold a permit at once. Fibers get
// permits in the order in which they asked.
type Semaphore struct {
	loop    *Loop
	free    int
	waiters []*Fiber // first come, first served
}

// NewSemaphore makes a semaphore of n permits.
func (l *Loop) NewSemaphore(n int) *Semaphore { return &Semaphore{loop: l, free: n} }

// Acquire waits for a permit. It fails with os.ErrDeadlineExceeded or ErrAborted.
func (s *Semaphore) Acquire(deadline time.Time) error {
	if s.free > 0 {
		s.free--
		return nil
	}
	f := s.loop.running
	s.waiters = append(s.waiters, f)
	why := f.wait(deadline)
	if why == wokenReady { // Release passed its permit on to this fiber
		return nil
	}
	if i := slices.Index(s.waiters, f); i >= 0 {
		s.waiters = slices.Delete(s.waiters, i, i+1)
	}
	if why == wokenByDeadline {
		return os.ErrDeadlineExceeded
	}
	return ErrAborted
}

// Release gives a permit to the fiber that has waited longest, if any waits.
func (s *Semaphore) Release() {
	if len(s.waiters) == 0 {
		s.free++
		return
	}
	next := s.waiters[0]
	s.waiters = s.waiters[1:]
	next.waiting = false // so that no halt resumes it as well
	s.loop.ready = append(s.loop.ready, next)
}
