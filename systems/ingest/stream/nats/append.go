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
	call    *inflight.Call
	index   int
	key     string
	message *client.Msg
	size    int // bytes
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
	c := inflight.NewCall(records)
	if err := l.beginAppend(ctx); err != nil {
		return c.Refuse(err)
	}
	defer l.appends.Done()
	jobs, size := l.prepare(c, records)
	if !l.buffer.Reserve(size) {
		return c.Refuse(whittle.Errorf(whittle.ResourceExhausted, "the buffer before NATS is full"))
	}
	l.queue.enqueue(jobs)
	return c.Wait(ctx, "NATS JetStream", l.o.DeliveryTimeout)
}

func (l *Log) beginAppend(ctx context.Context) error {
	if ctx.Err() != nil {
		return inflight.Ended(ctx, "append to NATS")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return whittle.Errorf(whittle.Unavailable, "the NATS stream is closed")
	}
	l.appends.Add(1)
	return nil
}

// prepare settles what is invalid and makes messages of the rest.
func (l *Log) prepare(c *inflight.Call, records []stream.Record) (jobs []*job, size int64) {
	for i := range records {
		r := &records[i]
		err := inflight.Check(r, l.Limit())
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
		j := &job{call: c, index: i, key: r.Key, message: m, size: headLen(m) + len(m.Data)}
		jobs = append(jobs, j)
		size += int64(j.size)
	}
	return jobs, size
}
