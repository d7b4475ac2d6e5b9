package embedded

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// The end mark is a file next to the segments that says how far the log went, so
// that a log whose last batches or segments are gone differs from one that ends
// there. It has two sectors, written in turn, so that a write that is cut short
// leaves the mark before it:
//
//	magic    8
//	turn     8   the greater one counts
//	first    8   offset of the first record; no segment is dropped before that is on the disk
//	next     8   every record before this offset was on the disk
//	closed   8   bit 0: there was none behind it, and the log was closed; else there may
//	             be. Above it: the log's time, Unix nanoseconds; 0: not known
//	sum      4   CRC-32C of the 40 bytes before it
//
// It is written when the log opens, with each new segment, once a second while
// the log grows, otherwise every ten minutes, before segments are dropped, and when
// it closes.
const (
	markName  = "END"
	markLen   = 44
	markMagic = "WHTLEND1"
)

// mark is what one of the sectors says.
type mark struct {
	turn        uint64
	first, next uint64
	closed      bool
	time        int64
}

func (m *mark) put(b []byte) {
	copy(b, markMagic)
	le.PutUint64(b[8:], m.turn)
	le.PutUint64(b[16:], m.first)
	le.PutUint64(b[24:], m.next)
	closed := uint64(max(0, m.time)) << 1
	if m.closed {
		closed |= 1
	}
	le.PutUint64(b[32:], closed)
	le.PutUint32(b[40:], stream.Checksum(b[:40]))
}

func parseMark(b []byte) (m mark, ok bool) {
	if len(b) < sector || string(b[:8]) != markMagic || le.Uint32(b[40:]) != stream.Checksum(b[:40]) || !allZero(b[markLen:sector]) {
		return m, false
	}
	closed := le.Uint64(b[32:])
	return mark{turn: le.Uint64(b[8:]), first: le.Uint64(b[16:]), next: le.Uint64(b[24:]), closed: closed&1 == 1, time: int64(closed >> 1)}, true
}

// readMark returns the mark that counts. ok is false when there is none, as in a
// log of before there were marks. damagedCount is how many sectors hold something
// else, or nothing though they were written once: a turn after the first is only taken
// when the sector of the one before was on the disk.
func readMark(d disk) (m mark, ok bool, damagedCount uint64, err error) {
	f, err := d.Open(markName, false)
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, 0, nil
	}
	if err != nil {
		return m, false, 0, codedf(err, "read end mark")
	}
	defer f.Close()
	blank := false // a sector is cut off, or zeros
	for at := int64(0); at < 2*sector; at += sector {
		b := make([]byte, sector)
		if _, err := f.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			damagedCount++ // the other one may say it
			continue
		}
		found, whole := parseMark(b)
		switch {
		case whole && (!ok || found.turn > m.turn):
			m, ok = found, true
		case !whole && !allZero(b):
			damagedCount++
		case !whole:
			blank = true
		}
	}
	if ok && m.turn > 1 && blank { // the greater turn may be gone
		damagedCount++
	}
	return m, ok, damagedCount, nil
}

// writeMark returns when the mark is on the disk.
func writeMark(d disk, m mark) error {
	f, err := d.Open(markName, true)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = d.Create(markName, 2*sector); err == nil {
			err = d.Sync()
		}
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return err
	}
	defer f.Close()
	b := make([]byte, sector)
	m.put(b)
	if _, err := f.WriteAt(b, int64(m.turn%2)*sector); err != nil {
		return err
	}
	return f.Sync()
}

// marker writes the log's mark.
type marker struct {
	mu     sync.Mutex // guards the following, and one write at a time
	turn   uint64
	next   uint64 // what the last one says
	time   int64
	err    error // of the last write
	closed bool  // the log is closed, and its last mark written
}

// markEvery is how far behind the log its mark may be.
const markEvery = time.Second

// idleMarkEvery is how much of the log's time a kill costs where nothing comes in.
const idleMarkEvery = 10 * time.Minute

// markOften keeps the mark near the end of the log until the log closes. Nobody
// waits for it.
func (l *Log) markOften() {
	for l.pause(markEvery) {
		l.mu.Lock()
		next := l.next
		l.mu.Unlock()
		l.marks.mu.Lock()
		behind := next > l.marks.next || l.time().UnixNano()-l.marks.time >= int64(idleMarkEvery)
		l.marks.mu.Unlock()
		if behind {
			l.markEnd(false)
		}
	}
}

// markEnd writes down how far the log has come. What it says is on the disk
// already. Where it cannot be written, the one before it goes on to be true. It
// returns false when the last mark of the log was written before.
func (l *Log) markEnd(closed bool) bool {
	l.marks.mu.Lock()
	defer l.marks.mu.Unlock()
	if l.marks.closed {
		return false
	}
	l.marks.closed = closed
	l.mu.Lock()
	m := mark{turn: l.marks.turn + 1, first: l.next, next: l.next, closed: closed, time: l.time().UnixNano()}
	if len(l.segments) > 0 {
		m.first = l.segments[0].base
	}
	l.mu.Unlock()
	err := writeMark(l.disk, m)
	if failed := err != nil; failed != (l.marks.err != nil) {
		if failed {
			l.o.Log.Warn("writing the end mark fails; until it goes on, a later loss of the log's end may go undetected", "err", err)
		} else {
			l.o.Log.Info("writing the end mark goes on", "next", m.next)
		}
	}
	if l.marks.err = err; err != nil {
		return true
	}
	l.marks.turn, l.marks.next, l.marks.time = m.turn, m.next, m.time
	return true
}

// wasOpened reports whether somebody has opened the log of a folder to write it.
func wasOpened(d disk) bool {
	names, err := d.List()
	return err == nil && slices.Contains(names, lockName)
}

// tell says what a log that is opened has lost.
func (l *Log) tell(s *survey, m mark, marked bool, damagedCount uint64) {
	if damagedCount > 0 {
		l.o.Log.Warn("end mark is damaged", "sectors", damagedCount)
	}
	e := s.end(m, m, marked)
	switch {
	case !marked && len(l.segments) > 0:
		l.o.Log.Warn("log has no end mark: whether records are missing at its end is not known", "next", l.next)
	case !marked && l.used:
		l.o.Log.Error("the folder was a log's, and holds neither a segment nor an end mark: all of the log is gone, and its offsets begin at 0 again")
	case e.Stale:
		l.o.Log.Warn("end mark is older than the log: whether records are missing at its end is not known", "mark", m.next, "next", l.next)
	}
	if e.MissingFirst > 0 {
		l.o.Log.Error("records are missing at the beginning of the log", "missing", e.MissingFirst, "first", l.first)
	}
	for _, name := range e.Foreign {
		l.o.Log.Error("a segment is another log's", "file", name)
	}
	for _, name := range e.Misplaced {
		l.o.Log.Error("a segment is out of its place: its records are not read", "file", name)
	}
}

// skipTo gives out no offset before reached: records that were on the disk have them,
// and are missing behind what is there.
func (l *Log) skipTo(reached uint64) {
	if reached <= l.next {
		return
	}
	l.ends.missing = reached - l.next
	l.o.Log.Error("acknowledged records are missing at the end of the log; new records get offsets behind them",
		"missing", l.ends.missing, "from", l.next, "next", reached)
	if n := len(l.segments); n > 0 {
		l.segments[n-1].next = reached // its readers learn which are lost
	} else {
		l.first = reached
	}
	l.next = reached
}

// End is what is known of how far a log went.
type End struct {
	// Next is the offset behind the last record that is there.
	Next stream.Position
	// Marked says that there is an end mark. A log of before there were marks
	// has none, and then nothing is known of what may be missing.
	Marked bool
	// Closed says that the log was closed, and written by nobody since: the mark
	// says exactly how far it went. Else at least so far.
	Closed bool
	// Reached is the offset up to which the mark says that every record was on
	// the disk.
	Reached stream.Position
	// Missing is how many records up to Reached are not there at the end of the
	// log, and MissingFirst how many are not at its beginning that nobody dropped.
	Missing, MissingFirst uint64
	// Damaged is how many of the mark's two sectors are damaged.
	Damaged uint64
	// Stale says that the mark is of before the log's last segments or of before it
	// was last opened, as one out of a backup: it says nothing of the end.
	Stale bool
	// Misplaced are the files of segments that were renamed, copied or swapped, or are
	// of another log. They are not read.
	Misplaced []string
	// Foreign are the files of segments that stand where this log had others. They are
	// read all the same.
	Foreign []string

	nothing bool // there is neither a segment nor a mark
}

// EndOf compares the log in a folder with its end mark, and changes nothing.
func EndOf(dir string) (End, error) {
	d, err := openFolder(dir, true)
	if err != nil {
		return End{}, err
	}
	_, e, err := surveyWithEnd(d)
	if err == nil {
		err = e.missed(dir)
	}
	return e, isNotThere(err)
}

// isNotThere says of a file in the log's folder that is no file what it is, lest it
// be taken for a folder that is not there.
func isNotThere(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return whittle.Errorf(whittle.Unavailable, "%v", err).WithHint("its name is there: is it a link that leads nowhere?")
}

// missed is an error where the folder has no log at all.
func (e *End) missed(dir string) error {
	if !e.nothing {
		return nil
	}
	return whittle.Errorf(whittle.FallsShort, "there is no log in %s: neither a segment nor an end mark", dir).
		WithHint("name the folder of the log; if this is it, all of the log is gone")
}

// surveyWithEnd reads the mark first: a log that is in use only goes on from there.
func surveyWithEnd(d disk) (*survey, End, error) {
	for tries := 3; ; tries-- {
		m, ok, damagedCount, err := readMark(d)
		if err != nil {
			return nil, End{}, err
		}
		s, err := surveyOf(d, m.next)
		if err != nil && tries > 0 && errors.Is(err, fs.ErrNotExist) {
			continue // a log in use may drop a segment under the survey
		}
		if err != nil {
			return nil, End{}, err
		}
		again, _, damagedAgain, err := readMark(d)
		if err == nil && again != m && tries > 0 {
			continue // it was opened, closed or trimmed meanwhile
		}
		if err == nil {
			damagedCount = min(damagedCount, damagedAgain) // it may have been read while it was written
		} else {
			again = m
		}
		if s.tail.unexplained > 0 && tries > 0 {
			time.Sleep(settleWait) // it may have been read while it was written
			continue
		}
		e := s.end(m, again, ok)
		e.Damaged = damagedCount
		e.nothing = !ok && damagedCount == 0 && len(s.segments)+len(s.empty)+len(s.unexplained) == 0
		return s, e, nil
	}
}

// settleWait is how long a batch may take to be written that was met half way.
const settleWait = 20 * time.Millisecond

// end compares what is there with what the mark says, as it was before the survey and
// after it.
func (s *survey) end(m, after mark, ok bool) End {
	next := s.next()
	if len(s.segments) == 0 && ok && m.closed && m.first == m.next {
		next = m.next // it was closed empty
	}
	e := End{Next: position(next), Marked: ok, Reached: position(m.next), Closed: ok && m.closed && m.next >= next}
	for _, number := range s.misplaced {
		e.Misplaced = append(e.Misplaced, segmentName(number))
	}
	foreign, _ := s.foreign()
	for _, number := range foreign {
		e.Foreign = append(e.Foreign, segmentName(number))
	}
	if !ok {
		return e
	}
	if m.next > next {
		e.Missing = m.next - max(next, m.first)
	}
	n := len(s.segments)
	if n > 0 && s.segments[0].base > after.first {
		e.MissingFirst = s.segments[0].base - after.first
	}
	// A log that is opened is marked before anything is added, and so is each segment
	// that is made, once there is a record in the one before it.
	e.Stale = after.closed && after.next < next || n > 1 && after.next <= s.segments[n-2].base
	return e
}

// beyond is the offset behind the last record of the misplaced segments.
func (s *survey) beyond(d disk) (next uint64, err error) {
	for _, number := range s.misplaced {
		var one survey
		if err := one.readLast(d, number); err != nil {
			return 0, err
		}
		next = max(next, one.next())
	}
	return next, nil
}
