package upstream

import (
	"context"
	"sync"
	"time"
)

// slots bound how many requests are under way at one upstream, by whichever way they
// are sent. Users wait for one, their addresses in turn, and not for long; what is done
// aside waits for none.
type slots struct {
	limit int
	// wait bounds a user's wait.
	wait time.Duration

	mu    sync.Mutex // guards the following
	taken int
	// shared says that requests share a connection (HTTP/2): there are slots for all.
	shared bool
	queue  waiters
	// revocable are those of the slots taken that may be revoked.
	revocable map[*revocable]struct{}
}

// acquire takes a slot, for a request of a user's or for what is done aside.
func (s *slots) acquire(ctx context.Context, aside bool, of peer) error {
	s.mu.Lock()
	free := s.shared || s.taken < s.limit
	if aside {
		free = spares(s.taken, s.limit)
	}
	if free {
		s.taken++
		s.mu.Unlock()
		return nil
	}
	if aside {
		s.mu.Unlock()
		return errNoSpare
	}
	w := s.queue.add(of)
	s.mu.Unlock()
	t := time.NewTimer(s.wait)
	defer t.Stop()
	look := time.NewTicker(revokeEvery)
	defer look.Stop()
	for {
		select {
		case <-w.ready:
			return nil
		case <-look.C:
			s.revoke()
		case <-ctx.Done():
			return s.leave(w, ctx.Err())
		case <-t.C:
			return s.leave(w, errNoSlot)
		}
	}
}

// free is how many requests would not wait.
func (s *slots) free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit - s.taken
}

// leave gives up waiting, unless the slot has come meanwhile.
func (s *slots) leave(w *waiter, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.remove(w) {
		return why
	}
	return nil
}

// release gives a slot to whose turn it is, or back.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.queue.wake() {
		s.taken--
	}
}

// share says that the upstream speaks HTTP/2.
func (s *slots) share() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared = true
	for s.queue.wake() {
		s.taken++
	}
}

// spares reports whether users leave a slot to what is done aside: they keep half of
// all for themselves, and one that is alone is spared while it is not taken.
func spares(taken, limit int) bool { return taken <= (limit-1)/2 }
