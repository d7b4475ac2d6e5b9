package embedded

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"whittle"
)

// segment is one file of the log, in memory.
type segment struct {
	number uint64 // its place among all, and its name
	id     uint64 // random, on its label and in its frames
	log    uint64 // on its label; 0: not known
	base   uint64 // the first offset
	next   uint64 // the offset behind its last record
	end    int64  // where its last batch ends
	size   int64  // of the file
	began  int64  // when its first batch was committed, Unix nanoseconds

	misplaced bool // its label has another number
}

const segmentSuffix = ".segment"

func segmentName(number uint64) string { return fmt.Sprintf("%016x%s", number, segmentSuffix) }

// segmentNumbers picks the segments among names, in order.
func segmentNumbers(names []string) []uint64 {
	var numbers []uint64
	for _, name := range names {
		text, ok := strings.CutSuffix(name, segmentSuffix)
		if n, err := strconv.ParseUint(text, 16, 64); ok && err == nil && segmentName(n) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// tail is what was found behind the last whole batch of a log that was not
// closed.
type tail struct {
	torn        int64 // bytes of a batch that never came to the disk as a whole
	unexplained int64 // bytes that tearing does not explain
}

// survey reads what a log consists of and changes nothing.
type survey struct {
	segments    []*segment
	empty       []uint64 // segments behind the last one that hold no batch
	unexplained []uint64 // those of them that hold something else
	last        frame    // the last batch, at lastAt; its sync may not have returned
	lastAt      int64
	tail        tail
	doubt       bool     // the last segment with records has something strange behind them
	misplaced   []uint64 // segments that are not where their label or their offsets say
	reached     uint64   // every record before it was on the disk, by the end mark
}

// foreign are the segments of another log than most of them are of, and which one that
// is; 0: none says it.
func (s *survey) foreign() (numbers []uint64, log uint64) {
	count := map[uint64]int{}
	for _, seg := range s.segments {
		if count[seg.log]++; seg.log != 0 && (log == 0 || count[seg.log] >= count[log]) {
			log = seg.log
		}
	}
	for _, seg := range s.segments {
		if seg.log != 0 && seg.log != log {
			numbers = append(numbers, seg.number)
		}
	}
	return numbers, log
}

// probe is how much is read to look at a segment's beginning.
const probe = 16 << 10

// surveyOf looks at each segment's first batch, and at every frame of the last
// one. What was on the disk before reached is not taken for a write that was cut
// short.
func surveyOf(d disk, reached uint64) (*survey, error) {
	names, err := d.List()
	if err != nil {
		return nil, codedf(err, "list segments")
	}
	numbers := segmentNumbers(names)
	s := &survey{reached: reached}
	for len(numbers) > 0 && len(s.segments) == 0 {
		last := numbers[len(numbers)-1]
		numbers = numbers[:len(numbers)-1]
		if err := s.readLast(d, last); err != nil {
			return nil, err
		}
		if len(s.segments) > 0 && s.segments[0].misplaced {
			s = &survey{reached: reached, empty: s.empty, unexplained: s.unexplained, misplaced: append(s.misplaced, last)}
		}
	}
	for _, number := range slices.Backward(numbers) {
		seg, err := readFirst(d, number)
		if err != nil {
			return nil, err
		}
		// One whose first offset is also the next one's was given up when the
		// disk failed, before anything in it was acknowledged.
		switch {
		case seg == nil:
		case seg.misplaced:
			s.misplaced = append(s.misplaced, number)
		case seg.base < s.segments[0].base:
			seg.next = s.segments[0].base
			s.segments = slices.Insert(s.segments, 0, seg)
		case seg.base > s.segments[0].base || seg.id == s.segments[0].id:
			s.misplaced = append(s.misplaced, number)
		}
	}
	s.keepTorn()
	return s, nil
}

// keepTorn has what is left of batches that were on the disk be kept aside: they
// look as if they had been cut short.
func (s *survey) keepTorn() {
	if s.tail.torn == 0 || s.next() >= s.reached {
		return
	}
	s.doubt = true
	s.unexplained, s.empty = append(s.unexplained, s.empty...), nil
}

func (s *survey) next() uint64 {
	if len(s.segments) == 0 {
		return 0
	}
	return s.segments[len(s.segments)-1].next
}

// openSegment opens a segment for reading. It returns nil when nothing in it says which
// segment it is.
func openSegment(d disk, number uint64) (*segment, file, error) {
	f, err := d.Open(segmentName(number), false)
	if err != nil {
		return nil, nil, codedf(err, "open segment")
	}
	size, err := f.Size()
	if err != nil {
		f.Close()
		return nil, nil, codedf(err, "open segment")
	}
	id, ok := identify(f, number, size)
	if !ok {
		return nil, f, nil
	}
	label := make([]byte, labelLen)
	_, _ = f.ReadAt(label, 0) // where it cannot be read, the frames count
	labelled, ok := labelNumber(label)
	log, _ := labelLog(label)
	return &segment{number: number, id: id, log: log, size: size, misplaced: ok && labelled != number}, f, nil
}

// readFirst reads the segment's label and its first batch's frame.
func readFirst(d disk, number uint64) (*segment, error) {
	seg, f, err := openSegment(d, number)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if seg == nil {
		return nil, nil //nolint:nilnil // no segment and nothing wrong: the file holds no batch
	}
	s := scan{window: window{file: f, chunk: probe, forgive: true}, segment: seg.id, at: sector}
	first, _, ok, err := s.find(seg.size)
	if err != nil || !ok {
		return nil, err
	}
	seg.base, seg.began, seg.end = first.base, first.time, seg.size
	return seg, nil
}

// readLast walks the frames of what may be the last segment.
func (s *survey) readLast(d disk, number uint64) error {
	seg, f, err := openSegment(d, number)
	if err != nil {
		return err
	}
	defer f.Close()
	if seg == nil {
		size, err := f.Size()
		if err != nil {
			return codedf(err, "open segment")
		}
		seg = &segment{number: number, size: size}
	}
	walk := scan{window: window{file: f, chunk: 64 << 10, forgive: true, note: true}, segment: seg.id, at: sector}
	seg.end = sector
	for {
		found, at, ok, err := walk.find(seg.size)
		if err != nil {
			return codedf(err, "read segment")
		}
		if !ok {
			break
		}
		if seg.began == 0 {
			seg.base, seg.began = found.base, found.time
		}
		s.last, s.lastAt = found, at
		walk.pass(&found, at)
		seg.end, seg.next = walk.at, found.next()
	}
	behind, cut, closed := seg.end, false, seg.end == seg.size
	if seg.next > seg.base {
		b, err := walk.slice(s.lastAt, int(s.last.size()), seg.size)
		if err != nil {
			return codedf(err, "read segment")
		}
		// A file that ends with its last batch was closed or recovered: that
		// batch was whole once, and came to the disk before the file ended there.
		if closed {
			s.last = frame{}
		} else if at, ok := walk.hides(s.lastAt, seg.end); ok {
			return unreadable(number, at)
		} else if c, _, _ := examine(&s.last, b); c == torn && s.last.base >= s.reached {
			cut = true
			s.tail.torn += s.last.size()
			seg.end, seg.next = s.lastAt, s.last.base
			s.last = frame{}
		}
	}
	stray, unexplained := rest(&walk.window, behind, seg.size)
	// A batch that was acknowledged came to the disk as a whole and begins where
	// the last one ends. So where nothing was written there, or that last one is
	// torn itself, what cannot be read behind it does not count.
	to := behind
	switch {
	case unexplained > 0:
		to = seg.size
	case !cut:
		to += sector
	}
	if at, ok := walk.hides(behind, to); ok {
		return unreadable(number, at)
	}
	s.tail.torn += stray
	s.tail.unexplained += unexplained
	switch {
	case seg.next > seg.base:
		s.segments, s.doubt = []*segment{seg}, unexplained > 0
	case unexplained > 0:
		s.unexplained = append(s.unexplained, number)
	default:
		s.empty = append(s.empty, number)
	}
	return nil
}

// unreadable is the error of a segment whose last records may lie where the disk
// gives nothing back. Its zeros are none: what was never written is known by
// zeros, and these records may have been acknowledged.
func unreadable(number uint64, at int64) error {
	return whittle.Errorf(whittle.Unavailable, "open log: the disk cannot read %s at byte %d, where the last records may be", segmentName(number), at).
		WithHint("nothing was changed: try again, for it may pass. If it does not, put a copy in the file's place that has zeros for what cannot be read (ddrescue makes one): the log opens then, without those records")
}

// rest looks at what lies behind the last frame. A batch whose head never came
// begins with zeros; anything else there is strange, because a batch that was
// written has two frames, and one would have been found.
func rest(w *window, from, end int64) (stray, unexplained int64) {
	var last int64
	begins := false
	for p := from; p+sector <= end; p += sector {
		b, err := w.slice(p, sector, end)
		if err != nil || allZero(b) {
			continue
		}
		begins = begins || p == from
		last = p + sector
	}
	switch {
	case last == 0:
		return 0, 0
	case begins:
		return 0, last - from
	}
	return last - from, 0
}

func randomID() uint64 {
	var random [8]byte
	rand.Read(random[:])
	return binary.LittleEndian.Uint64(random[:])
}

// newSegment makes the file of a segment that begins empty; all of it is on the
// disk on return.
func newSegment(d disk, number, log uint64, size int64) (*segment, file, error) {
	seg := &segment{number: number, id: randomID(), log: log, end: sector, size: size}
	f, err := d.Create(segmentName(number), size)
	if err != nil {
		return nil, nil, codedf(err, "make segment")
	}
	label := make([]byte, sector)
	putLabel(label, seg.id, number, log)
	if _, err = f.WriteAt(label, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = d.Sync()
	}
	if err != nil {
		f.Close()
		_ = d.Remove(segmentName(number)) // it holds nothing; the first error says more
		return nil, nil, codedf(err, "make segment")
	}
	return seg, f, nil
}
