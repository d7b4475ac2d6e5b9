package mirror

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"whittle/internal/fatal"
)

func TestQueueBoundsWhatRunsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		release := make(chan struct{})
		var order []int
		var mu sync.Mutex
		q := NewQueue(0, func(_ context.Context, j int) {
			n := now.Add(1)
			most.Store(max(most.Load(), n))
			<-release
			mu.Lock()
			order = append(order, j)
			mu.Unlock()
			now.Add(-1)
		}, func(int, bool) { t.Error("a job was given up") })

		offers := map[Offered]int{}
		for j := range 30 {
			offers[q.Offer(j, 3, 20)]++
		}
		synctest.Wait()
		if offers[Accepted] != 23 || offers[Full] != 7 || now.Load() != 3 || !q.Busy() {
			t.Errorf("accepted %d, refused %d, running %d; want 23, 7, 3", offers[Accepted], offers[Full], now.Load())
		}
		close(release)
		synctest.Wait()
		if q.Busy() || most.Load() != 3 {
			t.Errorf("busy %v at rest, at most %d at once", q.Busy(), most.Load())
		}
		slices.Sort(order)
		for j := range order {
			if order[j] != j {
				t.Fatalf("jobs done: %v", order)
			}
		}
		// It is used again.
		fatal.Same(t, q.Offer(99, 1, 20), Accepted, "at rest")
		fatal.If(t, q.Close(t.Context(), t.Context()))
		if q.Offer(1, 1, 1) != Closed || len(order) != 24 {
			t.Errorf("after close: %d jobs done", len(order))
		}
	})
}

func TestQueueClosesWithinItsTime(t *testing.T) {
	tests := []struct {
		name   string
		heeds  bool // the work heeds its context
		stuck  error
		closes time.Duration
	}{
		{"work that heeds its context", true, nil, time.Second},
		{"work that heeds nothing", false, context.DeadlineExceeded, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var abandoned []int
				q := NewQueue(0, func(ctx context.Context, _ int) {
					if tt.heeds {
						<-ctx.Done()
					} else {
						<-release
					}
				}, func(j int, begun bool) {
					fatal.Same(t, begun, j < 2, "job %d has begun", j)
					abandoned = append(abandoned, j)
				})
				for j := range 5 {
					q.Offer(j, 2, 10)
				}
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				after, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				if err := q.Close(ctx, after); !errors.Is(err, tt.stuck) {
					t.Errorf("close: %v, want %v", err, tt.stuck)
				}
				fatal.Same(t, time.Since(start), tt.closes, "closed after")
				slices.Sort(abandoned)
				if !slices.Equal(abandoned, []int{0, 1, 2, 3, 4}) {
					t.Errorf("given up: %v, want all five", abandoned)
				}
				close(release)
			})
		})
	}
}

// TestRestingWorkersLoseNoJob: jobs come while workers rest, end and begin to rest, and
// each is done once; with no more workers than allowed.
func TestRestingWorkersLoseNoJob(t *testing.T) {
	for _, rest := range []time.Duration{time.Nanosecond, 50 * time.Microsecond, time.Hour} {
		t.Run(rest.String(), func(t *testing.T) {
			var now, most, done atomic.Int64
			const each, senders = 500, 4
			freed := make(chan struct{}, senders) // there may be room again
			q := NewQueue(rest, func(context.Context, int) {
				most.Store(max(most.Load(), now.Add(1)))
				done.Add(1)
				now.Add(-1)
				select {
				case freed <- struct{}{}:
				default:
				}
			}, nil)
			var sending sync.WaitGroup
			for range senders {
				sending.Go(func() {
					for range each {
						for q.Offer(1, 3, 1) == Full {
							<-freed
						}
						if rest < time.Hour && done.Load()%7 == 0 {
							<-time.After(rest) // a worker's time ends with the next job
						}
					}
				})
			}
			sending.Wait()
			fatal.If(t, q.Close(t.Context(), t.Context()))
			if done.Load() != each*senders || most.Load() > 3 {
				t.Errorf("%d jobs of %d were done, at most %d at once", done.Load(), each*senders, most.Load())
			}
			if q.workers != 0 || len(bells) != 0 {
				t.Errorf("%d workers and %d bells are left", q.workers, len(bells))
			}
		})
	}
}

// slowness is a stand-in for a monolith whose latency is lognormal around a median.
type slowness struct {
	rng    *rand.Rand
	median time.Duration
	sigma  float64
}

func (s slowness) latency() time.Duration {
	return time.Duration(float64(s.median) * math.Exp(s.sigma*s.rng.NormFloat64()))
}

// run lets n requests go by, mirroring unless the shedder sheds; loaded is how
// many times slower the monolith is while it is mirrored. It returns how many
// requests were mirrored.
func (s slowness) run(st *Shedder, n int, loaded float64, now *time.Time) (mirrored int) {
	for range n {
		*now = now.Add(10 * time.Millisecond)
		d := s.latency()
		shed := st.Sheds(*now)
		if !shed {
			mirrored++
			d = time.Duration(float64(d) * loaded)
		}
		st.Observe(d, shed, *now)
	}
	return mirrored
}

func TestShedder(t *testing.T) {
	steady := slowness{rand.New(rand.NewPCG(1, 2)), 10 * time.Millisecond, 0.6}
	tests := []struct {
		name     string
		above    float64
		then     func(st *Shedder, now *time.Time) (mirrored, of int)
		min, max float64 // the share mirrored afterwards
	}{
		{"steady: never sheds", 2, func(st *Shedder, now *time.Time) (int, int) {
			return steady.run(st, 50_000, 1, now), 50_000
		}, 1, 1},
		{"mirroring slows it fourfold: mostly sheds", 2, func(st *Shedder, now *time.Time) (int, int) {
			return steady.run(st, 20_000, 4, now), 20_000
		}, 0.05, 0.6},
		{"the same, but never asked to shed", 0, func(st *Shedder, now *time.Time) (int, int) {
			return steady.run(st, 20_000, 4, now), 20_000
		}, 1, 1},
		{"slow by itself: sheds, then learns that it was not the cause", 2, func(st *Shedder, now *time.Time) (int, int) {
			slow := slowness{steady.rng, 60 * time.Millisecond, 0.6}
			if m := slow.run(st, 200, 1, now); m > 150 {
				t.Errorf("%d of the first 200 were mirrored, want shedding at first", m)
			}
			return slow.run(st, 5000, 1, now), 5000
		}, 0.95, 1},
		{"a rise below a millisecond is nobody's trouble", 2, func(st *Shedder, now *time.Time) (int, int) {
			quick := slowness{steady.rng, 100 * time.Microsecond, 0.3}
			quick.run(st, 10_000, 1, now)
			return quick.run(st, 1000, 5, now), 1000
		}, 1, 1},
		{"no request before its lease has run out: it resumes", 2, func(st *Shedder, now *time.Time) (int, int) {
			for !st.Sheds(*now) {
				st.Observe(100*time.Millisecond, false, *now)
			}
			if st.Sheds(now.Add(shedLease)) {
				return 0, 1
			}
			return 1, 1
		}, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := &Shedder{Above: tt.above}
			now := time.Unix(0, 0)
			steady.run(st, 1000, 1, &now)
			m, of := tt.then(st, &now)
			if share := float64(m) / float64(of); share < tt.min || share > tt.max {
				t.Errorf("%.3f of the requests were mirrored, want %.2f to %.2f", share, tt.min, tt.max)
			}
		})
	}
}

// TestAskingAgainKeepsToItsBudget: of many differences that come at once, no more
// rounds are asked than were saved up and the requests allow.
func TestAskingAgainKeepsToItsBudget(t *testing.T) {
	r := NewRechecks()
	asked := 0
	for n := range int64(10_000) {
		if r.Acquire(n + 1) {
			for range RecheckRounds {
				r.Spend()
				asked++
			}
			r.Release()
		}
	}
	if most := recheckSaved + 10_000*recheckShare; float64(asked) > most || float64(asked) < most/2 {
		t.Errorf("%d rounds for 10,000 requests, at most %.0f are allowed", asked, most)
	}
	for range rechecksAtOnce {
		r.saved = recheckSaved
		r.Acquire(10_000)
	}
	if r.Acquire(10_000) {
		t.Error("more are under way than may be")
	}
}

// TestAPauseEndsWithTheRoute: what waits for its next round does not hold up the end.
func TestAPauseEndsWithTheRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRechecks()
		if !r.Acquire(1) {
			t.Fatal("refused")
		}
		go func() {
			defer r.Release()
			if r.Pause(time.Hour) {
				t.Error("it waited for the whole hour")
			}
		}()
		synctest.Wait()
		fatal.If(t, r.Close(t.Context()))
		if r.Acquire(2) {
			t.Error("a closed one gives a permit")
		}
	})
}

// TestOneTime: what a query has that is good for one use is not sent twice; what looks
// like it is.
func TestOneTime(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"code=SplxlOBe&state=xyz":        true,
		"state=xyz&code=SplxlOBe&iss=x":  true,
		"code=EUR":                       false,
		"state=open":                     false,
		"ticket=ST-1856339-aA5Yuvrxz":    true,
		"ticket=4711":                    false,
		"SAMLResponse=PHNhbWw":           true,
		"SAMLRequest=fZJN&RelayState=x":  true,
		"oauth_token=a&oauth_verifier=b": true,
		"access_token=abc":               false,
		"token=abc&page=2":               false,
		"":                               false,
		"&&=&code":                       false,
		"zipcode=1&mystate=2&code2=3":    false,
		"code&state":                     true,
	} {
		fatal.Same(t, OneTime(query), want, "%q", query)
		if got := (&Repeatable{}).OK(query); got == want {
			t.Errorf("%q: may be repeated: %v", query, got)
		}
	}
}
