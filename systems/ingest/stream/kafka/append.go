package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// job is one record on its way.
type job struct {
	inflight.Item
	record *kgo.Record
	err    error // what Kafka's client said
}

// Append implements stream.Stream. Records without a key go to one partition
// per call, the next one each time.
func (l *Log) Append(ctx context.Context, records []stream.Record) []stream.Result {
	keyless := int32(l.turn.Add(1) % uint32(l.traits.partitions))
	return inflight.Append(ctx, l.sink, l.queues, records, l.o.DeliveryTimeout, func(r *stream.Record) (*job, int, error) {
		if err := stream.Check(r, l.Limit()); err != nil {
			return nil, 0, err
		}
		k := toKafka(r)
		k.Partition = keyless
		if r.Key != "" {
			k.Partition = int32(l.pick.Partition(k, int(l.traits.partitions)))
		}
		return &job{Item: inflight.Item{Size: encodedLen(k)}, record: k}, int(k.Partition) % len(l.queues), nil
	})
}
