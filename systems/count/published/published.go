// Package published is the count service as it was published, with its four flaws.
// whittle must refuse to carve it. Only tests and the demo use it.
//
//   - It draws 0 to 99 evenly, mean 49.5, where the endpoint draws 0 to 100 with half
//     weights at both ends.
//   - It floors times to whole jobs of 100,000 where there is at least one.
//   - It keeps the total in 32 bits.
//   - It starts every worker of every request from the Unix second.
package published

import (
	"context"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"
)

const (
	jobSize = 100_000 // draws
	workers = 5       // per request
)

// Counter counts as published.
type Counter struct {
	// Now is the clock that the shared seed comes from.
	Now func() time.Time
}

// Count makes times draws in jobs, by workers of its own. It takes no notice of ctx, of
// how many others are under way, or of a times below 0, for which it returns 0.
func (c *Counter) Count(_ context.Context, times int32) (int64, error) {
	var sum atomic.Int32
	jobs := make(chan int, 100)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			r := rand.New(rand.NewSource(c.Now().Unix()))
			for size := range jobs {
				sum.Add(draw(r, size))
			}
		})
	}
	size, whole := jobSize, int(times)/jobSize
	if size > int(times) {
		size, whole = int(times), 1
	}
	for range whole {
		jobs <- size
	}
	close(jobs)
	working.Wait()
	return int64(sum.Load()), nil
}

// draw adds up one job.
func draw(r *rand.Rand, size int) (sum int32) {
	for range size {
		sum += r.Int31n(100)
	}
	return sum
}
