package upstream

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// slots bound how many requests are under way at one upstream, by whichever way they
// are sent. Users wait for a slot, in the order in which they came, and not for long.
// Requests that no user waits for (aside) never wait.
type slots struct {
	limit int
	// wait bounds a user's wait.
	wait time.Duration

	mu    sync.Mutex // guards the following
	taken int
	// shared says that requests share a connection (HTTP/2): there are slots for all.
	shared bool
	queue  list.List // of chan struct{}, each closed when its slot has come
	// revocable are those of the slots taken that may be revoked.
	revocable map[*revocable]struct{}
}

// acquire takes a slot for a user's request, or, with aside, for one that no user waits for.
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
	w := s.queue.PushBack(ready)
	s.mu.Unlock()
	t := time.NewTimer(s.wait)
	defer t.Stop()
	look := time.NewTicker(revokeEvery)
	defer look.Stop()
	for {
		select {
		case <-ready:
			return nil
		case <-look.C:
			s.revoke()
		case <-ctx.Done():
			return s.leave(w, ready, ctx.Err())
		case <-t.C:
			return s.leave(w, ready, errNoSlot)
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
func (s *slots) leave(w *list.Element, ready <-chan struct{}, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-ready:
		return nil
	default:
		s.queue.Remove(w)
		return why
	}
}

// wake gives a slot to who has waited longest; false: nobody waits. The caller holds mu.
func (s *slots) wake() bool {
	first := s.queue.Front()
	if first == nil {
		return false
	}
	close(s.queue.Remove(first).(chan struct{}))
	return true
}

// release gives a slot to whose turn it is, or back.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.wake() {
		s.taken--
	}
}

// share says that the upstream speaks HTTP/2.
func (s *slots) share() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared = true
	for s.wake() {
		s.taken++
	}
}

// spares reports whether a request that no user waits for may take a slot. Half of all
// slots are the users' own; an only slot may be taken while it is free.
func spares(taken, limit int) bool { return taken <= (limit-1)/2 }

// revocable is a slot whose exchange waits for its client again and again. While others
// wait for a slot it may be revoked: from the client that is waited for longest.
type revocable struct {
	// cut has the exchange end: its client is waited for no longer. It is called
	// with the slots locked, so that it must not wait for them.
	cut func()
	// waited is how long the client has been waited for in all; 0 while it is not.
	waited func() time.Duration

	cutAt time.Time // guarded by the slots' mu
}

const (
	// leniency is how long a client may be waited for while others wait for the slot.
	leniency = time.Second
	// revokeEvery is how often who waits for a slot looks for one to be revoked.
	revokeEvery = 50 * time.Millisecond
)

// allowRevoking makes a slot one that may be revoked.
func (s *slots) allowRevoking(r *revocable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revocable == nil {
		s.revocable = map[*revocable]struct{}{}
	}
	s.revocable[r] = struct{}{}
}

func (s *slots) forbidRevoking(r *revocable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.revocable, r)
}

// revoke takes a slot back from the client that was waited for longest, if there is
// one that was for too long. The slot is free when its exchange has ended.
func (s *slots) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var slowest *revocable
	longest := leniency
	now := time.Now()
	for r := range s.revocable {
		if w := r.waited(); w >= longest && now.Sub(r.cutAt) >= leniency {
			slowest, longest = r, w
		}
	}
	if slowest != nil {
		slowest.cutAt = now
		slowest.cut()
	}
}

// Wait counts the time in which a client is waited for. It is safe for concurrent
// use, and the zero value has begun nothing.
type Wait struct {
	total atomic.Int64 // ended waits, ns
	since atomic.Int64 // when the present one began, Unix ns; 0: there is none
}

// Begin begins to wait.
func (w *Wait) Begin(now time.Time) { w.since.Store(now.UnixNano()) }

// End ends the wait that Begin began.
func (w *Wait) End(now time.Time) {
	w.total.Add(now.UnixNano() - w.since.Swap(0))
}

// Total is how long the client has been waited for in all.
func (w *Wait) Total(now time.Time) time.Duration {
	total := w.total.Load()
	if since := w.since.Load(); since != 0 {
		total += now.UnixNano() - since
	}
	return time.Duration(total)
}

// waited is as in revocable.
func (w *Wait) waited() time.Duration {
	if w.since.Load() == 0 {
		return 0
	}
	return w.Total(time.Now())
}

// LetRevoke lets the response's slot be revoked while w says that the client is waited
// for, by cut, until Close.
func (a *Response) LetRevoke(w *Wait, cut func()) {
	if a.revocable != nil || a.closed {
		return
	}
	a.revocable = &revocable{cut: cut, waited: w.waited}
	a.slots().allowRevoking(a.revocable)
}

// slots are those of the response's upstream.
func (a *Response) slots() *slots {
	if a.conn != nil {
		return a.conn.pool.slots
	}
	return a.held.slots
}
