package upstream

import (
	"container/list"

	"whittle/carve/gateway/quota"
)

// peer is whoever a request is sent for.
type peer interface{ Client() string }

// waiters wait for a slot: clients in turn, and those of one client in the order in
// which they came. So who has many waiting holds up nobody else.
type waiters struct {
	n     int
	turns list.List // of *line; who is first is next
	lines map[quota.Key]*list.Element
}

// line are the waiters of one client. It is never empty.
type line struct {
	of    quota.Key
	waits list.List // of *waiter
}

// waiter waits until ready is closed.
type waiter struct {
	ready chan struct{}
	in    *list.Element // of turns; nil: it waits no more
	at    *list.Element
}

// add has one more wait for a client; nil: it is not known.
func (q *waiters) add(of peer) *waiter {
	var k quota.Key
	if of != nil {
		k = quota.OfAddress(of.Client())
	}
	in := q.lines[k]
	if in == nil {
		in = q.turns.PushBack(&line{of: k})
		if q.lines == nil {
			q.lines = map[quota.Key]*list.Element{}
		}
		q.lines[k] = in
	}
	w := &waiter{ready: make(chan struct{}), in: in}
	w.at = in.Value.(*line).waits.PushBack(w)
	q.n++
	return w
}

// remove takes a waiter out; false: it waits no more.
func (q *waiters) remove(w *waiter) bool {
	if w.in == nil {
		return false
	}
	l := w.in.Value.(*line)
	l.waits.Remove(w.at)
	if l.waits.Len() == 0 {
		q.turns.Remove(w.in)
		delete(q.lines, l.of)
	}
	w.in, w.at = nil, nil
	q.n--
	return true
}

// wake lets the next one go; false: nobody waits.
func (q *waiters) wake() bool {
	in := q.turns.Front()
	if in == nil {
		return false
	}
	w := in.Value.(*line).waits.Front().Value.(*waiter)
	q.turns.MoveToBack(in)
	q.remove(w)
	close(w.ready)
	return true
}
