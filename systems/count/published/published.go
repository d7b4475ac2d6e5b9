// Package published is the count service as it was published, with its flaws,
// each of which can be switched off alone. whittle must refuse to carve it.
// Only tests and the demo use it.
package published

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"whittle"
)

// Flaws says which of the published flaws are in force.
type Flaws struct {
	// Distribution draws 0 to 99 evenly, mean 49.5. Mended: 0 to 100 with half
	// weights at both ends, mean 50.
	Distribution bool
	// Remainder floors times to whole jobs of 100,000 where there is at least
	// one. Mended: a last, smaller job.
	Remainder bool
	// Wrap keeps the total in 32 bits. Mended: in 64.
	Wrap bool
	// Seed starts every worker of every request from the Unix second. Mended:
	// from the operating system's generator.
	Seed bool
}

// All is the service as published.
var All = Flaws{Distribution: true, Remainder: true, Wrap: true, Seed: true}

// ParseFlaws reads a list such as "remainder,wrap", or "all", or "none".
func ParseFlaws(list string) (Flaws, error) {
	var f Flaws
	switch list {
	case "all":
		return All, nil
	case "none":
		return f, nil
	}
	fields := f.named()
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(fields, func(x named) bool { return x.name == strings.TrimSpace(name) })
		if i < 0 {
			return Flaws{}, whittle.Errorf(whittle.Invalid, "%q is not a flaw", name).
				WithHint("write all, none, or some of distribution,remainder,wrap,seed")
		}
		*fields[i].on = true
	}
	return f, nil
}

// String is the list that ParseFlaws reads.
func (f Flaws) String() string {
	var on []string
	for _, x := range f.named() {
		if *x.on {
			on = append(on, x.name)
		}
	}
	if len(on) == 0 {
		return "none"
	}
	return strings.Join(on, ",")
}

type named struct {
	name string
	on   *bool
}

func (f *Flaws) named() []named {
	return []named{
		{"distribution", &f.Distribution},
		{"remainder", &f.Remainder},
		{"wrap", &f.Wrap},
		{"seed", &f.Seed},
	}
}

const (
	jobSize = 100_000 // draws
	workers = 5       // per request
)

// Counter counts as published, but for the flaws that are off.
type Counter struct {
	Flaws Flaws
	// Now is the clock that the shared seed comes from.
	Now func() time.Time
}

// total is what the workers of one request add to.
type total struct {
	mu    sync.Mutex // guards the following
	count int64
}

// Count makes times draws in jobs, by workers of its own. As published it
// takes no notice of ctx, of how many others are under way, or of a times
// below 0, for which it returns 0.
func (c *Counter) Count(_ context.Context, times int32) (int64, error) {
	var sum total
	jobs := make(chan int, 100)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() { c.work(&sum, jobs) })
	}
	size, whole := jobSize, int(times)/jobSize
	if size > int(times) {
		size, whole = int(times), 1
	}
	for range whole {
		jobs <- size
	}
	if rest := int(times) - whole*size; rest > 0 && !c.Flaws.Remainder {
		jobs <- rest
	}
	close(jobs)
	working.Wait()
	if c.Flaws.Wrap {
		return int64(int32(sum.count)), nil
	}
	return sum.count, nil
}

// work draws for one job after another.
func (c *Counter) work(sum *total, jobs <-chan int) {
	r := rand.New(rand.NewSource(c.seed()))
	for size := range jobs {
		s := c.draw(r, size)
		sum.mu.Lock()
		sum.count += s
		sum.mu.Unlock()
	}
}

// draw adds up one job.
func (c *Counter) draw(r *rand.Rand, size int) int64 {
	var s int32
	if c.Flaws.Distribution {
		for range size {
			s += r.Int31n(100)
		}
		return int64(s)
	}
	for range size {
		s += (r.Int31n(200) + 1) >> 1
	}
	return int64(s)
}

func (c *Counter) seed() int64 {
	if c.Flaws.Seed {
		return c.Now().Unix()
	}
	var raw [8]byte
	_, _ = crand.Read(raw[:]) // never fails: it ends the process first
	return int64(binary.LittleEndian.Uint64(raw[:]))
}
