package breaker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// An error that the monolith gives too, for the same request, is not the
// candidate's: no number of them in a row trips anything, at once or one after
// the other, and not even while the monolith takes its time for them.
func TestBreakerLeavesWhatBothFailAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, live := range []bool{false, true} {
			b, got := opened(live)
			b.ObserveMirrored(time.Millisecond)
			for range 40 {
				var passes []Permit
				for range 20 {
					p, ok := b.Admit(time.Now(), tight)
					if !ok {
						t.Fatalf("live %v: not admitted; tripped for %q", live, got.reasons)
					}
					b.Suspect(p)
					passes = append(passes, p)
				}
				time.Sleep(10 * minStallTimeout)
				for _, p := range passes {
					b.Settle(p, true, time.Now())
				}
			}
			synctest.Wait()
			if len(got.reasons) > 0 {
				t.Errorf("live %v: tripped for %q", live, got.reasons)
			}
			for range tight.consecutive { // the candidate alone now
				p, _ := b.Admit(time.Now(), tight)
				b.Suspect(p)
				b.Settle(p, false, time.Now())
			}
			if len(got.reasons) != 1 {
				t.Errorf("live %v: %d failures of the candidate alone tripped for %q", live, tight.consecutive, got.reasons)
			}
			b.Stop()
		}
	})
}

// While the monolith is being asked, what the candidate failed at counts towards
// the bound on exposure.
func TestBreakerBoundsSuspects(t *testing.T) {
	b, got := opened(false)
	now := time.Unix(0, 0)
	var passes []Permit
	for range 3 * tight.exposure {
		if p, ok := b.Admit(now, tight); ok {
			b.Suspect(p)
			passes = append(passes, p)
		}
	}
	if len(passes) != tight.exposure || len(got.reasons) > 0 {
		t.Fatalf("%d admitted, want %d; tripped for %q", len(passes), tight.exposure, got.reasons)
	}
	for _, p := range passes {
		b.Settle(p, false, now)
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
				b.ObserveMirrored(time.Millisecond)
				now := time.Unix(0, 0)
				for i := range uint64(20 * tight.exposure) {
					p, ok := b.Admit(now, tight)
					if !ok {
						break
					}
					p.User = 1 + i%tt.users
					b.Done(p, Unknown, now.Add(tt.wait))
				}
				if (len(got.reasons) == 1) != tt.trips {
					t.Errorf("tripped for %q, want a trip: %v", got.reasons, tt.trips)
				}
			})
		}
	}
}
