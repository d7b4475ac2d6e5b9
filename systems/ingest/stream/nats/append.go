package nats

import (
	"context"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// job is one record on its way.
type job struct {
	inflight.Item
	key     string
	message *client.Msg
	// uncertain says that it was published at least once with no response.
	uncertain bool
	err       error // the last response
}

// Append implements stream.Stream.
//
// Each record gets a message id of its own (Nats-Msg-Id), made here, and not the
// record's ID: publishing again because an acknowledgement was lost then gives
// the first copy's place and keeps one, while two records that carry one ID are
// both kept, as in every other stream. Whoever wants a second copy known as one
// has the ID in the record.
func (l *Log) Append(ctx context.Context, records []stream.Record) []stream.Result {
	return inflight.Append(ctx, l.sink, []*partitionQueue{l.queue}, records, l.o.DeliveryTimeout, func(r *stream.Record) (*job, int, error) {
		if err := stream.Check(r, l.Limit()); err != nil {
			return nil, 0, err
		}
		m := toNATS(l.o.Subject, r)
		head := headLen(m)
		if head > maxHead || head+len(m.Data) > l.limit {
			return nil, 0, whittle.Errorf(whittle.Invalid, "a record's headers are too large as NATS encodes them: %d bytes", head)
		}
		m.Header[client.MsgIdHdr] = []string{nuid.Next()}
		return &job{Item: inflight.Item{Size: headLen(m) + len(m.Data)}, key: r.Key, message: m}, 0, nil
	})
}
