package nats

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/systems/ingest/stream"
)

// readAhead bounds the messages between the server and Next.
const readAhead = 256

// reader is an ordered consumer, which the client makes anew by itself where a
// message is missing or the connection broke.
type reader struct {
	messages chan jetstream.Msg
	closed   chan struct{}
	once     sync.Once
	consumer jetstream.ConsumeContext
	pending  jetstream.Msg // one that the last call had no place for
}

// Read implements stream.Stream. A position behind the stream's end is an error:
// the stream has lost records, or it is another one.
func (l *Log) Read(ctx context.Context, from stream.Position) (stream.Reader, error) {
	const doing = "read JetStream stream"
	sequence, err := parse(from)
	if err != nil {
		return nil, err
	}
	_, next, err := l.bounds(ctx)
	if err != nil {
		return nil, err
	}
	if sequence > next {
		return nil, whittle.Errorf(whittle.FailedPrecondition, "sequence %d is behind the end of %s, which is %d", sequence, l.o.Stream, next).
			WithHint("the stream has lost records, or has been made anew")
	}
	consumer, err := l.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{l.o.Subject},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:    max(1, sequence),
	})
	if err != nil {
		return nil, unreachable(ctx, doing, err)
	}
	r := &reader{messages: make(chan jetstream.Msg, readAhead), closed: make(chan struct{})}
	r.consumer, err = consumer.Consume(func(m jetstream.Msg) {
		select {
		case r.messages <- m:
		case <-r.closed:
		}
	}, jetstream.PullMaxMessages(readAhead))
	if err != nil {
		return nil, unreachable(ctx, doing, err)
	}
	return r, nil
}

// Next implements stream.Reader.
func (r *reader) Next(ctx context.Context, into []stream.Entry) (int, error) {
	if len(into) == 0 {
		return 0, whittle.Errorf(whittle.Invalid, "nowhere to read into")
	}
	for n := range into {
		m, err := r.next(ctx, n == 0)
		if m == nil {
			return n, err
		}
		entry, err := entryOf(m)
		if err != nil && n > 0 {
			r.pending = m // the next call returns it
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		into[n] = entry
	}
	return len(into), nil
}

// next returns a message: the pending one, one that is here or, where it may wait,
// the next that comes. It is nil with no error where there is none to be had now.
func (r *reader) next(ctx context.Context, wait bool) (jetstream.Msg, error) {
	if m := r.pending; m != nil {
		r.pending = nil
		return m, nil
	}
	select {
	case m := <-r.messages:
		return m, nil
	default:
	}
	if !wait {
		return nil, nil
	}
	select {
	case m := <-r.messages:
		return m, nil
	case <-r.closed:
		return nil, whittle.Errorf(whittle.FailedPrecondition, "the reader is closed")
	case <-ctx.Done():
		return nil, stream.Ended(ctx, "read JetStream stream")
	}
}

func entryOf(m jetstream.Msg) (stream.Entry, error) {
	meta, err := m.Metadata()
	if err != nil {
		return stream.Entry{}, whittle.Errorf(whittle.Internal, "read JetStream stream: %w", err)
	}
	return fromNATS(meta.Sequence.Stream, m.Headers(), m.Data())
}

// Close implements stream.Reader.
func (r *reader) Close() error {
	r.once.Do(func() {
		close(r.closed)
		r.consumer.Stop()
		<-r.consumer.Closed()
	})
	return nil
}
