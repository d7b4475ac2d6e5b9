package inflight

import (
	"context"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Buffer bounds the bytes that wait for a sink, and knows whether the sink
// responds. Its methods may be called from many goroutines at once.
type Buffer struct {
	capacity int64
	begun    time.Time
	used     atomic.Int64
	speed    atomic.Int64 // bytes a second, smoothed
	last     atomic.Int64 // when the sink last acknowledged, in nanoseconds after begun
	down     atomic.Pointer[whittle.Error]
	shut     atomic.Bool
}

// NewBuffer makes a buffer that takes capacity bytes.
func NewBuffer(capacity int64) *Buffer {
	return &Buffer{capacity: capacity, begun: time.Now()}
}

// Reserve reserves n bytes and reports whether they were free. A call larger
// than the whole buffer is accepted when the buffer is empty.
func (b *Buffer) Reserve(n int64) bool {
	for {
		used := b.used.Load()
		if used > 0 && used+n > b.capacity {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// Release frees n bytes.
func (b *Buffer) Release(n int) { b.used.Add(-int64(n)) }

// Acknowledged records that the sink has just acknowledged something.
func (b *Buffer) Acknowledged() {
	b.last.Store(int64(time.Since(b.begun)))
	if b.down.Load() != nil {
		b.down.Store(nil)
	}
}

// Measure updates the smoothed speed with the bytes that were sent in a time.
func (b *Buffer) Measure(bytes int, took time.Duration) {
	const weight = 0.2
	speed := float64(bytes) / max(took, 100*time.Microsecond).Seconds()
	if old := b.speed.Load(); old > 0 {
		speed = weight*speed + (1-weight)*float64(old)
	}
	b.speed.Store(int64(speed))
}

// Close refuses everything from now on.
func (b *Buffer) Close() { b.shut.Store(true) }

// Capacity is what the buffer can accept. streams is how many senders have
// Measure's speed at once.
func (b *Buffer) Capacity(streams int) stream.Capacity {
	rate := float64(b.speed.Load()) * float64(streams)
	if b.shut.Load() {
		return stream.Capacity{Err: whittle.Errorf(whittle.Unavailable, "the stream is closed")}
	}
	if err := b.down.Load(); err != nil {
		return stream.Capacity{Rate: rate, Err: err}
	}
	return stream.Capacity{Free: max(0, b.capacity-b.used.Load()), Rate: rate}
}

// Times of Probe.
const (
	probeEvery   = time.Second
	probePatient = 3 * time.Second
)

// Probe asks the sink every second, until ctx ends. When it neither responds nor
// has acknowledged anything since, Capacity has an error that names it.
func (b *Buffer) Probe(ctx context.Context, sink string, ping func(context.Context) error) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		var asked time.Time
		select {
		case <-ctx.Done():
			return
		case asked = <-tick.C:
		}
		patient, cancel := context.WithTimeout(ctx, probePatient)
		err := ping(patient)
		cancel()
		switch {
		case err == nil:
			b.down.Store(nil)
		case ctx.Err() == nil && b.last.Load() < int64(asked.Sub(b.begun)):
			b.down.Store(whittle.Errorf(whittle.Unavailable, "%s does not respond: %w", sink, err))
		}
	}
}
