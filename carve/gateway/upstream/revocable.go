package upstream

import (
	"sync/atomic"
	"time"
)

// loan is a slot whose exchange waits for its client again and again. While others
// wait for a slot it may be taken back from the client that is waited for longest.
type loan struct {
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
	// reclaimEvery is how often who waits for a slot looks for one to be taken back.
	reclaimEvery = 50 * time.Millisecond
)

// lend makes a slot one that may be taken back.
func (s *slots) lend(l *loan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loans == nil {
		s.loans = map[*loan]struct{}{}
	}
	s.loans[l] = struct{}{}
}

func (s *slots) unlend(l *loan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.loans, l)
}

// reclaim takes a slot back from the client that was waited for longest, if there is
// one that was for too long. The slot is free when its exchange has ended.
func (s *slots) reclaim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var slowest *loan
	longest := leniency
	now := time.Now()
	for l := range s.loans {
		if w := l.waited(); w >= longest && now.Sub(l.cutAt) >= leniency {
			slowest, longest = l, w
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

// waited is as in loan.
func (w *Wait) waited() time.Duration {
	since := w.since.Load()
	if since == 0 {
		return 0
	}
	return time.Duration(w.total.Load() + time.Now().UnixNano() - since)
}

// Lend lets the response's slot be taken back while w says that the client is waited
// for, by cut, until Close.
func (a *Response) Lend(w *Wait, cut func()) {
	if a.loan != nil || a.closed {
		return
	}
	a.loan = &loan{cut: cut, waited: w.waited}
	a.slots().lend(a.loan)
}

// slots are those of the response's upstream.
func (a *Response) slots() *slots {
	if a.conn != nil {
		return a.conn.pool.slots
	}
	return a.held.slots
}
