package upstream

import (
	"errors"
	"sync/atomic"
	"time"
)

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

// errCut is what a response gives after Cut.
var errCut = errors.New("the response is not wanted any more")

// Leave leaves the last piece to whoever has it: the piece stays valid, and what
// follows is read into other memory. It gives the number of bytes that are held so,
// for which it asks first; false: there is no room, and nothing has changed.
func (a *Response) Leave(room func(bytes int64) bool) (held int64, ok bool) {
	if a.conn != nil {
		return a.conn.framed.leave(room)
	}
	s := a.body.(*readerSource)
	if s.buf == nil {
		return 0, true
	}
	held = int64(len(s.buf))
	if !room(held) {
		return 0, false
	}
	s.buf = nil
	return held, true
}

// leave is as in Response. A piece that was found and not returned stays in the
// memory that is left, which nobody writes into.
func (b *body) leave(room func(bytes int64) bool) (held int64, ok bool) {
	c := b.c
	held = int64(len(c.buf))
	if b.big != nil {
		held += int64(len(b.big))
	}
	if !room(held) {
		return 0, false
	}
	fresh := make([]byte, len(c.buf))
	c.w = copy(fresh, c.buf[c.r:c.w])
	c.r, c.buf, b.big = 0, fresh, nil
	return held, true
}

// Cut has a Next that waits, and any later one, fail. Unlike all else it may be called
// by another goroutine, before Close.
func (a *Response) Cut() {
	if a.conn != nil {
		a.conn.cut.Store(true)
		a.conn.kill()
		return
	}
	a.body.(*readerSource).watch.cancel()
}
