package relay

import (
	"bytes"
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// drain sends records to a sink, in order by key and with several calls in flight. Each key
// belongs to one queue, and each queue has one call in flight, which its goroutine repeats
// until every record of it is settled: the sink has it, or the refused ones do.
type drain struct {
	sink, refused stream.Stream
	o             *Options
	trouble       troubles
	rate          rates
	values        packer        // of the one that offers
	room          notify.Signal // there may be room in the window
	due           notify.Signal // a save is due before its time

	mu      sync.Mutex // guards the following
	queues  []*queue
	next    uint64 // the offset behind the last record that was read
	saved   uint64 // the checkpoint on disk
	open    int    // records not settled
	bytes   int
	counts  counts
	settled chan struct{} // closed when something is settled or saved; nil: nobody waits
}

// queue holds the records of some keys, the oldest first. It is guarded by its drain's mu.
type queue struct {
	wake  notify.Signal
	items []*item
}

// item is a record on its way.
type item struct {
	seq     uint64
	record  stream.Record
	size    int
	settled bool
}

// counts are since the start.
type counts struct{ sent, refused, corrupt, resent uint64 }

func newDrain(sink stream.Stream, o *Options, next uint64) *drain {
	d := &drain{sink: sink, refused: o.Refused, o: o, trouble: troubles{log: o.Log}, room: notify.New(), due: notify.New(), next: next, saved: next}
	d.rate.records.Over, d.rate.bytes.Over = rateOver, rateOver
	for range o.Inflight {
		d.queues = append(d.queues, &queue{wake: notify.New()})
	}
	return d
}

// rates are what the sink takes a second. They have a lock of their own, since each request
// asks for them.
type rates struct {
	mu             sync.Mutex // guards the following
	records, bytes stream.Meter
}

// rateOver is what they are taken over.
const rateOver = 10 * time.Second

func (r *rates) add(records uint64, bytes int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records.Add(float64(records), now)
	r.bytes.Add(float64(bytes), now)
}

func (r *rates) get(now time.Time) (records, bytes float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records.Rate(now), r.bytes.Rate(now)
}

// offer adds a record to the window, and waits while that is full. The record's
// memory belongs to the caller again when offer returns. Only one goroutine offers.
func (d *drain) offer(ctx context.Context, seq uint64, r *stream.Record) error {
	it := &item{seq: seq, record: *r, size: stream.EncodedLen(r)}
	it.record.Value, it.record.Header = d.values.copy(r.Value), slices.Clone(r.Header)
	return d.enter(ctx, seq, it.size, func() {
		q := d.queues[d.queueOf(&it.record, seq)]
		q.items = append(q.items, it)
		d.open++
		d.bytes += it.size
		q.wake.Notify()
	})
}

// skip moves the window past a record that cannot be read.
func (d *drain) skip(ctx context.Context, seq uint64) error {
	return d.enter(ctx, seq, 0, func() {
		d.counts.corrupt++
		d.lockedMoved()
	})
}

// enter calls add with mu held, once there is room in the window for so many bytes.
func (d *drain) enter(ctx context.Context, seq uint64, size int, add func()) error {
	for {
		d.mu.Lock()
		if d.next-d.saved >= uint64(d.o.Window) {
			d.due.Notify()
		}
		if d.next-d.saved < 2*uint64(d.o.Window) && (d.open == 0 || d.open < d.o.Window && d.bytes+size <= windowBytes) {
			d.next = seq + 1
			add()
			d.mu.Unlock()
			return nil
		}
		d.mu.Unlock()
		select {
		case <-d.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *drain) queueOf(r *stream.Record, seq uint64) int {
	if r.Key == "" {
		return int(seq % uint64(len(d.queues)))
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(r.Key))
	sum := h.Sum64()
	return int((sum ^ sum>>32) % uint64(len(d.queues)))
}

// lockedLow is the offset below which all is settled.
func (d *drain) lockedLow() uint64 {
	low := d.next
	for _, q := range d.queues {
		if len(q.items) > 0 {
			low = min(low, q.items[0].seq)
		}
	}
	return low
}

// lockedMoved wakes who waits for room or progress.
func (d *drain) lockedMoved() {
	d.room.Notify()
	if d.settled != nil {
		close(d.settled)
		d.settled = nil
	}
}

// until waits until done, which is called with mu held, holds.
func (d *drain) until(ctx context.Context, done func() bool) error {
	for {
		d.mu.Lock()
		if done() {
			d.mu.Unlock()
			return nil
		}
		if d.settled == nil {
			d.settled = make(chan struct{})
		}
		moved := d.settled
		d.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run sends a queue's records until ctx ends.
func (d *drain) run(ctx context.Context, q *queue) {
	var batch []*item
	var records []stream.Record
	for attempt := 0; ctx.Err() == nil; {
		batch, records = d.take(q, batch[:0], records[:0])
		if len(batch) == 0 {
			select {
			case <-q.wake:
			case <-ctx.Done():
			}
			continue
		}
		went, left := d.send(ctx, q, batch, records)
		clear(batch)
		clear(records)
		if went {
			attempt = 0
		}
		if left {
			notify.Sleep(ctx, stream.Backoff(attempt, backoffMin, d.o.BackoffMax, rand.Float64()))
			attempt++
		}
	}
}

// take fills a batch with the oldest records of a queue.
func (d *drain) take(q *queue, batch []*item, records []stream.Record) ([]*item, []stream.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := 0
	for _, it := range q.items {
		if size += it.size; len(batch) == d.o.Batch || len(batch) > 0 && size > batchBytes {
			break
		}
		batch, records = append(batch, it), append(records, it.record)
	}
	return batch, records
}

// send appends a batch to the sink, and what that refuses to the refused ones. It reports
// whether anything was settled, and whether anything is left.
func (d *drain) send(ctx context.Context, q *queue, batch []*item, records []stream.Record) (went, left bool) {
	results := appendWithin(ctx, d.sink, records, d.o.Timeout)
	var c counts
	var failure error
	var bad []*item
	var letters []stream.Record
	var reasons []error
	for i, r := range results {
		switch code := whittle.CodeOf(r.Err); {
		case r.Err == nil:
			batch[i].settled = true
			c.sent++
		case code == whittle.Invalid:
			bad, letters, reasons = append(bad, batch[i]), append(letters, refusedRecord(&records[i], r.Err)), append(reasons, r.Err)
		case code == whittle.ResourceExhausted || code == whittle.Unavailable:
			failure = r.Err
		default:
			failure = r.Err
			c.resent++
		}
	}
	now := time.Now()
	d.trouble.note(ctx, "sink", failure, now)
	if len(bad) > 0 {
		var lost error
		for i, r := range appendWithin(ctx, d.refused, letters, d.o.Timeout) {
			if r.Err != nil {
				lost = r.Err
				continue
			}
			bad[i].settled = true
			c.refused++
			d.o.Log.Warn("the sink refused a record; it is among the refused ones", "offset", bad[i].seq, "id", bad[i].record.ID, "reason", reasons[i])
		}
		d.trouble.note(ctx, "refused", lost, now)
	}
	return c.sent+c.refused > 0, d.settle(q, c, len(batch), now)
}

// settle takes the settled ones of a queue's first n items out of it, and reports whether
// some of them are left.
func (d *drain) settle(q *queue, c counts, n int, now time.Time) (left bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts.sent += c.sent
	d.counts.refused += c.refused
	d.counts.resent += c.resent
	kept, before := 0, d.bytes
	for i := n - 1; i >= 0; i-- { // those that are left come right before the rest
		it := q.items[i]
		q.items[i] = nil
		if it.settled {
			d.open--
			d.bytes -= it.size
			continue
		}
		kept++
		q.items[n-kept] = it
	}
	d.rate.add(c.sent, before-d.bytes, now)
	if q.items = q.items[n-kept:]; len(q.items) == 0 {
		q.items = nil // releases the array that grew
	}
	d.lockedMoved()
	return kept > 0
}

// appendWithin returns one result a record, whatever the stream did.
func appendWithin(ctx context.Context, s stream.Stream, records []stream.Record, limit time.Duration) []stream.Result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	results := s.Append(ctx, records)
	if len(results) == len(records) {
		return results
	}
	err := whittle.Errorf(whittle.Internal, "append: %d results for %d records", len(results), len(records))
	return slices.Repeat([]stream.Result{{Err: err}}, len(records))
}

// ReasonHeader is the header that a refused record has more, last in order: what the sink
// said, of so many bytes at most. A record that has as many headers as there can be goes
// without.
const (
	ReasonHeader = "Whittle-Refused"
	reasonLimit  = 1 << 10
)

// RefusedOverhead is how much longer a refused record may be than as it was appended.
const RefusedOverhead = len(ReasonHeader) + reasonLimit + 8

func refusedRecord(r *stream.Record, err error) stream.Record {
	again := *r
	if len(r.Header) < stream.MaxHeaders {
		reason := err.Error()
		again.Header = append(slices.Clone(r.Header), stream.Header{Name: ReasonHeader, Value: reason[:min(len(reason), reasonLimit)]})
	}
	return again
}

// sharedLen is how much memory small values share, each at most a quarter of it.
// One that waits for long keeps those alive that it shares with, so it is little;
// a piece of memory for each of them would cost a drain a tenth of its speed.
const sharedLen = 16 << 10

// packer copies values into memory of its own.
type packer struct{ shared []byte }

func (p *packer) copy(value []byte) []byte {
	if len(value) > sharedLen/4 {
		return bytes.Clone(value)
	}
	if cap(p.shared)-len(p.shared) < len(value) {
		p.shared = make([]byte, 0, sharedLen)
	}
	at := len(p.shared)
	p.shared = append(p.shared, value...)
	return p.shared[at:len(p.shared):len(p.shared)]
}
