package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
)

// An error that the monolith gives too, for the same request, is not the
// candidate's: no number of them in a row trips anything, at once or one after
// the other, and not even while the monolith takes its time for them.
func TestBreakerLeavesWhatBothFailAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, live := range []bool{false, true} {
			b, got := opened(live)
			b.observeMirrored(time.Millisecond)
			for range 40 {
				var passes []permit
				for range 20 {
					p, ok := b.admit(time.Now(), tight)
					if !ok {
						t.Fatalf("live %v: not admitted; tripped for %q", live, got.reasons)
					}
					b.suspect(p)
					passes = append(passes, p)
				}
				time.Sleep(10 * minStallTimeout)
				for _, p := range passes {
					b.settle(p, true, time.Now())
				}
			}
			synctest.Wait()
			if len(got.reasons) > 0 {
				t.Errorf("live %v: tripped for %q", live, got.reasons)
			}
			for range tight.consecutive { // the candidate alone now
				p, _ := b.admit(time.Now(), tight)
				b.suspect(p)
				b.settle(p, false, time.Now())
			}
			if len(got.reasons) != 1 {
				t.Errorf("live %v: %d failures of the candidate alone tripped for %q", live, tight.consecutive, got.reasons)
			}
			b.stop()
		}
	})
}

// While the monolith is being asked, what the candidate failed at counts towards
// the bound on exposure.
func TestBreakerBoundsSuspects(t *testing.T) {
	b, got := opened(false)
	now := time.Unix(0, 0)
	var passes []permit
	for range 3 * tight.exposure {
		if p, ok := b.admit(now, tight); ok {
			b.suspect(p)
			passes = append(passes, p)
		}
	}
	if len(passes) != tight.exposure || len(got.reasons) > 0 {
		t.Fatalf("%d admitted, want %d; tripped for %q", len(passes), tight.exposure, got.reasons)
	}
	for _, p := range passes {
		b.settle(p, false, now)
	}
	if len(got.reasons) != 1 {
		t.Errorf("tripped for %q", got.reasons)
	}
}

// A user who goes away counts once; fifty users who do are too many, and so is
// one who waited each time for longer than the candidate ever took.
func TestBreakerCountsUsersWhoGo(t *testing.T) {
	for _, tt := range []struct {
		name  string
		users uint64
		wait  time.Duration
		trips bool
	}{
		{"one user", 1, 0, false},
		{"fewer users than the bound", uint64(tight.exposure) - 1, 0, false},
		{"as many users as the bound", uint64(tight.exposure), 0, true},
		{"one user, whom the candidate keeps waiting", 1, time.Minute, true},
	} {
		for _, live := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, live %v", tt.name, live), func(t *testing.T) {
				b, got := opened(live)
				b.observeMirrored(time.Millisecond)
				now := time.Unix(0, 0)
				for i := range uint64(20 * tight.exposure) {
					p, ok := b.admit(now, tight)
					if !ok {
						break
					}
					p.user = 1 + i%tt.users
					b.done(p, unknown, now.Add(tt.wait))
				}
				if (len(got.reasons) == 1) != tt.trips {
					t.Errorf("tripped for %q, want a trip: %v", got.reasons, tt.trips)
				}
			})
		}
	}
}

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
	s.g.Apply("/work", whittle.All, whittle.PhaseShift)
	for range 2 * spec.Guard.Consecutive {
		if status, _ := s.gets(s.sends("GET", "", "X-User", "poison")); status != http.StatusServiceUnavailable {
			t.Errorf("the user got %d", status)
		}
	}
	waits(t, 10*time.Second, func() bool { return len(s.told()) == 2*spec.Guard.Consecutive })
	for _, o := range s.told() {
		if !o.BothBad || o.Side != whittle.Candidate || o.User == 0 {
			t.Fatalf("told %+v", o)
		}
	}
	for range spec.Guard.Exposure + 10 {
		ctx, leave := context.WithCancel(t.Context())
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
		leave()
		<-done
	}
	waits(t, 10*time.Second, func() bool { return len(s.told()) == 2*spec.Guard.Consecutive+spec.Guard.Exposure+10 })
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

func (s *stage) tripped() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.trips...)
}
