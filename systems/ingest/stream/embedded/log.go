// Package embedded is a durable stream in a folder: append-only segments, every
// byte under a checksum, with group commit.
package embedded

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// Partition is the name of the one partition that a log has.
const Partition = "0"

// Log is the stream.Stream. Its offsets are 0, 1, 2 and so on, without gaps.
type Log struct {
	o      Options
	disk   disk
	lock   io.Closer // nil: read-only
	intake intake
	space  space

	closing    chan struct{} // closed when Close is called
	closeOnce  sync.Once
	closed     chan struct{} // closed when nothing runs any more
	running    sync.WaitGroup
	freed      notify.Signal // files were removed
	opened     time.Time     // by the machine's clock
	began      time.Time     // the log's time at which it was opened
	counts     counter
	torn       int64      // bytes that the last life left behind
	following  sync.Mutex // held by the one that follows the writer, read-only
	discarding sync.Mutex // held by the one that removes files

	mu       sync.Mutex    // guards the following
	segments []*segment    // oldest first; the last one with records may grow
	removing []*segment    // taken off the list, and their files not removed yet
	next     uint64        // the offset behind the last durable record
	first    uint64        // Trim removed what is before it
	hold     uint64        // the retention keeps what is not before it
	changed  chan struct{} // closed when next grows; nil: nobody waits
}

var _ stream.Copying = (*Log)(nil)

// Open opens the log in a folder, and creates it when there is none. It repairs
// what a crash left behind: a batch that is not whole is cut off, because it
// was never acknowledged. A log on a full disk opens, so that it can be read
// and trimmed.
func Open(dir string, o Options) (*Log, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.disk == nil {
		d, err := openFolder(dir, o.ReadOnly)
		if err != nil {
			return nil, err
		}
		if o.disk = d; o.Held {
			o.disk = drained{d}
		}
	}
	l := &Log{
		o: o, disk: o.disk, opened: o.now(),
		closing: make(chan struct{}), closed: make(chan struct{}), freed: notify.New(),
		intake: intake{limit: o.MaxBatch, open: newBatch(), wake: notify.New()},
	}
	if o.ReadOnly {
		if err := l.follow(); err != nil {
			return nil, err
		}
		if len(l.segments) == 0 && !wasOpened(l.disk) {
			return nil, whittle.Errorf(whittle.NotFound, "open log: there is none in %s: %w", dir, fs.ErrNotExist)
		}
		l.intake.refuse(whittle.Errorf(whittle.FailedPrecondition, "the log is open for reading only"))
		return l, nil
	}
	if l.lock, err = o.disk.Lock(); err != nil {
		return nil, err
	}
	number, err := l.recover()
	if err != nil {
		l.lock.Close()
		return nil, err
	}
	if !o.Held {
		l.hold = holdNothing
	}
	l.Capacity() // so that the first response is not awaited by its second asker
	l.running.Go(func() { l.commitAll(number) })
	l.running.Go(l.retain)
	return l, nil
}

// wasOpened reports whether somebody has opened the log of a folder to write it.
func wasOpened(d disk) bool {
	names, err := d.List()
	return err == nil && slices.Contains(names, lockName)
}

// holdNothing lets the retention drop any segment.
const holdNothing = ^uint64(0)

// recover puts in order what the last process left, and gives the number of the
// next segment. No segment is written to again: a new one begins.
func (l *Log) recover() (next uint64, err error) {
	s, err := surveyOf(l.disk)
	if err != nil {
		return 0, err
	}
	if err := s.settle(l.disk); err != nil {
		return 0, err
	}
	numbers, err := segmentNumbers(l.disk)
	if err != nil {
		return 0, err
	}
	if n := len(numbers); n > 0 {
		next = numbers[n-1] + 1
	}
	l.segments, l.next, l.torn, l.began = s.segments, s.next(), s.torn, l.opened.Round(0)
	if len(s.segments) > 0 {
		l.first = s.segments[0].base
		l.began = time.Unix(0, s.stamp)
	}
	if s.torn > 0 {
		l.o.Log.Warn("log was not closed; cut off what was never acknowledged", "next", l.next, "torn_bytes", s.torn)
	}
	return next, nil
}

// Durability is local-fsync.
func (l *Log) Durability() stream.Durability { return stream.LocalFsync }

// Limit is Options.MaxRecord.
func (l *Log) Limit() int { return l.o.MaxRecord }

func position(offset uint64) stream.Position {
	return stream.Position{Partition: Partition, Offset: strconv.FormatUint(offset, 10)}
}

// Bounds are the offset of the oldest record that is kept and the one that the next
// record will get.
func (l *Log) Bounds() (first, next uint64, err error) {
	if l.o.ReadOnly {
		if err := l.follow(); err != nil {
			return 0, 0, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first, l.next, nil
}

var errClosed = whittle.Errorf(whittle.Unavailable, "the log is closed")

// Close implements stream.Stream. Where ctx ends before the disk has taken what
// is under way, the log closes later, by itself.
func (l *Log) Close(ctx context.Context) error {
	l.closeOnce.Do(func() {
		l.intake.close(errClosed)
		close(l.closing)
		go func() {
			l.running.Wait()
			if l.lock != nil {
				l.lock.Close()
			}
			close(l.closed)
		}()
	})
	select {
	case <-l.closed:
		return nil
	case <-ctx.Done():
		return stream.Ended(ctx, "close log")
	}
}

// isClosing reports whether Close was called.
func (l *Log) isClosing() bool {
	select {
	case <-l.closing:
		return true
	default:
		return false
	}
}

// lockedNotify notifies those who wait for a change. The caller holds l.mu.
func (l *Log) lockedNotify() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// followEvery is how often a log that is only read looks for what its writer
// has added.
const followEvery = 20 * time.Millisecond

// wait returns when the log may have changed since next was the end, when it
// closes or when ctx ends.
func (l *Log) wait(ctx context.Context, next uint64) error {
	l.mu.Lock()
	if l.next > next {
		l.mu.Unlock()
		return nil
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	changed := l.changed
	l.mu.Unlock()
	var look <-chan time.Time
	if l.o.ReadOnly {
		t := time.NewTimer(followEvery)
		defer t.Stop()
		look = t.C
	}
	select {
	case <-look:
		return l.follow()
	case <-changed:
		return nil
	case <-l.closing:
		return errClosed
	case <-ctx.Done():
		return stream.Ended(ctx, "wait for a record")
	}
}
