// Package deadlog keeps dead letters in an embedded log of a bounded size, which
// their sources share fairly.
package deadlog

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// Log is the log. When it is full, the letters at its beginning go; those that are to be
// kept are appended again before, under the name that they have. Half of the
// bound is what the sources share, so that there is always something that can
// go; the other half is younger letters of whoever sends most.
type Log struct {
	*embedded.Log
	o     Options
	dir   string
	full  notify.Signal
	end   context.CancelFunc
	ended chan struct{} // closed when nothing runs any more

	mu     sync.Mutex // guards the following
	shares *shares
}

// Options are a log's.
type Options struct {
	// Log is how the embedded log is opened. Its own retention stays switched off.
	Log embedded.Options
	// Most bounds the log, in bytes. 0: it grows.
	Most int64
	// Dropped is called for each letter that went because the log was full. Nil:
	// nobody is told.
	Dropped func(source string)
}

// Open opens the log in a folder, and reads which letters are there.
func Open(dir string, o Options) (*Log, error) {
	if o.Log.Log == nil {
		o.Log.Log = slog.New(slog.DiscardHandler)
	}
	log, err := embedded.Open(dir, o.Log)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	l := &Log{Log: log, o: o, dir: dir, full: notify.New(), end: end, ended: make(chan struct{}), shares: newShares(o.Most / 2)}
	if o.Most == 0 {
		close(l.ended)
		return l, nil
	}
	if err := l.count(ctx); err != nil {
		end()
		_ = log.Close(context.Background()) // the first error says more
		return nil, err
	}
	go func() {
		defer close(l.ended)
		l.shrink(ctx)
	}()
	return l, nil
}

// count adds what the log holds. A letter that was appended again and is still
// at its old place counts once.
func (l *Log) count(ctx context.Context) error {
	done := l.done()
	parts, err := l.Partitions(ctx)
	if err != nil {
		return err
	}
	return stream.Walk(ctx, l.Log, parts[0], func(batch []stream.Entry) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i := range batch {
			if number, err := deadletter.Number(&batch[i]); err == nil && !done.Has(number) {
				l.shares.add(deadletter.SourceOf(&batch[i].Record), number, size(&batch[i].Record))
			}
		}
		return nil
	}, func(*stream.CorruptError) error { return nil }) // a reader is told
}

// done are the letters that were sent again. Where that cannot be read, none is, and
// they are kept as if they were needed.
func (l *Log) done() *deadletter.Done {
	done, err := deadletter.ReadDone(l.dir)
	if err != nil {
		l.o.Log.Log.Warn("which dead letters were sent again cannot be read; all are kept", "err", err)
		return &deadletter.Done{}
	}
	return done
}

// Append implements stream.Stream.
func (l *Log) Append(ctx context.Context, records []stream.Record) []stream.Result {
	if l.o.Most == 0 {
		return l.Log.Append(ctx, records)
	}
	if l.Stats().Bytes > 2*l.o.Most+stopSegments*l.o.Log.SegmentBytes {
		l.full.Notify()
		return slices.Repeat([]stream.Result{{Err: errFull}}, len(records))
	}
	results := l.Log.Append(ctx, records)
	l.mu.Lock()
	for i, r := range results {
		if r.Err != nil {
			continue
		}
		if number, err := strconv.ParseUint(r.Position.Offset, 10, 64); err == nil {
			l.shares.add(deadletter.SourceOf(&records[i]), number, size(&records[i]))
		}
	}
	l.mu.Unlock()
	if l.isFull() {
		l.full.Notify()
	}
	return results
}

// Close implements stream.Stream.
func (l *Log) Close(ctx context.Context) error {
	l.end()
	<-l.ended
	return l.Log.Close(ctx)
}

// Where no letter can be dropped, none is taken once the log is so much longer than
// twice its bound.
const stopSegments = 4

var errFull = whittle.Errorf(whittle.ResourceExhausted, "keep dead letter: the log is full, and its oldest letters could not be dropped")

func (l *Log) isFull() bool {
	s := l.Stats()
	return s.Bytes > l.o.Most && s.Segments > 1
}

// shrink makes room whenever the log is full, until ctx ends.
func (l *Log) shrink(ctx context.Context) {
	for {
		if l.isFull() {
			if err := l.makeRoom(ctx); err != nil && ctx.Err() == nil {
				l.o.Log.Log.Warn("the log of dead letters is full, and nothing could be dropped", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-l.full:
		}
	}
}

// makeRoom goes along what the log holds now, until it is full no more. What is to
// be kept is on the disk again before its old place goes.
func (l *Log) makeRoom(ctx context.Context) error {
	done := l.done()
	parts, err := l.Partitions(ctx)
	if err != nil {
		return err
	}
	err = stream.Walk(ctx, l.Log, parts[0], func(batch []stream.Entry) error {
		if err := l.moveOn(ctx, batch, done); err != nil {
			return err
		}
		if !l.isFull() {
			return errRoom
		}
		return nil
	}, func(*stream.CorruptError) error { return nil })
	if errors.Is(err, errRoom) {
		return nil
	}
	return err
}

var errRoom = errors.New("there is room")

// moveOn appends those of the letters that are to be kept again, and drops all of
// them where they are.
func (l *Log) moveOn(ctx context.Context, batch []stream.Entry, done *deadletter.Done) error {
	var again []stream.Record
	var dropped []string
	l.mu.Lock()
	for i := range batch {
		r := &batch[i].Record
		number, err := deadletter.Number(&batch[i])
		if err != nil {
			continue
		}
		switch source := deadletter.SourceOf(r); {
		case done.Has(number):
			l.shares.remove(source, number)
		case l.shares.has(source, number):
			again = append(again, deadletter.Named(r, number))
		default:
			dropped = append(dropped, source)
		}
	}
	l.mu.Unlock()
	for _, r := range l.Log.Append(ctx, again) {
		if r.Err != nil {
			return r.Err
		}
	}
	if err := l.Trim(ctx, stream.Position{Partition: embedded.Partition, Offset: stream.NextOffset(batch[len(batch)-1].Position.Offset)}); err != nil {
		return err
	}
	if l.o.Dropped != nil {
		for _, source := range dropped {
			l.o.Dropped(source)
		}
	}
	return nil
}

// size is what a letter takes of the log, about.
func size(r *stream.Record) int64 { return int64(stream.EncodedLen(r)) }
