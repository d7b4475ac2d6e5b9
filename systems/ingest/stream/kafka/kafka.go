// Package kafka is a durable stream on a Kafka topic. A record is acknowledged
// when all in-sync replicas have it, written idempotently. The records of one
// key are in one partition, in the order in which they were appended.
package kafka

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// maxQueues bounds the producers, and with them the connections to each broker.
const maxQueues = 4

// Log is the stream.Stream of a topic.
type Log struct {
	o      Options
	admin  *kadm.Client // asks and trims; it produces nothing
	traits traits
	// batch is the most that goes into one batch, in bytes. It falls when the
	// topic turns out to take less than at Open.
	batch  atomic.Int64
	pick   kgo.TopicPartitioner // keys to partitions, as Kafka's own clients do
	turn   atomic.Uint32        // the partition of the next records without a key
	queues []*partitionQueue
	sink   *inflight.Sink
}

var _ stream.Stream = (*Log)(nil)

// Open connects to the brokers, looks the topic up, and starts its producers.
func Open(ctx context.Context, o Options) (*Log, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	settings, err := o.client()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(settings...)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "make Kafka client: %w", err)
	}
	l := &Log{o: o, admin: kadm.NewClient(client), sink: inflight.NewSink("Kafka", o.Buffer)}
	l.sink.GivesUp = o.GiveUp
	if l.traits, err = lookUp(ctx, l.admin, &l.o); err != nil {
		client.Close()
		return nil, err
	}
	l.batch.Store(int64(l.traits.maxBatch))
	l.pick = kgo.StickyKeyPartitioner(nil).ForTopic(o.Topic)
	l.turn.Store(rand.Uint32())
	for range min(maxQueues, l.traits.partitions) {
		queue, err := newPartitionQueue(l, settings)
		if err != nil {
			l.release()
			return nil, err
		}
		l.queues = append(l.queues, queue)
	}
	var senders []func(context.Context)
	for _, queue := range l.queues {
		senders = append(senders, func(ctx context.Context) { queue.Run(ctx, queue.take, queue.round) })
	}
	l.sink.Run(client.Ping, senders...)
	return l, nil
}

// Durability is stream.KafkaAll.
func (l *Log) Durability() stream.Durability { return stream.KafkaAll }

// Limit follows from the topic's max.message.bytes.
func (l *Log) Limit() int { return int(l.batch.Load()) - encodingOverhead }

// Capacity is what the buffer can accept, and whether the brokers respond.
func (l *Log) Capacity() stream.Capacity { return l.sink.Buffer.Capacity(len(l.queues)) }

// Close waits for what is in flight until ctx ends. What is then still in flight
// may or may not be kept, as its Append says.
func (l *Log) Close(ctx context.Context) error {
	return inflight.Close(ctx, l.sink, l.release, l.queues)
}

func (l *Log) release() {
	for _, queue := range l.queues {
		queue.client.Close()
	}
	l.admin.Close()
}

// Partitions asks for each partition's range.
func (l *Log) Partitions(ctx context.Context) ([]stream.Partition, error) {
	const doing = "list Kafka partitions"
	first, err := l.admin.ListStartOffsets(ctx, l.o.Topic)
	if err = errors.Join(err, first.Error()); err != nil {
		return nil, unreachable(ctx, doing, err)
	}
	next, err := l.admin.ListEndOffsets(ctx, l.o.Topic)
	if err = errors.Join(err, next.Error()); err != nil {
		return nil, unreachable(ctx, doing, err)
	}
	var parts []stream.Partition
	for n := range int32(len(first[l.o.Topic])) {
		from, ok := first.Lookup(l.o.Topic, n)
		to, also := next.Lookup(l.o.Topic, n)
		if !ok || !also {
			return nil, whittle.Errorf(whittle.Unavailable, "%s: no response about partition %d", doing, n)
		}
		parts = append(parts, stream.Partition{
			Name: strconv.Itoa(int(n)), First: position(n, from.Offset), Next: position(n, to.Offset),
		})
	}
	return parts, nil
}

// Trim deletes the records of a partition that lie before a position.
func (l *Log) Trim(ctx context.Context, before stream.Position) error {
	partition, offset, err := l.parse(before)
	if err != nil || offset <= 0 {
		return err
	}
	var to kadm.Offsets
	to.AddOffset(l.o.Topic, partition, offset, -1)
	response, err := l.admin.DeleteRecords(ctx, to)
	err = errors.Join(err, response.Error())
	if errors.Is(err, kerr.OffsetOutOfRange) {
		return whittle.Errorf(whittle.Invalid, "offset %d is behind the end of partition %d", offset, partition)
	}
	if err != nil {
		return unreachable(ctx, "trim Kafka partition "+before.Partition, err)
	}
	return nil
}

// parse returns the numbers of a position; its offset is -1 where it is empty.
func (l *Log) parse(p stream.Position) (partition int32, offset int64, err error) {
	n, err := strconv.ParseInt(p.Partition, 10, 32)
	if err != nil || n < 0 {
		return 0, 0, whittle.Errorf(whittle.NotFound, "Kafka topic %q has no partition %q", l.o.Topic, p.Partition)
	}
	if p.Offset == "" {
		return int32(n), -1, nil
	}
	if offset, err = strconv.ParseInt(p.Offset, 10, 64); err != nil || offset < 0 {
		return 0, 0, whittle.Errorf(whittle.Invalid, "%q is no Kafka offset", p.Offset)
	}
	return int32(n), offset, nil
}
