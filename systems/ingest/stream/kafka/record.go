package kafka

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"whittle/systems/ingest/stream"
)

// The first headers of each Kafka record, in this order. What follows them is
// the record's own Header, whatever its names are.
const (
	headerSum  = "whittle-sum"  // CRC-32C of the value, 8 hex digits
	headerTime = "whittle-time" // nanoseconds since 1970, decimal
	headerID   = "whittle-id"   // the record's ID, empty for none
)

const reserved = 3

// encodingOverhead is what Kafka's encoding of a record may take beyond ours
// (stream.EncodedLen): a batch's head, the reserved headers, longer varints.
const encodingOverhead = 1024

// encodedLen bounds the record's share of a batch, in bytes.
func encodedLen(r *kgo.Record) int {
	const fields = 40 // lengths, attributes and deltas at their longest
	n := fields + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += 10 + len(h.Key) + len(h.Value)
	}
	return n
}

// toKafka copies r: the caller has its memory back when Append returns, which
// may be before Kafka's client is done.
func toKafka(r *stream.Record) *kgo.Record {
	k := &kgo.Record{
		Value:   append(make([]byte, 0, len(r.Value)), r.Value...),
		Headers: make([]kgo.RecordHeader, reserved, reserved+len(r.Header)),
	}
	if r.Key != "" {
		k.Key = []byte(r.Key)
	}
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], r.Sum)
	k.Headers[0] = kgo.RecordHeader{Key: headerSum, Value: hex.AppendEncode(nil, sum[:])}
	k.Headers[1] = kgo.RecordHeader{Key: headerTime, Value: strconv.AppendInt(nil, r.Time.UnixNano(), 10)}
	k.Headers[2] = kgo.RecordHeader{Key: headerID, Value: []byte(r.ID)}
	for _, h := range r.Header {
		k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
	}
	return k
}

// position is a place in the topic. A broker that knows a batch as a duplicate
// may have forgotten its offset (-1): the place is then the partition.
func position(partition int32, offset int64) stream.Position {
	if offset < 0 {
		return stream.Position{Partition: strconv.Itoa(int(partition))}
	}
	return stream.Position{Partition: strconv.Itoa(int(partition)), Offset: strconv.FormatInt(offset, 10)}
}
