package nats

import (
	"context"
	"errors"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// partitionQueue sends all records, in rounds: it publishes messages one after
// the other and then waits for the acknowledgements. A round has at most one
// record of each key, so that no record overtakes one of its key that fails or
// is published again.
type partitionQueue struct {
	*inflight.Queue[*job]
	log *Log
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

// take returns the next round and keeps the rest in order.
func (l *partitionQueue) take(waiting []*job) (round, rest []*job) {
	keys := map[string]bool{}
	bytes := 0
	for i, j := range waiting {
		if len(round) == roundRecords || bytes > roundBytes || i == roundScan {
			return round, append(rest, waiting[i:]...)
		}
		switch {
		case keys[j.key]:
			rest = append(rest, j)
		case !j.Call.Start(j.Index):
			l.log.sink.Buffer.Release(j.Size)
		default:
			keys[j.key] = j.key != ""
			bytes += j.Size
			round = append(round, j)
		}
	}
	return round, rest
}

// round publishes jobs until each has a final response, or until
// DeliveryTimeout.
func (l *partitionQueue) round(ctx context.Context, jobs []*job) {
	began := time.Now()
	if ctx.Err() != nil {
		for _, j := range jobs {
			l.log.sink.Settle(&j.Item, stream.Result{Err: whittle.Errorf(whittle.Unavailable, "the NATS stream is closed")})
		}
		return
	}
	bytes := 0
	for _, j := range jobs {
		bytes += j.Size
	}
	open := l.publish(ctx, jobs)
	for len(open) > 0 && time.Since(began) < l.log.o.DeliveryTimeout && notify.Sleep(ctx, retryAfter) {
		open = l.publish(ctx, open)
	}
	for _, j := range open {
		l.log.sink.Settle(&j.Item, stream.Result{Err: outcome(j.err, j.uncertain)})
	}
	if len(open) == 0 {
		l.log.sink.Buffer.Measure(bytes, time.Since(began))
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
			l.log.sink.Buffer.Acknowledged()
			l.log.spend(j.Size)
			l.log.sink.Settle(&j.Item, stream.Result{Position: position(ack.Sequence)})
		case isFinal(j.err):
			l.log.sink.Settle(&j.Item, stream.Result{Err: outcome(j.err, j.uncertain)})
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

// spend subtracts n bytes from a bounded stream's free space.
func (l *Log) spend(n int) {
	if left := l.left.Load(); left >= 0 {
		l.left.CompareAndSwap(left, max(0, left-int64(n)))
	}
}
