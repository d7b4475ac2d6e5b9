package breaker

import (
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
