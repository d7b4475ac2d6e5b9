package inflight

import (
	"context"
	"sync"
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

	mu       sync.Mutex // guards the following
	lost     <-chan struct{}
	lose     func()    // closes lost, and may be called again
	downFrom time.Time // zero: it is not down
}

// NewBuffer makes a buffer that takes capacity bytes.
func NewBuffer(capacity int64) *Buffer {
	b := &Buffer{capacity: capacity, begun: time.Now()}
	b.renew()
	return b
}

// renew begins a time in which the sink is not lost. It must not be called while calls
// wait for lost to be closed.
func (b *Buffer) renew() {
	ctx, lose := context.WithCancel(context.Background())
	b.lost, b.lose = ctx.Done(), lose
}

// lostAfter is for how long a sink may not respond before calls stop waiting for
// it: whoever sends is told, and sends again, rather than held for as long as
// a call may take.
const lostAfter = 3 * time.Second

// Lost is closed once the sink has not responded for a while. The next outage
// has another channel.
func (b *Buffer) Lost() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// responds notes whether the sink does.
func (b *Buffer) responds(err *whittle.Error, now time.Time) {
	b.down.Store(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil && !b.downFrom.IsZero():
		b.downFrom = time.Time{}
		select {
		case <-b.lost:
			b.renew()
		default: // who waits on it waits for the next outage too
		}
	case err == nil:
	case b.downFrom.IsZero():
		b.downFrom = now
	case now.Sub(b.downFrom) >= lostAfter:
		b.lose()
	}
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
		b.responds(nil, time.Now())
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
			b.responds(nil, time.Now())
		case ctx.Err() == nil && b.last.Load() < int64(asked.Sub(b.begun)):
			b.responds(whittle.Errorf(whittle.Unavailable, "%s does not respond: %w", sink, err), time.Now())
		}
	}
}
