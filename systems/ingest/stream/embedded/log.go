// Package embedded is a durable stream in a folder: append-only segments, every
// byte under a checksum, with group commit.
package embedded

import (
	"context"
	"io"
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
	used   bool      // somebody had opened the log before
	id     uint64    // of the log, on the labels of its segments
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
	ends       end // what the last life left behind
	marks      marker
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

// end is what Open found behind the last batch of a log that was not closed, and
// how many records its mark says to have been there.
type end struct {
	torn, unexplained int64
	missing           uint64
}

var _ stream.Stream = (*Log)(nil)

// Open opens the log in a folder, and creates it when there is none. It repairs
// what a crash left behind: a batch that is not whole is cut off, because it
// was never acknowledged. A log on a full disk opens, so that it can be read
// and trimmed. When the end mark says that the log went further than what is
// there, Open succeeds, new records get offsets behind the mark, and Stats
// reports the missing records; readers see them as corrupt.
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
	}
	l.intake.init(o.MaxBatch)
	if o.ReadOnly {
		if err := l.follow(); err != nil {
			return nil, isNotThere(err)
		}
		l.intake.refuse(whittle.Errorf(whittle.FailedPrecondition, "the log is open for reading only"))
		l.hold = l.first
		return l, nil
	}
	l.used = wasOpened(o.disk)
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
	if l.markEnd(false); isForbidden(l.marks.err) {
		l.lock.Close()
		return nil, codedf(l.marks.err, "open log: write the end mark")
	}
	l.Capacity() // so that the first response is not awaited by its second asker
	l.running.Go(func() { l.commitAll(number) })
	l.running.Go(l.retain)
	l.running.Go(l.markOften)
	if o.ScrubRate > 0 {
		l.running.Go(l.scrub)
	}
	return l, nil
}

// holdNothing lets the retention drop any segment.
const holdNothing = ^uint64(0)

// recover puts in order what the last process left, and gives the number of the
// next segment. No segment is written to again: a new one begins.
func (l *Log) recover() (next uint64, err error) {
	m, marked, damagedCount, err := readMark(l.disk)
	if err != nil {
		return 0, err
	}
	s, err := surveyOf(l.disk, m.next)
	if err != nil {
		return 0, err
	}
	beyond, err := s.beyond(l.disk)
	if err != nil {
		return 0, err
	}
	if err := s.settle(l.disk); err != nil {
		return 0, err
	}
	l.segments, l.next = s.segments, s.next()
	if len(s.segments) > 0 {
		l.first = s.segments[0].base
		next = s.segments[len(s.segments)-1].number + 1
	}
	for _, n := range slices.Concat(s.empty, s.unexplained, s.misplaced) {
		next = max(next, n+1)
	}
	l.ends = end{torn: s.tail.torn, unexplained: s.tail.unexplained}
	if l.ends != (end{}) {
		l.o.Log.Warn("log was not closed; cut off what was never acknowledged", "next", l.next,
			"torn_bytes", s.tail.torn, "unexplained_bytes", s.tail.unexplained)
	}
	if _, l.id = s.foreign(); l.id == 0 {
		l.id = randomID()
	}
	l.tell(s, m, marked, damagedCount)
	l.marks.turn, l.began = m.turn, l.beganAt(m)
	l.skipTo(max(m.next, beyond))
	return next, nil
}

// Durability is local-fsync.
func (l *Log) Durability() stream.Durability { return stream.LocalFsync }

// Limit is Options.MaxRecord.
func (l *Log) Limit() int { return l.o.MaxRecord }

func position(offset uint64) stream.Position {
	return stream.Position{Partition: Partition, Offset: strconv.FormatUint(offset, 10)}
}

// offsetOf reads a position of this log.
func offsetOf(p stream.Position) (uint64, error) {
	if p.Partition != Partition {
		return 0, whittle.Errorf(whittle.NotFound, "the log has no partition %q", p.Partition).WithHint("it has one: " + Partition)
	}
	if p.Offset == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(p.Offset, 10, 64)
	if err != nil {
		return 0, whittle.Errorf(whittle.Invalid, "%q is no offset", p.Offset)
	}
	return n, nil
}

// Partitions returns the one partition.
func (l *Log) Partitions(ctx context.Context) ([]stream.Partition, error) {
	if ctx.Err() != nil {
		return nil, stream.Ended(ctx, "list partitions")
	}
	if l.o.ReadOnly {
		if err := l.follow(); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return []stream.Partition{{Name: Partition, First: position(l.first), Next: position(l.next)}}, nil
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
