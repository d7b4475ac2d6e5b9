package kafka

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/systems/ingest/stream"
)

// reader consumes one partition directly, outside of any group.
type reader struct {
	log       *Log
	client    *kgo.Client
	partition int32
	next      int64         // the offset after the last record that was given out
	pending   []*kgo.Record // fetched, not yet given out
}

// Read implements stream.Stream. A position behind the partition's end is an
// error: the topic has lost records, or it is another topic.
func (l *Log) Read(ctx context.Context, from stream.Position) (stream.Reader, error) {
	partition, offset, err := l.parse(from)
	if err != nil {
		return nil, err
	}
	r := &reader{log: l, partition: partition, next: offset}
	if err := r.clamp(ctx); err != nil {
		return nil, err
	}
	opts, err := l.o.client()
	if err != nil {
		return nil, err
	}
	r.client, err = kgo.NewClient(append(opts,
		kgo.ConsumePartitions(r.place()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), // we look ourselves where the records are
	)...)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "make Kafka consumer: %w", err)
	}
	return r, nil
}

func (r *reader) place() map[string]map[int32]kgo.Offset {
	return map[string]map[int32]kgo.Offset{
		r.log.o.Topic: {r.partition: kgo.NewOffset().At(r.next)},
	}
}

// clamp moves next up to the first record that is kept.
func (r *reader) clamp(ctx context.Context) error {
	const doing = "find place in Kafka partition"
	topic := r.log.o.Topic
	first, err := r.offset(ctx, r.log.admin.ListStartOffsets)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return whittle.Errorf(whittle.NotFound, "Kafka topic %q has no partition %d", topic, r.partition)
	}
	if err != nil {
		return unreachable(ctx, doing, err)
	}
	end, err := r.offset(ctx, r.log.admin.ListEndOffsets)
	if err != nil {
		return unreachable(ctx, doing, err)
	}
	if r.next > end {
		return whittle.Errorf(whittle.FailedPrecondition, "offset %d is behind the end of %s/%d, which is %d", r.next, topic, r.partition, end).
			WithHint("the topic has lost records, or has been made anew")
	}
	r.next = max(r.next, first)
	return nil
}

func (r *reader) offset(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error)) (int64, error) {
	all, err := list(ctx, r.log.o.Topic)
	if err != nil {
		return 0, err
	}
	found, ok := all.Lookup(r.log.o.Topic, r.partition)
	if !ok {
		return 0, kerr.UnknownTopicOrPartition
	}
	return found.Offset, found.Err
}

// Next implements stream.Reader.
func (r *reader) Next(ctx context.Context, into []stream.Entry) (int, error) {
	if len(into) == 0 {
		return 0, whittle.Errorf(whittle.Invalid, "nowhere to read into")
	}
	for len(r.pending) == 0 {
		if err := r.fetch(ctx, len(into)); err != nil {
			return 0, err
		}
	}
	for n := range into {
		if len(r.pending) == 0 {
			return n, nil
		}
		entry, err := fromKafka(r.pending[0])
		if err != nil && n > 0 {
			return n, nil // the next call returns it
		}
		r.next = r.pending[0].Offset + 1
		r.pending = r.pending[1:]
		if err != nil {
			return 0, err
		}
		into[n] = entry
	}
	return len(into), nil
}

// fetch waits for records. It may come back with none.
func (r *reader) fetch(ctx context.Context, most int) error {
	const doing = "read Kafka partition"
	if ctx.Err() != nil {
		return stream.Ended(ctx, doing)
	}
	got := r.client.PollRecords(ctx, most)
	r.pending = got.Records()
	err := got.Err0()
	for _, e := range got.Errors() {
		err = e.Err
	}
	switch {
	case err == nil, len(r.pending) > 0:
		return nil
	case ctx.Err() != nil:
		return stream.Ended(ctx, doing)
	case errors.Is(err, kerr.OffsetOutOfRange):
		// Trimmed away under us: go on with what is left.
		if err := r.clamp(ctx); err != nil {
			return err
		}
		r.client.RemoveConsumePartitions(map[string][]int32{r.log.o.Topic: {r.partition}})
		r.client.AddConsumePartitions(r.place())
		return nil
	case errors.Is(err, kgo.ErrClientClosed):
		return whittle.Errorf(whittle.FailedPrecondition, "the reader is closed")
	case isAuth(err):
		return whittle.Errorf(whittle.PermissionDenied, "%s: %w", doing, err)
	}
	return whittle.Errorf(whittle.Unavailable, "%s: %w", doing, err)
}

// Close implements stream.Reader.
func (r *reader) Close() error {
	r.client.Close()
	return nil
}
