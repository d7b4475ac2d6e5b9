package breaker

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle/internal/fatal"
)

var tight = Bounds{consecutive: 5, exposure: 50}

// tripped collects the reasons that a breaker gives.
type tripped struct{ reasons []string }

func (t *tripped) trip(reason string, _ uint64) { t.reasons = append(t.reasons, reason) }

func opened(live bool) (*Breaker, *tripped) {
	t := &tripped{}
	b := New(t.trip)
	b.Set(true, live, 1)
	return b, t
}

func TestBreakerTripsOnARowOfBadResponses(t *testing.T) {
	tests := []struct {
		name      string
		responses string // g good, b bad, c canceled
		trips     bool
	}{
		{"four bad", "bbbb", false},
		{"five bad", "bbbbb", true},
		{"a good one between", "bbbbgbbbb", false},
		{"a canceled one between proves nothing", "bbbbcb", true},
		{"canceled alone are not bad", strings.Repeat("c", 49), false},
		{"void ones between prove nothing", "bbvbvvbb", true},
		{"void ones alone are nothing", strings.Repeat("v", 500), false},
		{"void ones leave what counts", strings.Repeat("c", 49) + strings.Repeat("v", 500), false},
		{"long good, then five bad", strings.Repeat("g", 1000) + "bbbbb", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, got := opened(false)
			now := time.Unix(0, 0)
			for _, a := range tt.responses {
				p, ok := b.Admit(now, tight)
				if !ok {
					t.Fatalf("not admitted before the end of %q", tt.responses)
				}
				b.Done(p, map[rune]Outcome{'g': Good, 'b': Bad, 'c': Unknown, 'v': Void}[a], now)
			}
			if (len(got.reasons) == 1) != tt.trips || len(got.reasons) > 1 {
				t.Fatalf("tripped for %q, want a trip: %v", got.reasons, tt.trips)
			}
			if _, ok := b.Admit(now, tight); ok == tt.trips {
				t.Errorf("admitted afterwards: %v", ok)
			}
		})
	}
}

// The promise: whatever the order in which responds come, at most Exposure
// requests meet a candidate that breaks for good at some moment. A request
// meets it when it ends badly after that moment.
func TestBreakerBoundsExposure(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		g := Bounds{consecutive: 1 + rng.IntN(60), exposure: 1 + rng.IntN(50)}
		b, _ := opened(false)
		now := time.Unix(0, 0)
		type flight struct {
			p    Permit
			fate Outcome
		}
		var flying []flight
		breaksAt := rng.IntN(400)
		touched := 0
		for step := range 1500 {
			broken := step >= breaksAt
			if step == breaksAt {
				// Some responses are on their way already; the rest are lost.
				for i := range flying {
					if flying[i].fate == Unknown && rng.IntN(3) > 0 {
						flying[i].fate = Good
					} else {
						flying[i].fate = Bad
					}
				}
			}
			if rng.IntN(5) < 3 {
				if p, ok := b.Admit(now, g); ok {
					fate := Unknown
					if broken {
						fate = Bad
					}
					flying = append(flying, flight{p, fate})
				}
				continue
			}
			if len(flying) == 0 {
				continue
			}
			i := rng.IntN(len(flying))
			f := flying[i]
			flying[i] = flying[len(flying)-1]
			flying = flying[:len(flying)-1]
			if f.fate == Unknown {
				f.fate = Good
				if rng.IntN(20) == 0 {
					f.fate = Bad
				}
			}
			if rng.IntN(10) == 0 && f.fate == Good {
				f.fate = Void
			}
			if broken && f.fate == Bad {
				touched++
			}
			b.Done(f.p, f.fate, now)
		}
		for _, f := range flying {
			if f.fate == Bad {
				touched++
			}
		}
		if touched > g.exposure {
			t.Fatalf("seed %d: %d requests met the broken candidate, bound %d", seed, touched, g.exposure)
		}
	}
}

func TestBreakerLiveBoundsOnlyWhatStartedSinceAGoodResponse(t *testing.T) {
	b, got := opened(true)
	now := time.Unix(0, 0)
	var passes []Permit
	for round := range 10 {
		for range 40 {
			p, ok := b.Admit(now, tight)
			if !ok {
				t.Fatalf("round %d: in flight is bounded in phase live", round)
			}
			passes = append(passes, p)
		}
		b.Done(passes[0], Good, now)
		passes = passes[1:]
	}
	admitted := 0
	for range 500 {
		if p, ok := b.Admit(now, tight); ok {
			admitted++
			passes = append(passes, p)
		}
	}
	fatal.Same(t, admitted, tight.exposure, "admitted without a good response")
	for _, p := range passes {
		b.Done(p, Unknown, now)
	}
	if _, ok := b.Admit(now, tight); ok || len(got.reasons) != 1 {
		t.Errorf("exposure used up with nothing under way: tripped for %q", got.reasons)
	}
}

// A void response takes its own request out of the bound, and no other: one that
// started before the last good response is out of it already.
func TestBreakerTakesBackWhatWasVoid(t *testing.T) {
	b, got := opened(true)
	now := time.Unix(0, 0)
	admit := func() Permit {
		t.Helper()
		p, ok := b.Admit(now, tight)
		if !ok {
			t.Fatalf("not admitted; tripped for %q", got.reasons)
		}
		return p
	}
	for range 10 * tight.exposure {
		b.Done(admit(), Void, now)
	}
	old, fine := admit(), admit()
	b.Done(fine, Good, now)
	for range tight.exposure {
		admit()
	}
	b.Done(old, Void, now)
	if _, ok := b.Admit(now, tight); ok || len(got.reasons) > 0 {
		t.Errorf("one more than the bound was admitted; tripped for %q", got.reasons)
	}
}

// admitted are so many permits, none of which has ended.
func admitted(b *Breaker, n int) (passes []Permit) {
	for range n {
		p, _ := b.Admit(time.Now(), tight)
		passes = append(passes, p)
	}
	return passes
}

func TestBreakerTripsWhenTheCandidateHangs(t *testing.T) {
	tests := []struct {
		name    string
		pace    time.Duration
		waiting int
		trips   time.Duration // 0: never
	}{
		{"quick candidate", time.Millisecond, 5, minStallTimeout},
		{"slow candidate", time.Second, 5, 4 * time.Second},
		{"fewer than the row", time.Millisecond, 4, 0},
		{"nothing known of its pace", 0, 50, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at time.Duration
				start := time.Now()
				b := New(func(string, uint64) { at = time.Since(start) })
				b.Set(true, false, 1)
				defer b.Stop()
				if tt.pace > 0 {
					b.ObserveMirrored(tt.pace)
				}
				passes := admitted(b, tt.waiting)
				time.Sleep(time.Minute)
				synctest.Wait()
				if at != tt.trips {
					t.Fatalf("tripped after %v, want %v", at, tt.trips)
				}
				for _, p := range passes {
					fatal.Same(t, p.Tripped.Err() != nil, tt.trips > 0, "a waiting request was let down")
				}
				for _, p := range passes {
					b.Done(p, Bad, time.Now())
				}
			})
		})
	}
}

// Neither good responses, one at a time, nor requests of which each ends for want of room
// are silence of the candidate, though there are always enough that wait.
func TestBreakerWaitsWhileResponsesKeepComing(t *testing.T) {
	for _, how := range []Outcome{Good, Void} {
		synctest.Test(t, func(t *testing.T) {
			b, got := opened(false)
			defer b.Stop()
			b.ObserveMirrored(time.Millisecond)
			passes := admitted(b, 40)
			for range 100 {
				time.Sleep(minStallTimeout - time.Millisecond)
				b.Done(passes[0], how, time.Now())
				p, ok := b.Admit(time.Now(), tight)
				if !ok {
					t.Fatalf("outcome %d: not admitted; tripped for %q", how, got.reasons)
				}
				passes = append(passes[1:], p)
			}
			for _, p := range passes {
				b.Done(p, how, time.Now())
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(got.reasons) > 0 {
				t.Errorf("outcome %d: tripped for %q", how, got.reasons)
			}
		})
	}
}
