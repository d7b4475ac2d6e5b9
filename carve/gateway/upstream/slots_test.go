package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestSlotsAreNeverOverdrawnOrLost: however many come, wait, give up and go, no more
// hold one than there are, and all are free in the end.
func TestSlotsAreNeverOverdrawnOrLost(t *testing.T) {
	s := &slots{limit: 3, wait: time.Millisecond}
	var holding, served atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for n := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+n)%3 == 0 {
					cancel()
				}
				if s.acquire(ctx, i%4 == 0, nil) == nil {
					if holding.Add(1) > 3 {
						t.Error("more than three hold one")
					}
					served.Add(1)
					holding.Add(-1)
					s.release()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if s.taken != 0 || s.queue.n != 0 || served.Load() == 0 {
		t.Errorf("in the end %d are taken and %d wait, %d were served", s.taken, s.queue.n, served.Load())
	}
}

// TestSharedSlotsAreForAll: an upstream that turns out to speak HTTP/2 keeps nobody
// waiting.
func TestSharedSlotsAreForAll(t *testing.T) {
	s := &slots{limit: 1, wait: time.Hour}
	if err := s.acquire(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.acquire(t.Context(), true, nil); !errors.Is(err, errNoSpare) {
		t.Errorf("aside: %v", err)
	}
	waited := make(chan error)
	go func() { waited <- s.acquire(t.Context(), false, nil) }()
	s.share()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	s.release()
	s.release()
	if s.taken != 0 {
		t.Errorf("%d are taken", s.taken)
	}
}

// TestClientsWaitInTurn: however many a client has waiting, those of others come between
// its own, and its own in their order.
func TestClientsWaitInTurn(t *testing.T) {
	var q waiters
	names := map[*waiter]string{}
	add := func(client, name string) *waiter {
		w := q.add(&Raw{Peer: client})
		names[w] = name
		return w
	}
	for i := range 5 {
		add("192.0.2.1", fmt.Sprint("a", i))
	}
	gone := add("192.0.2.2", "b0")
	add("192.0.2.2", "b1")
	add("[2001:db8::1]", "c0")
	add("[2001:db8::ffff]", "c1") // of the same network
	if !q.remove(gone) || q.remove(gone) {
		t.Error("who gives up is not taken out once")
	}
	var got []string
	for q.wake() {
		for w, name := range names {
			select {
			case <-w.ready:
				got = append(got, name)
				delete(names, w)
			default:
			}
		}
	}
	if want := []string{"a0", "b1", "c0", "a1", "c1", "a2", "a3", "a4"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if q.n != 0 || q.turns.Len() != 0 || len(q.lines) != 0 {
		t.Errorf("%d still wait, in %d lines", q.n, q.turns.Len())
	}
}
