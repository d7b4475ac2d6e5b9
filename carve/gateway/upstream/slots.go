package upstream

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// slots bound how many requests are under way at one upstream, by whichever way they
// are sent. Users wait for one in the order in which they came, and not for long;
// what is done aside waits for none.
type slots struct {
	limit int
	// wait bounds a user's wait.
	wait time.Duration

	mu    sync.Mutex // guards the following
	taken int
	// shared says that requests share a connection (HTTP/2): there are slots for all.
	shared bool
	queue  list.List // of chan struct{}, closed when the slot is there
	// loans are those of the slots taken that may be taken back.
	loans map[*loan]struct{}
}

// acquire takes a slot, for a user or for what is done aside.
func (s *slots) acquire(ctx context.Context, aside bool) error {
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
	ready := make(chan struct{})
	at := s.queue.PushBack(ready)
	s.mu.Unlock()
	t := time.NewTimer(s.wait)
	defer t.Stop()
	look := time.NewTicker(reclaimEvery)
	defer look.Stop()
	for {
		select {
		case <-ready:
			return nil
		case <-look.C:
			s.reclaim()
		case <-ctx.Done():
			return s.leave(at, ctx.Err())
		case <-t.C:
			return s.leave(at, errNoSlot)
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
func (s *slots) leave(at *list.Element, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-at.Value.(chan struct{}):
		return nil
	default:
		s.queue.Remove(at)
		return why
	}
}

// release gives a slot to whoever waits longest, or back.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.queue.Front(); first != nil {
		close(s.queue.Remove(first).(chan struct{}))
		return
	}
	s.taken--
}

// share says that the upstream speaks HTTP/2.
func (s *slots) share() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared = true
	for s.queue.Len() > 0 {
		s.taken++
		close(s.queue.Remove(s.queue.Front()).(chan struct{}))
	}
}

// spares reports whether users leave a slot to what is done aside: they keep half of
// all for themselves, and one that is alone is spared while it is not taken.
func spares(taken, limit int) bool { return taken <= (limit-1)/2 }
