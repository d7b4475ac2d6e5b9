package kafka

import (
	"context"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/stream"
)

// room counts the bytes before Kafka, and knows whether the brokers answer.
type room struct {
	capacity int64
	used     atomic.Int64
	last     atomic.Int64 // when Kafka last acknowledged, Unix nanoseconds
	down     atomic.Pointer[whittle.Error]
}

const (
	probeEvery   = time.Second
	probePatient = 3 * time.Second
)

// take reserves n bytes. A call larger than the whole buffer is taken when the
// buffer is empty, for it would never be otherwise.
func (r *room) take(n int64) bool {
	for {
		used := r.used.Load()
		if used > 0 && used+n > r.capacity {
			return false
		}
		if r.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

func (r *room) give(n int) { r.used.Add(-int64(n)) }

func (r *room) answered(at time.Time) {
	r.last.Store(at.UnixNano())
	if r.down.Load() != nil {
		r.down.Store(nil)
	}
}

func (r *room) now() stream.Room {
	if err := r.down.Load(); err != nil {
		return stream.Room{Err: err}
	}
	return stream.Room{Free: max(0, r.capacity-r.used.Load())}
}

// probe asks the brokers every second in which they acknowledged nothing.
func (r *room) probe(ctx context.Context, ping func(context.Context) error) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-tick.C:
			if at.Sub(time.Unix(0, r.last.Load())) < probeEvery {
				continue
			}
		}
		patient, cancel := context.WithTimeout(ctx, probePatient)
		err := ping(patient)
		cancel()
		switch {
		case err == nil:
			r.down.Store(nil)
		case ctx.Err() == nil:
			r.down.Store(whittle.Errorf(whittle.Unavailable, "no Kafka broker answers: %w", err))
		}
	}
}
