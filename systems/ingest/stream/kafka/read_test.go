package kafka

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

// readAll is what the topic of a Log holds now, by partition, as any consumer reads it. What
// this service did not append is an entry that is not intact.
func readAll(t testing.TB, s stream.Stream) map[string][]stream.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := s.(*Log).o
	opts, err := o.client()
	fatal.If(t, err)
	client, err := kgo.NewClient(append(opts, kgo.ConsumeTopics(o.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	fatal.If(t, err)
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, o.Topic)
	fatal.If(t, err)
	starts, err := kadm.NewClient(client).ListStartOffsets(ctx, o.Topic)
	fatal.If(t, err)
	left := map[int32]int64{}
	starts.Each(func(start kadm.ListedOffset) {
		if end, ok := ends.Lookup(o.Topic, start.Partition); ok && end.Offset > start.Offset {
			left[start.Partition] = end.Offset
		}
	})
	all := map[string][]stream.Entry{}
	for len(left) > 0 {
		got := client.PollFetches(ctx)
		if err := got.Err0(); err != nil {
			t.Fatalf("%v: read up to %v", err, left)
		}
		got.EachRecord(func(k *kgo.Record) {
			e, err := fromKafka(k)
			if err != nil {
				e = stream.Entry{Record: stream.Record{Sum: 1}, Position: position(k.Partition, k.Offset)}
			}
			name := strconv.Itoa(int(k.Partition))
			all[name] = append(all[name], e)
			if k.Offset+1 >= left[k.Partition] {
				delete(left, k.Partition)
			}
		})
	}
	return all
}

// fromKafka is toKafka's inverse. The entry's Value is the Kafka record's.
func fromKafka(k *kgo.Record) (stream.Entry, error) {
	e := stream.Entry{Position: position(k.Partition, k.Offset)}
	corrupt := func(reason string) (stream.Entry, error) {
		return stream.Entry{}, &stream.CorruptError{Position: e.Position, Reason: reason}
	}
	if len(k.Headers) < reserved || k.Headers[0].Key != headerSum ||
		k.Headers[1].Key != headerTime || k.Headers[2].Key != headerID {
		return corrupt("it was not appended by this service: the reserved headers are missing")
	}
	sum, err := hex.DecodeString(string(k.Headers[0].Value))
	if err != nil || len(sum) != 4 {
		return corrupt("its checksum cannot be read")
	}
	nanos, err := strconv.ParseInt(string(k.Headers[1].Value), 10, 64)
	if err != nil {
		return corrupt("its time cannot be read")
	}
	e.Record = stream.Record{
		ID:    string(k.Headers[2].Value),
		Key:   string(k.Key),
		Time:  time.Unix(0, nanos).UTC(),
		Value: k.Value,
		Sum:   binary.BigEndian.Uint32(sum),
	}
	if own := k.Headers[reserved:]; len(own) > 0 {
		e.Header = make([]stream.Header, len(own))
		for i, h := range own {
			e.Header[i] = stream.Header{Name: h.Key, Value: string(h.Value)}
		}
	}
	if !e.Intact() {
		return corrupt("its value is not what was sealed (CRC-32C)")
	}
	return e, nil
}
