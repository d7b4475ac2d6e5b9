package gateway

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
)

// Over sockets: ten requests of one user at which both sides fail, and then fifty
// and more of another who disconnects as soon as the candidate has the request,
// trip nothing; five that the candidate alone fails at do.
func TestOneUserTripsNothing(t *testing.T) {
	spec := everything()
	spec.Mirror.Watch = 0
	arrived := make(chan struct{}, 1)
	var broken atomic.Bool
	candidate := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case broken.Load() || strings.HasPrefix(r.Header.Get("X-User"), "poison"):
			w.WriteHeader(http.StatusInternalServerError)
		case r.Header.Get("X-User") == "impatient":
			arrived <- struct{}{}
			<-r.Context().Done()
		}
	})
	monolith := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-User") == "poison" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s := open(t, spec, monolith, candidate)
	s.apply(whittle.All, whittle.PhaseShift)
	for range 2 * spec.Guard.Consecutive {
		if status, _ := s.gets(s.sends("GET", "", "X-User", "poison")); status != http.StatusServiceUnavailable {
			t.Errorf("the user got %d", status)
		}
	}
	waits(t, 10*time.Second, func() bool { return len(s.reported()) == 2*spec.Guard.Consecutive })
	for _, o := range s.reported() {
		if !o.BothBad || o.Side != whittle.Candidate || o.User == 0 {
			t.Fatalf("reported %+v", o)
		}
	}
	for range spec.Guard.Exposure + 10 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		r := s.sends("GET", "", "X-User", "impatient").WithContext(ctx)
		go func() {
			defer close(done)
			if resp, err := http.DefaultClient.Do(r); err == nil {
				resp.Body.Close()
			}
		}()
		select {
		case <-arrived:
		case <-done: // the monolith's: a trip, which is looked for below
		}
		cancel()
		<-done
	}
	waits(t, 10*time.Second, func() bool { return len(s.reported()) == 2*spec.Guard.Consecutive+spec.Guard.Exposure+10 })
	if trips := s.tripped(); len(trips) > 0 {
		t.Fatalf("tripped for %q", trips)
	}
	broken.Store(true)
	for range spec.Guard.Consecutive {
		if status, _ := s.gets(s.sends("GET", "", "X-User", "somebody")); status != http.StatusOK {
			t.Errorf("the user got %d", status)
		}
	}
	waits(t, 10*time.Second, func() bool { return len(s.tripped()) == 1 })
}

func (s *fixture) tripped() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.trips...)
}
