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
	return inflight.Append(ctx, l.sink, []*partitionQueue{l.queue}, records, l.o.DeliveryTimeout, l.prepare)
}

// prepare settles what is invalid and makes messages of the rest.
func (l *Log) prepare(c *inflight.Call, records []stream.Record) (queues [][]*job, size int64) {
	var jobs []*job
	for i := range records {
		r := &records[i]
		err := stream.Check(r, l.Limit())
		var m *client.Msg
		if err == nil {
			m = toNATS(l.o.Subject, r)
			if head := headLen(m); head > maxHead || head+len(m.Data) > l.limit {
				err = whittle.Errorf(whittle.Invalid, "a record's headers are too large as NATS encodes them: %d bytes", head)
			}
		}
		if err != nil {
			c.Settle(i, stream.Result{Err: err})
			continue
		}
		m.Header[client.MsgIdHdr] = []string{nuid.Next()}
		j := &job{Item: inflight.Item{Call: c, Index: i, Size: headLen(m) + len(m.Data)}, key: r.Key, message: m}
		jobs = append(jobs, j)
		size += int64(j.Size)
	}
	return [][]*job{jobs}, size
}
