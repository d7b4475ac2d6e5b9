package embedded

import (
	"errors"
	"io/fs"
	"slices"

	"whittle"
)

// follow brings a log that is only read up to what its folder holds.
func (l *Log) follow() error {
	l.following.Lock()
	defer l.following.Unlock()
	l.mu.Lock()
	all := slices.Clone(l.segments)
	l.mu.Unlock()
	if len(all) == 0 {
		s, err := surveyInUse(l.disk)
		if err == nil {
			l.replace(s.segments)
		}
		return err
	}
	numbers, err := segmentNumbers(l.disk)
	if err != nil {
		return err
	}
	last := *all[len(all)-1]
	if err := l.extend(&last); err != nil {
		return err
	}
	all[len(all)-1] = &last
	for _, number := range numbers {
		if number <= last.number {
			continue
		}
		seg, err := readFirst(l.disk, number)
		if errors.Is(err, fs.ErrNotExist) {
			continue // made beforehand, and gone
		}
		if err != nil {
			return err
		}
		if seg == nil {
			continue // made beforehand and empty
		}
		before := all[len(all)-1]
		if seg.base < before.next {
			return whittle.Errorf(whittle.FailedPrecondition, "the log in this folder has other records at offset %d than were read there", seg.base).
				WithHint("its disk failed, or the folder was replaced: read it anew")
		}
		before.next, before.end = seg.base, before.size
		seg.end, seg.next = sector, seg.base
		if err := l.extend(seg); err != nil {
			return err
		}
		all = append(all, seg)
	}
	// The writer removes segments from the front.
	for len(all) > 1 && !slices.Contains(numbers, all[0].number) {
		all = all[1:]
	}
	l.replace(all)
	return nil
}

// replace makes segments the log's.
func (l *Log) replace(segments []*segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = segments
	if len(segments) > 0 {
		l.first = max(l.first, segments[0].base)
		if next := segments[len(segments)-1].next; next != l.next {
			l.next = next
			l.lockedNotify()
		}
	}
}

// extend adds to a segment the batches that have come behind its end.
func (l *Log) extend(seg *segment) error {
	f, err := l.disk.Open(segmentName(seg.number), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was dropped meanwhile
	}
	if err != nil {
		return codedf(err, "open segment")
	}
	defer f.Close()
	if seg.size, err = f.Size(); err != nil {
		return codedf(err, "open segment")
	}
	s := scan{window: window{file: f, chunk: probe}, segment: seg.id, at: seg.end, next: seg.next}
	for {
		b, err := s.slice(s.at, sector, seg.size)
		if err != nil {
			return nil // the segment is full, or the writer is cutting it off
		}
		found, ok := s.head(b, s.at, seg.size)
		if !ok {
			return nil
		}
		if b, err = s.slice(s.at, int(found.size()), seg.size); err != nil {
			return nil // as above
		}
		if c, _, _ := examine(&found, b); c == torn {
			return nil // it is being written
		}
		s.pass(&found, s.at)
		seg.end, seg.next = s.at, found.next()
	}
}

// wasRemoved reports whether a segment that a reader did not find was dropped.
func (l *Log) wasRemoved(number uint64) bool {
	if l.o.ReadOnly && l.follow() != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(l.segments, func(seg *segment) bool { return seg.number == number })
}
