package embedded

import (
	"errors"
	"io/fs"
	"slices"

	"whittle"
)

// survey is what a log consists of.
type survey struct {
	segments []*segment
	empty    []uint64 // segments behind the last one that hold no batch
	last     frame    // the last batch, at lastAt, where its sync may not have returned
	lastAt   int64
	stamp    int64 // when the last batch was committed
	torn     int64 // bytes of batches that never came to the disk as a whole
}

func (s *survey) next() uint64 {
	if n := len(s.segments); n > 0 {
		return s.segments[n-1].next
	}
	return 0
}

// surveyInUse is surveyOf a log whose writer may drop a segment under the survey.
func surveyInUse(d disk) (s *survey, err error) {
	for tries := 0; tries < 4; tries++ {
		if s, err = surveyOf(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return s, err
}

// surveyOf looks at each segment's first batch, and at every frame of the last
// one. It changes nothing.
func surveyOf(d disk) (*survey, error) {
	numbers, err := segmentNumbers(d)
	if err != nil {
		return nil, err
	}
	s := &survey{}
	for len(numbers) > 0 && len(s.segments) == 0 {
		last := numbers[len(numbers)-1]
		numbers = numbers[:len(numbers)-1]
		if err := s.readLast(d, last); err != nil {
			return nil, err
		}
	}
	for _, number := range slices.Backward(numbers) {
		seg, err := readFirst(d, number)
		if err != nil {
			return nil, err
		}
		// One whose first offset is also the next one's was given up when the
		// disk failed, before anything in it was acknowledged.
		if seg != nil && seg.base < s.segments[0].base {
			seg.next = s.segments[0].base
			s.segments = slices.Insert(s.segments, 0, seg)
		}
	}
	return s, nil
}

// readLast walks the frames of what may be the last segment. What the disk cannot read
// there is not taken for never written: it may have been acknowledged.
func (s *survey) readLast(d disk, number uint64) error {
	seg, f, err := openSegment(d, number)
	if err != nil {
		return err
	}
	defer f.Close()
	if seg == nil {
		s.empty = append(s.empty, number)
		return isBlank(f, number)
	}
	walk := scan{window: window{file: f, chunk: 64 << 10}, segment: seg.id, at: sector}
	for {
		found, at, ok, err := walk.find(seg.size)
		if err != nil {
			return unreadable(number, err)
		}
		if !ok {
			break
		}
		if seg.began == 0 {
			seg.base, seg.began = found.base, found.time
		}
		s.last, s.lastAt, s.stamp = found, at, found.time
		walk.pass(&found, at)
		seg.end, seg.next = walk.at, found.next()
	}
	behind := seg.end
	// A file that ends with its last batch was closed or recovered: that batch was whole
	// once, and came to the disk before the file ended there.
	if seg.end == seg.size {
		s.last = frame{}
	} else if seg.next > seg.base {
		b, err := walk.slice(s.lastAt, int(s.last.size()), seg.size)
		if err != nil {
			return unreadable(number, err)
		}
		if c, _, _ := examine(&s.last, b); c == torn {
			s.torn += s.last.size()
			seg.end, seg.next = s.lastAt, s.last.base
			s.last = frame{}
		}
	}
	// Behind the last frame there are zeros, or a batch whose frames never came.
	stray := behind
	for p := behind; p+sector <= seg.size; p += sector {
		b, err := walk.slice(p, sector, seg.size)
		if err != nil {
			return unreadable(number, err)
		}
		if !allZero(b) {
			stray = p + sector
		}
	}
	s.torn += stray - behind
	if seg.next > seg.base {
		s.segments = []*segment{seg}
	} else {
		s.empty = append(s.empty, number)
	}
	return nil
}

// isBlank fails where a file that nothing says to be a segment holds something behind its
// label: no batch is written before the label is on the disk.
func isBlank(f file, number uint64) error {
	size, err := f.Size()
	w := window{file: f, chunk: 64 << 10}
	for p := int64(sector); err == nil && p+sector <= size; p += sector {
		var b []byte
		if b, err = w.slice(p, sector, size); err == nil && !allZero(b) {
			return whittle.Errorf(whittle.FailedPrecondition, "open log: %s, the last one, is no segment, and holds something", segmentName(number)).
				WithHint("nothing was changed. It is damaged as a whole: put it back from a copy, or move it away to go on without its records")
		}
	}
	if err != nil {
		return unreadable(number, err)
	}
	return nil
}

// unreadable is the error of a segment whose last records may lie where the disk
// gives nothing back.
func unreadable(number uint64, err error) error {
	return whittle.Errorf(whittle.Unavailable, "open log: the disk cannot read all of %s, where the last records are: %w", segmentName(number), err).
		WithHint("nothing was changed: try again. If it does not pass, put a copy in its place with zeros for what cannot be read (ddrescue makes one)")
}

// settle makes the disk what the survey found: what is behind the last batch
// goes, and the last batch comes to the disk before anyone can read it. The
// sync of that batch may have failed or never returned, and the memory of the
// system may show what the disk does not have; so it is written once more.
func (s *survey) settle(d disk) error {
	for _, number := range s.empty {
		if err := d.Remove(segmentName(number)); err != nil {
			return codedf(err, "remove an empty segment")
		}
	}
	if n := len(s.segments); n > 0 {
		if err := s.settleLast(d, s.segments[n-1]); err != nil {
			return codedf(err, "recover the last segment")
		}
	}
	if err := d.Sync(); err != nil {
		return codedf(err, "recover log")
	}
	return nil
}

func (s *survey) settleLast(d disk, seg *segment) error {
	f, err := d.Open(segmentName(seg.number), true)
	if err != nil {
		return err
	}
	defer f.Close()
	if s.last.count > 0 {
		b := make([]byte, s.last.size())
		if _, err := f.ReadAt(b, s.lastAt); err != nil {
			return err
		}
		if _, err := f.WriteAt(b, s.lastAt); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if seg.size > seg.end {
		if err := f.Truncate(seg.end); err != nil {
			return err
		}
		seg.size = seg.end
	}
	return nil
}
