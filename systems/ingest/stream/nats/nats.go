// Package nats is a durable stream on NATS JetStream. It has one partition, "0", in the
// order of the JetStream stream.
package nats

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// partition is the only one.
const partition = "0"

// Log is the stream.Stream of a JetStream stream.
type Log struct {
	o      Options
	conn   *client.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
	limit  int // bytes of a message, headers and all
	sink   *inflight.Sink
	queue  *partitionQueue
	// left is what the stream has free, as last reported, less what was
	// appended since; negative where it has no bound that refuses.
	left atomic.Int64
	// unfit is why the stream's settings would make an acknowledgement untrue; nil: they do not.
	unfit atomic.Pointer[error]
}

var _ stream.Stream = (*Log)(nil)

// Open connects, and looks the stream up.
func Open(ctx context.Context, o Options) (*Log, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Log{o: o, sink: inflight.NewSink("NATS", o.Buffer)}
	if err := l.connect(ctx); err != nil {
		l.release()
		return nil, err
	}
	l.queue = &partitionQueue{inflight.NewQueue[*job](o.DeliveryTimeout + ackTimeout), l}
	l.sink.Run(l.refresh, func(ctx context.Context) { l.queue.Run(ctx, l.queue.take, l.queue.round) })
	return l, nil
}

func (l *Log) connect(ctx context.Context) (err error) {
	if l.conn, err = client.Connect(l.o.URL, l.o.connection()...); err != nil {
		return whittle.Errorf(whittle.Unavailable, "connect to NATS: %w", err)
	}
	l.js, err = jetstream.New(l.conn, jetstream.WithPublishAsyncTimeout(ackTimeout))
	if err != nil {
		return whittle.Errorf(whittle.Internal, "make JetStream client: %w", err)
	}
	if l.stream, err = lookUp(ctx, l.js, l.conn, &l.o); err != nil {
		return err
	}
	l.limit = int(l.conn.MaxPayload())
	if most := int(l.stream.CachedInfo().Config.MaxMsgSize); most > 0 {
		l.limit = min(l.limit, most)
	}
	return l.refresh(ctx)
}

// refresh asks what the stream holds, and notes what it has free.
func (l *Log) refresh(ctx context.Context) error {
	now, err := l.stream.Info(ctx)
	if err != nil {
		return err
	}
	l.unfit.Store(nil)
	if err := check(now.Config, &l.o); err != nil { // it was changed since
		l.unfit.Store(&err)
	}
	left := int64(-1)
	if now.Config.MaxBytes > 0 && now.Config.Discard == jetstream.DiscardNew {
		left = max(0, now.Config.MaxBytes-int64(now.State.Bytes))
	}
	l.left.Store(left)
	return nil
}

// Forgets says what the stream lets go of besides what is old; empty: nothing.
func (l *Log) Forgets() string { return forgets(l.stream.CachedInfo().Config) }

// Durability is stream.JetStream.
func (l *Log) Durability() stream.Durability { return stream.JetStream }

// Limit follows from the server's max_payload and the stream's max_msg_size.
func (l *Log) Limit() int { return l.limit - headExtra }

// Capacity is what the buffer and the stream can accept, and whether the server
// responds.
func (l *Log) Capacity() stream.Capacity {
	r := l.sink.Buffer.Capacity(1)
	if unfit := l.unfit.Load(); unfit != nil && r.Err == nil {
		r.Err = *unfit
	}
	if left := l.left.Load(); left >= 0 && r.Err == nil {
		r.Free = min(r.Free, left)
		if left < minLeft {
			r.Err = whittle.Errorf(whittle.ResourceExhausted, "the JetStream stream %s is full", l.o.Stream)
		}
	}
	return r
}

// minLeft is below which a bounded stream counts as full, in bytes.
const minLeft = 64 << 10

// Close waits for what is in flight until ctx ends. What is then still in flight
// may or may not be kept, as its Append says.
func (l *Log) Close(ctx context.Context) error {
	return inflight.Close(ctx, l.sink, l.release, []*partitionQueue{l.queue})
}

func (l *Log) release() {
	if l.js != nil {
		l.js.CleanupPublisher()
	}
	if l.conn != nil {
		l.conn.Close()
	}
}

func position(sequence uint64) stream.Position {
	return stream.Position{Partition: partition, Offset: strconv.FormatUint(sequence, 10)}
}

// unreachable gives the error of a request that changes nothing its code.
func unreachable(ctx context.Context, doing string, err error) error {
	code := whittle.Unavailable
	switch {
	case ctx.Err() != nil:
		code = stream.Ended(ctx, doing).Code
	case errors.Is(err, client.ErrAuthorization), errors.Is(err, client.ErrPermissionViolation):
		code = whittle.PermissionDenied
	}
	return whittle.Errorf(code, "%s: %w", doing, err)
}

// ackTimeout is how long an acknowledgement may take before the message is
// published again under the same id.
const ackTimeout = 5 * time.Second
