package upstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle/internal/fatal"
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
				if s.acquire(ctx, i%4 == 0) == nil {
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
	if s.taken != 0 || s.queue.Len() != 0 || served.Load() == 0 {
		t.Errorf("in the end %d are taken and %d wait, %d were served", s.taken, s.queue.Len(), served.Load())
	}
}

// TestSharedSlotsAreForAll: an upstream that turns out to speak HTTP/2 keeps nobody
// waiting.
func TestSharedSlotsAreForAll(t *testing.T) {
	s := &slots{limit: 1, wait: time.Hour}
	fatal.If(t, s.acquire(t.Context(), false))
	if err := s.acquire(t.Context(), true); !errors.Is(err, errNoSpare) {
		t.Errorf("aside: %v", err)
	}
	waited := make(chan error)
	go func() { waited <- s.acquire(t.Context(), false) }()
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
