package breaker

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The promised second, on a clock that no loaded machine can slow down: 500
// users, and a candidate that took at most 249 ms until it breaks for good.
// (TestRollback of e2e/walk does the same over processes, where only counts are sure.)
func TestShareFallsWithinASecond(t *testing.T) {
	const (
		users   = 500
		slowest = 249 * time.Millisecond
		bound   = time.Second
	)
	ways := []struct {
		name string
		// fails returns when a request has been let down by the candidate.
		fails func(letDown context.Context)
	}{
		{"at once", func(context.Context) {}},
		{"as late as it answered", func(context.Context) { time.Sleep(slowest) }},
		{"never: it hangs", func(letDown context.Context) { <-letDown.Done() }},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broke, fell atomic.Int64
				var met atomic.Int32
				b := New(func(string, uint64) { fell.Store(time.Now().UnixNano()) })
				b.Set(true, false, 1)
				defer b.Stop()
				asks := func(p Permit, pace time.Duration) Outcome {
					if broke.Load() == 0 {
						time.Sleep(pace)
					}
					if broke.Load() == 0 {
						return Good
					}
					met.Add(1)
					way.fails(p.Tripped)
					return Bad
				}
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				for user := range users {
					rng := rand.New(rand.NewPCG(1, uint64(user)))
					upTo := func(d time.Duration) time.Duration { return 1 + time.Duration(rng.Int64N(int64(d))) }
					running.Go(func() {
						for ctx.Err() == nil {
							time.Sleep(upTo(400 * time.Millisecond))
							if p, ok := b.Admit(time.Now(), tight); ok {
								b.Done(p, asks(p, upTo(slowest)), time.Now())
							}
						}
					})
				}
				time.Sleep(10 * time.Second)
				if fell.Load() != 0 {
					t.Error("tripped before anything broke")
				}
				broke.Store(time.Now().UnixNano())
				time.Sleep(5 * time.Second)
				stop()
				running.Wait()
				if took := time.Duration(fell.Load() - broke.Load()); fell.Load() == 0 || took > bound {
					t.Errorf("share 0 after %v, promised within %v", took, bound)
				}
				if n := int(met.Load()); n == 0 || n > tight.exposure {
					t.Errorf("%d requests met the broken candidate, bound %d", n, tight.exposure)
				}
			})
		})
	}
}

// ends are the permits under way, by their end.
type ends []struct {
	at time.Time
	p  Permit
}

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(ends)[0]) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return ends{last}
}

// TestASoundCandidateUnderLoad: 20,000 users' requests a second, for 50 ms each, are
// 1,000 under way (Little's law). During a shift the candidate serves as many of them as
// guard.exposure has room for; in phase live it serves them all. What is refused is said
// to be for want of room.
func TestASoundCandidateUnderLoad(t *testing.T) {
	synctest.Test(t, soundUnderLoad) // whose clock stands still: no stall is of this machine
}

func soundUnderLoad(t *testing.T) {
	const rate, service = 20_000.0, 50 * time.Millisecond
	for _, tt := range []struct {
		exposure int
		live     bool
		// served is between these shares of the requests.
		least, most float64
	}{
		{50, false, .04, .06},
		{500, false, .45, .55},
		{1200, false, .99, 1},
		{50, true, .999, 1},
	} {
		b, got := opened(tt.live)
		within := Bounds{consecutive: 5, exposure: tt.exposure}
		rng := rand.New(rand.NewPCG(1, 1))
		now := time.Unix(1, 0)
		var under ends
		served, full := 0, 0
		const all = 100_000
		for range all {
			now = now.Add(time.Duration(rng.ExpFloat64() / rate * float64(time.Second)))
			for len(under) > 0 && under[0].at.Before(now) {
				e := heap.Pop(&under).(ends)[0]
				b.Done(e.p, Good, e.at)
			}
			p, ok := b.Admit(now, within)
			if ok {
				served++
				heap.Push(&under, ends{{now.Add(time.Duration(rng.ExpFloat64() * float64(service))), p}})
			} else if p.Full {
				full++
			}
		}
		b.Stop()
		share := float64(served) / all
		t.Logf("exposure %d, live %v: %.1f %% served, %d under way in the end", tt.exposure, tt.live, 100*share, len(under))
		if share < tt.least || share > tt.most || served+full != all || len(got.reasons) > 0 {
			t.Errorf("exposure %d, live %v: %.4f served, %d of %d refused for want of room; tripped for %q", tt.exposure, tt.live, share, full, all-served, got.reasons)
		}
	}
}
