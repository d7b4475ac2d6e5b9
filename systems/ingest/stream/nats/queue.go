package nats

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// partitionQueue sends all records, in rounds: it publishes messages one after
// the other and then waits for the acknowledgements. A round has at most one
// record of each key, so that no record overtakes one of its key that fails or
// is published again.
type partitionQueue struct {
	log  *Log
	wake notify.Signal // there may be something to do
	done chan struct{} // closed when the partition queue has ended

	since atomic.Int64 // when the round in flight began, Unix nanoseconds; 0: none

	mu      sync.Mutex // guards the following
	waiting []*job     // bounded by the buffer
	closing bool       // end when all is done
	ended   bool       // takes nothing any more
}

// Bounds of one round. How far a round looks into the queue bounds what keys
// that repeat cost.
const (
	roundBytes   = 8 << 20
	roundRecords = 256
	roundScan    = 4096
)

// retryAfter is the pause before what got no response is published again.
const retryAfter = 250 * time.Millisecond

func newPartitionQueue(l *Log) *partitionQueue {
	return &partitionQueue{log: l, wake: notify.New(), done: make(chan struct{})}
}

// enqueue adds jobs of one call. While a round has taken longer than
// DeliveryTimeout, the queue refuses jobs, because they would only fill the
// buffer.
func (l *partitionQueue) enqueue(jobs []*job) {
	since := l.since.Load()
	stuck := since != 0 && time.Since(time.Unix(0, since)) > l.log.o.DeliveryTimeout+ackTimeout
	l.mu.Lock()
	refused := l.ended || stuck
	if !refused {
		l.waiting = append(l.waiting, jobs...)
	}
	l.mu.Unlock()
	if !refused {
		l.wake.Notify()
		return
	}
	for _, j := range jobs {
		l.settle(j, stream.Result{Err: whittle.Errorf(whittle.Unavailable, "NATS JetStream does not respond")})
	}
}

func (l *partitionQueue) close() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.wake.Notify()
}

// run works until close and the last record, or until ctx ends.
func (l *partitionQueue) run(ctx context.Context) {
	defer close(l.done)
	for {
		if jobs := l.take(); len(jobs) > 0 {
			l.round(ctx, jobs)
			continue
		}
		l.mu.Lock()
		l.ended = ctx.Err() != nil || l.closing && len(l.waiting) == 0
		over := l.ended
		l.mu.Unlock()
		if over {
			return
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
		}
	}
}

// take returns the next round and keeps the rest in order.
func (l *partitionQueue) take() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	var round, rest []*job
	keys := map[string]bool{}
	bytes := 0
	for i, j := range l.waiting {
		if len(round) == roundRecords || bytes > roundBytes || i == roundScan {
			rest = append(rest, l.waiting[i:]...)
			break
		}
		switch {
		case keys[j.key]:
			rest = append(rest, j)
		case !j.call.Start(j.index):
			l.log.buffer.Release(j.size)
		default:
			keys[j.key] = j.key != ""
			bytes += j.size
			round = append(round, j)
		}
	}
	l.waiting = rest
	return round
}

// round publishes jobs until each has a final response, or until
// DeliveryTimeout.
func (l *partitionQueue) round(ctx context.Context, jobs []*job) {
	began := time.Now()
	l.since.Store(began.UnixNano())
	defer l.since.Store(0)
	if ctx.Err() != nil {
		for _, j := range jobs {
			l.settle(j, stream.Result{Err: whittle.Errorf(whittle.Unavailable, "the NATS stream is closed")})
		}
		return
	}
	bytes := 0
	for _, j := range jobs {
		bytes += j.size
	}
	open := l.publish(ctx, jobs)
	for len(open) > 0 && ctx.Err() == nil && time.Since(began) < l.log.o.DeliveryTimeout {
		pause := time.NewTimer(retryAfter)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() == nil {
			open = l.publish(ctx, open)
		}
	}
	for _, j := range open {
		l.settle(j, stream.Result{Err: outcome(j.err, j.uncertain)})
	}
	if len(open) == 0 {
		l.log.buffer.Measure(bytes, time.Since(began))
	}
}

// publish publishes jobs once, settles those with a final response, and returns
// the others.
func (l *partitionQueue) publish(ctx context.Context, jobs []*job) (open []*job) {
	futures := make([]jetstream.PubAckFuture, len(jobs))
	for i, j := range jobs {
		futures[i], j.err = l.log.js.PublishMsgAsync(j.message,
			jetstream.WithRetryAttempts(0), jetstream.WithExpectStream(l.log.o.Stream))
	}
	for i, j := range jobs {
		var ack *jetstream.PubAck
		if j.err == nil {
			ack, j.err = awaitAck(ctx, futures[i])
		}
		switch {
		case j.err == nil:
			l.log.buffer.Acknowledged()
			l.log.spend(j.size)
			l.settle(j, stream.Result{Position: position(ack.Sequence)})
		case isFinal(j.err):
			l.settle(j, stream.Result{Err: outcome(j.err, j.uncertain)})
		default:
			j.uncertain = j.uncertain || !unsent(j.err)
			open = append(open, j)
		}
	}
	return open
}

// awaitAck waits for the acknowledgement of one message, for at most
// ackTimeout, which the client enforces.
func awaitAck(ctx context.Context, f jetstream.PubAckFuture) (*jetstream.PubAck, error) {
	select {
	case ack := <-f.Ok():
		return ack, nil
	case err := <-f.Err():
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// unsent reports whether err means that the message was certainly not stored.
func unsent(err error) bool {
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, client.ErrReconnectBufExceeded) ||
		errors.Is(err, client.ErrConnectionClosed)
}

func (l *partitionQueue) settle(j *job, r stream.Result) {
	l.log.buffer.Release(j.size)
	j.call.Settle(j.index, r)
}

// spend subtracts n bytes from a bounded stream's free space.
func (l *Log) spend(n int) {
	if left := l.left.Load(); left >= 0 {
		l.left.CompareAndSwap(left, max(0, left-int64(n)))
	}
}
