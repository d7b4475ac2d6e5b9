package embedded

import (
	"slices"

	"whittle"
)

// follow brings a log that is only read up to what its folder holds.
func (l *Log) follow() error {
	l.following.Lock()
	defer l.following.Unlock()
	l.mu.Lock()
	known := len(l.segments)
	var last segment
	if known > 0 {
		last = *l.segments[known-1]
	}
	l.mu.Unlock()
	if known == 0 {
		s, _, err := surveyWithEnd(l.disk)
		if err != nil {
			return err
		}
		l.addSegments(s.segments)
		return nil
	}
	names, err := l.disk.List()
	if err != nil {
		return codedf(err, "list segments")
	}
	numbers := segmentNumbers(names)
	if err := l.extend(&last); err != nil {
		return err
	}
	if len(numbers) == 0 || numbers[len(numbers)-1] < last.number {
		if err := l.wasDropped(last.next); err != nil {
			return err
		}
	}
	grown := []*segment{&last}
	for _, number := range numbers {
		if number <= last.number {
			continue
		}
		seg, err := readFirst(l.disk, number)
		if err != nil {
			return err
		}
		if seg == nil || seg.misplaced {
			continue // made beforehand and empty, or another's
		}
		before := grown[len(grown)-1]
		if seg.base < before.next {
			return errOther(before.next)
		}
		before.next, before.end = seg.base, before.size
		seg.end, seg.next = sector, seg.base
		if err := l.extend(seg); err != nil {
			return err
		}
		grown = append(grown, seg)
	}
	l.mu.Lock()
	all := slices.Concat(l.segments[:known-1], grown)
	l.mu.Unlock()
	// The writer removes segments from the front.
	for len(all) > 1 && !slices.Contains(numbers, all[0].number) {
		all = all[1:]
	}
	l.addSegments(all)
	return nil
}

// addSegments makes segments the log's.
func (l *Log) addSegments(segments []*segment) {
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
	if err != nil {
		if !l.exists(seg.number) {
			return nil // it was dropped meanwhile
		}
		return codedf(err, "open segment")
	}
	defer f.Close()
	if seg.size, err = f.Size(); err != nil {
		return codedf(err, "open segment")
	}
	label := make([]byte, labelLen)
	_, _ = f.ReadAt(label, 0) // one that cannot be read says nothing
	if id, ok := parseLabel(label, seg.number); seg.size < seg.end || ok && id != seg.id {
		return errOther(seg.next)
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

// wasDropped fails where the last segment that was read is gone and its writer did not
// drop it.
func (l *Log) wasDropped(next uint64) error {
	if m, ok, _, err := readMark(l.disk); err == nil && ok && m.first >= next {
		return nil
	}
	return errOther(next)
}

// errOther is the error of a log that was followed, and that another one or an older
// copy has come in the place of.
func errOther(next uint64) error {
	return whittle.Errorf(whittle.FailedPrecondition, "the log in this folder is another one, or shorter, than the one that was read up to offset %d", next).
		WithHint("was the folder replaced, or an older copy put in its place? Read it anew")
}

// wasRemoved reports whether a segment that a reader did not find was dropped.
func (l *Log) wasRemoved(number uint64) bool {
	if l.o.ReadOnly && l.follow() != nil {
		return false
	}
	return !l.holds(number)
}

// exists reports whether a segment is still in the folder.
func (l *Log) exists(number uint64) bool {
	names, err := l.disk.List()
	return err != nil || slices.Contains(names, segmentName(number))
}
