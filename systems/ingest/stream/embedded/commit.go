package embedded

import (
	"time"

	"whittle"
)

// writer writes batches. It belongs to the committer's goroutine.
type writer struct {
	l      *Log
	number uint64 // of the next segment
	seg    *segment
	file   file // of seg; nil: there is no segment to write to
	at     int64
	forgot int64      // before which the page cache was dropped
	spare  chan spare // nil: none is being made
	pace   commitPacer
}

// spare is a segment made before it is needed, or the failure to make one.
type spare struct {
	seg  *segment
	file file
	err  error
}

// commitAll writes batch after batch until the intake is closed and empty.
func (l *Log) commitAll(number uint64) {
	w := &writer{l: l, number: number}
	defer w.closeFolder()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for idle := newBatch(); ; {
		b := l.intake.take(idle, &w.pace, timer)
		if b == nil {
			return
		}
		response, err := w.commit(b)
		b.result.err = response
		b.result.settle()
		switch {
		case err == nil:
			w.forget()
		case !w.heal(err):
			return
		}
		b.reset()
		idle = b
	}
}

// commit writes a batch and syncs it. response is for those who wait for it; err
// says that nothing can be written any more.
func (w *writer) commit(b *batch) (response, err error) {
	l := w.l
	if w.file == nil || w.at+b.size() >= w.seg.size { // a segment in use is longer than its last batch
		if err := w.rotate(); err != nil {
			return notKept(err, "begin a segment"), err
		}
	}
	bytes, f := b.finish(w.seg.id, w.seg.next, l.time().UnixNano())
	if n, err := w.file.WriteAt(bytes, w.at); err != nil || n < len(bytes) {
		// The disk may have all of it and say otherwise, unless it is full.
		failure := notKept(err, "write batch")
		if failure.Code != whittle.ResourceExhausted {
			return whittle.Errorf(whittle.Internal, "write batch: %w", err), failure
		}
		return failure, failure
	}
	written := time.Now()
	if err := w.file.Sync(); err != nil {
		// The system may have dropped what it could not write and call it
		// clean: a later sync that succeeds says nothing of this batch.
		return whittle.Errorf(whittle.Internal, "sync batch: %w", err), notKept(err, "sync batch")
	}
	took := time.Since(written)
	w.at += int64(len(bytes))
	b.result.base = f.base
	w.makeReadable(&f)
	w.pace.observe(written, took, b.appends, int64(len(bytes)))
	l.counts.committed(b, int64(len(bytes)), took)
	if w.spare == nil && w.at > w.seg.size/2 {
		w.prepare()
	}
	return nil, nil
}

// How much of what was written last stays in the system's memory, for readers
// that follow the writer, and how much is forgotten at once.
const (
	keepCached   = 8 << 20
	forgetAtOnce = 1 << 20
)

// forget asks the system to drop older parts of the segment from its page
// cache. Otherwise a write waits for the system to find memory, and the log
// would push everything else out of the cache. Nobody waits for this call: the
// batch was acknowledged.
func (w *writer) forget() {
	if to := w.at - keepCached; to >= w.forgot+forgetAtOnce {
		w.file.Forget(w.forgot, to)
		w.forgot = to
	}
}

// notKept is the error of an append that surely is not kept.
func notKept(err error, doing string) *whittle.Error {
	code := whittle.Unavailable
	if isFull(err) || whittle.CodeOf(err) == whittle.ResourceExhausted {
		code = whittle.ResourceExhausted
	}
	return whittle.Errorf(code, "%s: %w", doing, err)
}

// makeReadable makes a batch visible to readers.
func (w *writer) makeReadable(f *frame) {
	l := w.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.seg.began == 0 {
		w.seg.base, w.seg.began = f.base, f.time
		l.segments = append(l.segments, w.seg)
	}
	w.seg.next, w.seg.end = f.next(), w.at
	l.next = f.next()
	l.lockedNotify()
	l.space.active(w.seg.size - w.at)
}

// prepare creates the next segment in the background.
func (w *writer) prepare() {
	made := make(chan spare, 1)
	w.spare = made
	number := w.number
	w.number++
	w.l.running.Go(func() {
		var s spare
		var size int64
		if size, s.err = w.l.segmentSize(); s.err == nil {
			s.seg, s.file, s.err = newSegment(w.l.disk, number, size)
		}
		if s.err == nil {
			w.l.space.prepared(s.seg.size)
		}
		made <- s
	})
}

// segmentSize is how long the next segment is: a log doubles until its segments
// have their full length, so that a short one takes little of a small disk, and the
// last one takes what the disk has left.
func (l *Log) segmentSize() (int64, error) {
	free, err := l.disk.Free()
	if err != nil {
		return 0, codedf(err, "ask for free space")
	}
	if free -= l.o.Reserve; free < l.o.shortest {
		return 0, whittle.Errorf(whittle.ResourceExhausted, "the disk has %d bytes left; a segment takes %d, and %d stay free", free+l.o.Reserve, l.o.shortest, l.o.Reserve).
			WithHint(hintFull)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all int64
	for _, seg := range l.segments {
		all += seg.size
	}
	size := min(l.o.SegmentBytes, max(l.o.shortest, all), free)
	return size - size%sector, nil
}

// rotate continues in a new segment.
func (w *writer) rotate() error {
	s := spare{err: errNoCapacity}
	if w.spare != nil {
		s = <-w.spare
		w.spare = nil
	}
	if s.err != nil { // of then; what matters is now
		w.prepare()
		s = <-w.spare
		w.spare = nil
	}
	if s.err != nil {
		return s.err
	}
	w.closeSegment(false)
	w.seg, w.file, w.at, w.forgot = s.seg, s.file, s.seg.end, 0
	l := w.l
	l.mu.Lock()
	w.seg.base, w.seg.next = l.next, l.next
	l.mu.Unlock()
	l.space.active(w.seg.size - w.at)
	l.space.prepared(0) // afterwards: there is always room in one of the two
	return nil
}

// closeSegment closes the segment in use. cut truncates it after its last
// batch. Where that fails, recovery skips the rest, because those offsets
// belong to the next segment then.
func (w *writer) closeSegment(cut bool) {
	if w.file == nil {
		return
	}
	seg, f := w.seg, w.file
	w.seg, w.file = nil, nil
	w.l.space.active(0)
	if !cut && seg.began != 0 {
		from, to := w.forgot, seg.end
		w.l.running.Go(func() { // it takes its time, and nobody waits for it
			f.Forget(from, to) // all of it was synced
			f.Close()
		})
		return
	}
	defer f.Close()
	if seg.began == 0 {
		w.l.remove(seg.number)
		return
	}
	if err := f.Truncate(seg.end); err != nil {
		w.l.o.Log.Warn("truncating a segment failed", "segment", segmentName(seg.number), "err", err)
		return
	}
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	seg.size = seg.end
}

// dropSpare removes the spare segment.
func (w *writer) dropSpare() {
	if w.spare == nil {
		return
	}
	if s := <-w.spare; s.err == nil {
		s.file.Close()
		w.l.remove(s.seg.number)
		w.l.space.prepared(0)
	}
	w.spare = nil
}

// remove takes an empty segment away. Where that fails the next Open does.
func (l *Log) remove(number uint64) {
	if err := l.disk.Remove(segmentName(number)); err != nil {
		l.o.Log.Warn("removing an empty segment failed", "segment", segmentName(number), "err", err)
	}
}

// Waits between attempts to write again.
const (
	healFirst = 50 * time.Millisecond
	healLast  = 2 * time.Second
)

// heal refuses appends until a new segment could be created, whose sync shows
// that the disk can be written. The segment whose write failed is not written
// to again. It returns false when the log closes first.
func (w *writer) heal(cause error) bool {
	l := w.l
	refusal := notKept(cause, "the log takes nothing")
	l.intake.refuse(refusal)
	l.counts.failed(refusal)
	l.o.Log.Error("log stopped; it accepts nothing until the disk can be written", "err", cause)
	w.closeSegment(true)
	w.dropSpare() // it was made before the disk failed, and shows nothing
	for wait := healFirst; ; wait = min(2*wait, healLast) {
		pause := time.NewTimer(wait)
		select {
		case <-l.closing:
			pause.Stop()
			return false
		case <-l.freed:
			pause.Stop()
		case <-pause.C:
		}
		if err := w.rotate(); err == nil {
			break
		}
	}
	l.intake.accept()
	l.counts.failed(nil)
	l.o.Log.Info("log accepts appends again")
	return true
}

// closeFolder leaves the folder in the state of a closed log.
func (w *writer) closeFolder() {
	w.closeSegment(true)
	w.dropSpare()
}
