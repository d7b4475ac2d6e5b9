// Package relay puts an embedded log in front of a sink. An event is acknowledged
// once it is in the log. A drain sends the log to the sink in the background,
// in order by key, and retries for as long as it takes.
//
// A sink gets each record of the log at least once: after a crash, and after a failure that
// leaves it open whether a record arrived, some come again.
// docs/systems/ingest.md says what follows from that.
package relay

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// Log is what is drained: an embedded log, opened with its Options.Held.
type Log interface {
	stream.Copying
	// Bounds are the offset of the oldest record that is kept and the one that the next
	// record will get.
	Bounds() (first, next uint64, err error)
	// Follow hands out the records from an offset on, and those that come, until ctx ends.
	Follow(ctx context.Context, from uint64, visit func(*stream.Entry) error, corrupt func(*stream.CorruptError) error) error
	// Trim removes records before an offset, and Hold keeps the log's own retention from
	// removing those from an offset on.
	Trim(before uint64) error
	Hold(from uint64)
}

// Relay is the log as a stream, with a drain that runs in the background.
type Relay struct {
	log   Log
	sink  stream.Stream
	o     Options
	drain *drain
	at    *checkpoint
	stop  context.CancelFunc
	tasks sync.WaitGroup
	// read is what the reader has seen, to estimate what it has not.
	read struct{ records, bytes atomic.Uint64 }

	gate   sync.RWMutex // held by each append; guards the following
	closed bool
}

var _ stream.Copying = (*Relay)(nil)

// Open starts to drain log into sink. From here on log,
// sink and o.Refused belong to the relay, which closes them; when Open fails they still
// belong to the caller. Open succeeds while the sink is down.
//
// Errors: Invalid for invalid options; FailedPrecondition when log and
// checkpoint do not belong together, or another process drains from this folder.
func Open(log Log, sink stream.Stream, o Options) (*Relay, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	first, end, err := log.Bounds()
	if err != nil {
		return nil, err
	}
	at, err := openCheckpoint(o.Dir)
	if err != nil {
		return nil, err
	}
	switch {
	case end < at.next:
		at.file.Close()
		return nil, whittle.Errorf(whittle.FailedPrecondition, "open relay: the log ends before record %d, and all before %d were drained", end, at.next).
			WithHint("is it another log, or an older copy of it? Put the right one in its place. Or move the folder " + o.Dir + " away: all that is in this log is sent then, and may come to the sink again")
	case at.generation == 0 && end > first:
		o.Log.Warn("no position was saved of this log: all of it is sent, and what was drained before comes to the sink again", "from", first, "to", end)
	case first > at.next:
		o.Log.Error("records were removed from the log before they were drained", "from", at.next, "to", first)
	}
	r := &Relay{log: log, sink: sink, o: o, at: at}
	r.drain = newDrain(sink, &r.o, max(first, at.next))
	if err := at.save(r.drain.next); err != nil {
		at.file.Close()
		return nil, err
	}
	log.Hold(at.next)
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	for _, q := range r.drain.queues {
		r.tasks.Go(func() { r.drain.run(ctx, q) })
	}
	r.tasks.Go(func() { r.feed(ctx, at.next) })
	r.tasks.Go(func() { r.saveOften(ctx) })
	return r, nil
}

// Durability is the log's.
func (r *Relay) Durability() stream.Durability { return r.log.Durability() }

// Limit is the log's.
func (r *Relay) Limit() int { return r.log.Limit() }

// Append appends to the log.
func (r *Relay) Append(ctx context.Context, records []stream.Record) []stream.Result {
	return r.AppendCopy(ctx, records, func() {})
}

// AppendCopy implements stream.Copying.
func (r *Relay) AppendCopy(ctx context.Context, records []stream.Record, copied func()) []stream.Result {
	r.gate.RLock()
	defer r.gate.RUnlock()
	if r.closed {
		return slices.Repeat([]stream.Result{{Err: errClosed}}, len(records))
	}
	return r.log.AppendCopy(ctx, records, copied)
}

var errClosed = whittle.Errorf(whittle.Unavailable, "the relay is closed")

// Capacity is the log's free space, and the rate at which draining frees it.
func (r *Relay) Capacity() stream.Capacity {
	capacity := r.log.Capacity()
	_, capacity.Rate = r.drain.rate.get(time.Now())
	return capacity
}

// feed offers the log's records to the drain, in order, until ctx ends.
func (r *Relay) feed(ctx context.Context, next uint64) {
	for attempt := 0; ctx.Err() == nil; attempt++ {
		before := next
		err := r.log.Follow(ctx, next, func(e *stream.Entry) error {
			seq, err := strconv.ParseUint(e.Position.Offset, 10, 64)
			if err != nil {
				return err
			}
			r.drain.trouble.note(ctx, "log", nil, time.Now())
			r.read.records.Add(1)
			r.read.bytes.Add(uint64(stream.EncodedLen(&e.Record)))
			if err := r.drain.offer(ctx, seq, &e.Record); err != nil {
				return err
			}
			next = seq + 1
			return nil
		}, func(bad *stream.CorruptError) error {
			seq, err := strconv.ParseUint(bad.Position.Offset, 10, 64)
			if err != nil {
				return err
			}
			r.o.Log.Error("skipped a corrupt record of the log", "err", bad)
			next = seq + 1
			return r.drain.skip(ctx, seq)
		})
		if next > before {
			attempt = 0
		}
		r.drain.trouble.note(ctx, "log", err, time.Now())
		notify.Sleep(ctx, stream.Backoff(attempt, backoffMin, r.o.BackoffMax, 1))
	}
}

// saveOften saves the checkpoint now and then, until ctx ends, and has the log let go of
// what is drained.
func (r *Relay) saveOften(ctx context.Context) {
	tick := time.NewTicker(r.o.Save)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.drain.due:
		case <-ctx.Done():
			return
		}
		err := r.save()
		r.drain.trouble.note(ctx, "checkpoint", err, time.Now())
		if err == nil {
			r.drain.trouble.note(ctx, "trim", r.trim(), time.Now())
		}
	}
}

// save saves how far the drain is, where that is new.
func (r *Relay) save() error {
	d := r.drain
	d.mu.Lock()
	low := d.lockedLow()
	d.mu.Unlock()
	if low == r.at.next {
		return nil
	}
	if err := r.at.save(low); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saved = low
	d.lockedMoved()
	return nil
}

// trimSteps is in how many steps drained records are removed from a log that
// stays short of space.
const trimSteps = 64

// trim removes records from the log that are drained and saved: all of them, or where they
// are kept, as many as a log that is short of space needs. That begins before the log is
// full, because clients are refused as soon as they need more than is free.
func (r *Relay) trim() error {
	r.log.Hold(r.at.next)
	if !r.o.Keep {
		return r.log.Trim(r.at.next)
	}
	first, _, err := r.log.Bounds()
	step := (r.at.next-min(first, r.at.next))/trimSteps + 1
	for err == nil && first < r.at.next {
		if capacity := r.log.Capacity(); capacity.Err == nil && capacity.Free >= r.o.Low {
			break
		}
		first = min(first+step, r.at.next)
		err = r.log.Trim(first)
	}
	return err
}

// Wait returns when the sink, or the refused ones, have all before an offset.
func (r *Relay) Wait(ctx context.Context, before uint64) error {
	return r.drain.until(ctx, func() bool { return r.drain.lockedLow() >= before })
}

// closing is how long the streams may take to close once ctx has ended.
const closing = 2 * time.Second

// Close refuses new appends, drains the log until ctx ends, saves the
// checkpoint, and closes sink, refused ones and log, which takes at most two
// seconds more.
func (r *Relay) Close(ctx context.Context) error {
	r.gate.Lock()
	again := r.closed
	r.closed = true
	r.gate.Unlock()
	if again {
		return nil
	}
	_, end, err := r.log.Bounds()
	late := r.Wait(ctx, end)
	r.stop()
	r.tasks.Wait()
	err = errors.Join(err, r.save(), r.at.file.Close())
	if late != nil {
		r.o.Log.Warn("relay closed before the drain was complete; the rest stays in the log", "records", r.Status().Lag)
	}
	if ctx.Err() != nil {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		ctx = grace
	}
	return errors.Join(err, r.sink.Close(ctx), r.o.Refused.Close(ctx), r.log.Close(ctx))
}
