// Package relay puts a local log in front of a sink. An event is acknowledged
// once it is in the log. A drain sends the log to the sink in the background,
// in order by key, and retries for as long as it takes. The package also moves
// whole streams, and verifies that the target has what the source had.
//
// A sink gets each record of the log at least once, in order by key, with one
// header added (OriginHeader). After a crash, and after a failure that leaves
// it open whether a record arrived, the relay reads the sink's end to find out
// what it has. docs/systems/ingest-relay.md lists what is guaranteed in which
// case.
package relay

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Relay is the log as a stream, with a drain that runs in the background.
type Relay struct {
	log       stream.Stream
	o         Options
	limit     int
	partition string
	drain     *drain
	store     *checkpointStore
	stop      context.CancelFunc
	tasks     sync.WaitGroup
	// end is the number after the last record that is known to be in the log.
	end atomic.Uint64
	// read is what the reader has seen, to estimate what it has not.
	read    struct{ records, bytes atomic.Uint64 }
	history drainHistory
	// trimmed is what the log was last trimmed to, or where it began. It is the
	// saver's.
	trimmed uint64

	mu      sync.Mutex // guards the following
	closed  bool
	active  int           // appends in flight
	drained chan struct{} // closed when closed and none is
}

// Holder is a log that removes old records by itself and can be asked to keep those
// from a position on. Any other log must keep all records until it is trimmed.
type Holder interface {
	Hold(from stream.Position) error
}

// Open starts to drain log into sink. The log has one partition with the
// offsets 0, 1, 2 and so on, as an embedded one has. From here on log, sink and
// o.Dead belong to the relay, which closes them; when Open fails they still
// belong to the caller. Open succeeds while the sink is down.
//
// Errors: Invalid for invalid options; FailedPrecondition when log and
// checkpoint do not belong together; Unavailable when another process drains
// from this folder.
func Open(log, sink stream.Stream, o Options) (*Relay, error) {
	pace, err := o.withDefaults()
	switch {
	case err != nil:
		return nil, err
	case o.Low < 0:
		return nil, whittle.Errorf(whittle.Invalid, "open relay: a low-water mark of %d bytes", o.Low)
	case log == nil || sink == nil:
		return nil, whittle.Errorf(whittle.Invalid, "open relay: a log and a sink are needed")
	case o.Dead == nil:
		return nil, whittle.Errorf(whittle.Invalid, "open relay: no stream for dead letters").
			WithHint("records that the sink refuses for good must go somewhere: give a second embedded log")
	}
	o.Limits, o.Log = pace, cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Low = cmp.Or(o.Low, 256<<20)
	limit := min(log.Limit(), sink.Limit()-originLen, o.Dead.Limit()-deadLetterOverhead)
	if limit <= 0 {
		return nil, whittle.Errorf(whittle.Invalid, "open relay: the sink takes %d bytes and the dead letters %d: too few", sink.Limit(), o.Dead.Limit())
	}
	store, err := openCheckpoints(o.Dir)
	if err != nil {
		return nil, err
	}
	r := &Relay{log: log, o: o, limit: limit, store: store, drained: make(chan struct{})}
	if err := r.begin(sink); err != nil {
		store.close()
		return nil, err
	}
	return r, nil
}

func (r *Relay) begin(sink stream.Stream) error {
	ctx, cancel := context.WithTimeout(context.Background(), r.o.Timeout)
	defer cancel()
	parts, err := r.log.Partitions(ctx)
	if err != nil {
		return whittle.Errorf(whittle.CodeOf(err), "open relay: list the log's partitions: %w", err)
	}
	if len(parts) != 1 {
		return whittle.Errorf(whittle.Invalid, "open relay: the log has %d partitions; one is needed", len(parts))
	}
	first, err1 := number(parts[0].First)
	end, err2 := number(parts[0].Next)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	at, err := r.loadCheckpoint()
	if err != nil {
		return err
	}
	if err := r.recheck(ctx, parts[0], end, &at); err != nil {
		return err
	}
	if r.store.body == nil && end > first {
		r.o.Log.Warn("no position was saved of this log: all of it is sent, and what was drained before comes to the sink again", "from", first, "to", end)
	}
	r.partition = parts[0].Name
	r.trimmed = first
	r.end.Store(end)
	r.drain = newDrain(sink, r.o.Dead, r.o.Limits, at, r.store, r.o.Log)
	r.drain.scanner.noHeaders = r.o.NoHeaders
	r.drain.saved, r.drain.end = r.trimDrained, r.end.Load
	if first > at.Next {
		r.drain.gap(at.Next, first)
	}
	if err := r.hold(at.Next); err != nil {
		return whittle.Errorf(whittle.CodeOf(err), "open relay: hold the log: %w", err)
	}
	run, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.tasks.Go(func() { r.drain.run(run) })
	r.tasks.Go(func() { r.feed(run) })
	return nil
}

// recheck fails where the log is another or shorter than the one that the checkpoint
// was made of: what is new in it would count as drained.
func (r *Relay) recheck(ctx context.Context, p stream.Partition, end uint64, at *checkpoint) error {
	hint := "is it another log, or an older copy of it? Put the right one in its place. Or move the folder " + r.o.Dir + " away: all that is in this log is sent then, and may come to the sink again"
	if end < at.end() {
		return whittle.Errorf(whittle.FailedPrecondition, "open relay: the log ends before record %d, and had all before %d, of which %d were drained", end, at.end(), at.Next).WithHint(hint)
	}
	err := stream.Recheck(ctx, r.log, p, at.Last.Offset, at.Fingerprint)
	if whittle.CodeOf(err) == whittle.FailedPrecondition {
		return whittle.Errorf(whittle.FailedPrecondition, "open relay: this is not the log that was drained: %w", err).WithHint(hint)
	}
	return err
}

// loadCheckpoint returns the saved checkpoint, or a new one.
func (r *Relay) loadCheckpoint() (checkpoint, error) {
	at := newCheckpoint()
	if r.store.body == nil {
		return at, nil
	}
	return r.store.load()
}

func number(p stream.Position) (uint64, error) {
	n, err := strconv.ParseUint(p.Offset, 10, 64)
	if err != nil {
		return 0, whittle.Errorf(whittle.Invalid, "the log's offset %q is no number of 64 bits", p.Offset)
	}
	return n, nil
}

func (r *Relay) at(n uint64) stream.Position {
	return stream.Position{Partition: r.partition, Offset: strconv.FormatUint(n, 10)}
}

// Durability is the log's.
func (r *Relay) Durability() stream.Durability { return r.log.Durability() }

// Limit is the largest record that the log, the sink and the dead letters
// accept: a record that could never be drained is refused.
func (r *Relay) Limit() int { return r.limit }

// Append appends to the log.
func (r *Relay) Append(ctx context.Context, records []stream.Record) []stream.Result {
	return r.AppendCopy(ctx, records, func() {})
}

// AppendCopy implements stream.Copying, where the log does.
func (r *Relay) AppendCopy(ctx context.Context, records []stream.Record, copied func()) []stream.Result {
	if !r.beginAppend() {
		return slices.Repeat([]stream.Result{{Err: whittle.Errorf(whittle.Unavailable, "append: the relay is closed")}}, len(records))
	}
	defer r.endAppend()
	results := r.append(ctx, records, copied)
	for i := range results {
		if results[i].Err == nil {
			if n, err := number(results[i].Position); err == nil {
				r.raise(n + 1)
			}
		}
	}
	return results
}

func (r *Relay) beginAppend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.active++
	return true
}

func (r *Relay) endAppend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active--; r.active == 0 && r.closed {
		close(r.drained)
	}
}

func (r *Relay) raise(end uint64) {
	for {
		old := r.end.Load()
		if old >= end || r.end.CompareAndSwap(old, end) {
			return
		}
	}
}

// append keeps what is too long for the sink out of the log, and what follows
// it with the same key.
func (r *Relay) append(ctx context.Context, records []stream.Record, copied func()) []stream.Result {
	var refused []stream.Result
	var behind map[string]bool
	taken := records
	for i := range records {
		n := stream.EncodedLen(&records[i])
		late := behind[records[i].Key]
		if n > r.limit || late {
			if refused == nil {
				refused = make([]stream.Result, len(records))
				behind = map[string]bool{}
				taken = append([]stream.Record(nil), records[:i]...)
			}
			refused[i].Err = whittle.Errorf(whittle.Invalid, "append: a record of %d bytes; %d are the limit", n, r.limit)
			if n <= r.limit {
				refused[i].Err = whittle.Errorf(whittle.Unavailable, "append: an earlier record of its key was refused")
			}
			if key := records[i].Key; key != "" {
				behind[key] = true
			}
		} else if refused != nil {
			taken = append(taken, records[i])
		}
	}
	if log, ok := r.log.(stream.Copying); ok && refused == nil {
		return log.AppendCopy(ctx, records, copied)
	}
	results := r.log.Append(ctx, taken)
	if refused == nil {
		return results
	}
	next := 0
	for i := range refused {
		if refused[i].Err == nil {
			refused[i] = results[next]
			next++
		}
	}
	return refused
}

// Partitions are the log's.
func (r *Relay) Partitions(ctx context.Context) ([]stream.Partition, error) {
	return r.log.Partitions(ctx)
}

// Read reads the log.
func (r *Relay) Read(ctx context.Context, from stream.Position) (stream.Reader, error) {
	return r.log.Read(ctx, from)
}

// Trim waits until the sink has all that lies before a position and that is on
// disk, and then trims the log.
func (r *Relay) Trim(ctx context.Context, before stream.Position) error {
	if before.Offset == "" || before.Partition != r.partition {
		return r.log.Trim(ctx, before)
	}
	n, err := number(before)
	if err != nil {
		return err
	}
	n = min(n, r.end.Load())
	r.drain.saveNow.Notify()
	err = r.drain.until(ctx, func() bool {
		if r.drain.win.low() >= n {
			r.drain.saveNow.Notify()
		}
		return r.drain.checkpoint.Next >= n
	})
	if err != nil {
		return whittle.Errorf(whittle.DeadlineExceeded, "trim: the sink does not have all before %d yet: %w", n, err)
	}
	return r.log.Trim(ctx, before)
}

// Capacity is the log's free space, and the rate at which draining frees it.
func (r *Relay) Capacity() stream.Capacity {
	capacity := r.log.Capacity()
	_, capacity.Rate = r.drain.rate.Rate(time.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed && capacity.Err == nil {
		capacity.Err = whittle.Errorf(whittle.Unavailable, "the relay is closed")
	}
	return capacity
}

// closing is how long the streams may take to close once ctx has ended.
const closing = 2 * time.Second

// Close refuses new appends, drains the log until ctx ends, saves the
// checkpoint, and closes sink, dead letters and log, which takes at most two
// seconds more.
func (r *Relay) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	if r.active == 0 {
		close(r.drained)
	}
	r.mu.Unlock()
	select {
	case <-r.drained:
	case <-ctx.Done():
	}

	end := r.end.Load()
	late := r.drain.until(ctx, func() bool { return r.drain.win.low() >= end })
	r.stop()
	r.tasks.Wait()
	var saved error
	if r.drain.isReady() {
		saved = r.drain.save(true)
	}
	r.store.close()
	if late != nil {
		r.drain.trouble.log.Warn("relay closed before the drain was complete; the rest stays in the log", "records", r.Status().Lag)
	}
	if ctx.Err() != nil {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		ctx = grace
	}
	return errors.Join(saved, r.drain.sink.Close(ctx), r.o.Dead.Close(ctx), r.log.Close(ctx))
}
