package latency

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// Sharded records from many goroutines at once. Each value goes to one of a
// few histograms, whichever is free, so that recording does not become the
// queue that it should be measuring.
type Sharded struct {
	shards []shard
	mask   uint32
}

type shard struct {
	mu sync.Mutex
	// h is guarded by mu.
	h Histogram
	_ [64]byte // keeps neighbours off this cache line
}

// NewSharded makes shards for the processors in use (a power of two, at most
// 64); memory is taken only by the shards that are met.
func NewSharded() *Sharded {
	n := 1
	for n < runtime.GOMAXPROCS(0) && n < 64 {
		n *= 2
	}
	return &Sharded{shards: make([]shard, n), mask: uint32(n - 1)}
}

// Record counts one duration. Safe for concurrent use.
func (s *Sharded) Record(d time.Duration) {
	i := rand.Uint32()
	sh := &s.shards[i&s.mask]
	if !sh.mu.TryLock() {
		sh = &s.shards[(i+1)&s.mask]
		sh.mu.Lock()
	}
	sh.h.Record(d)
	sh.mu.Unlock()
}

// Merged returns a histogram of everything recorded so far.
func (s *Sharded) Merged() *Histogram {
	var all Histogram
	s.each(func(h *Histogram) { all.Merge(h) })
	return &all
}

// Drain moves everything recorded so far into h, each value exactly once.
func (s *Sharded) Drain(into *Histogram) {
	s.each(func(h *Histogram) {
		into.Merge(h)
		h.Reset()
	})
}

func (s *Sharded) each(f func(*Histogram)) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		f(&sh.h)
		sh.mu.Unlock()
	}
}
