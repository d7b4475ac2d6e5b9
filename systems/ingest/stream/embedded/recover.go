package embedded

import (
	"fmt"
	"io"
)

// settle makes the disk what the survey found: what is behind the last batch
// goes, and the last batch comes to the disk before anyone can read it. The
// sync of that batch may have failed or never returned, and the memory of the
// system may show what the disk does not have; so it is written once more.
func (s *survey) settle(d disk) error {
	for _, number := range s.unexplained {
		if err := setAside(d, number, 0); err != nil {
			return codedf(err, "set a damaged segment aside")
		}
	}
	for _, number := range append(s.unexplained, s.empty...) {
		if err := d.Remove(segmentName(number)); err != nil {
			return codedf(err, "remove an empty segment")
		}
	}
	if len(s.segments) > 0 {
		if err := s.settleLast(d, s.segments[len(s.segments)-1]); err != nil {
			return codedf(err, "recover the last segment")
		}
	}
	if err := d.Sync(); err != nil {
		return codedf(err, "recover log")
	}
	return nil
}

func (s *survey) settleLast(d disk, seg *segment) error {
	if s.doubt {
		if err := setAside(d, seg.number, seg.end); err != nil {
			return err
		}
	}
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

// setAside keeps a copy of what is about to be cut off and cannot be explained,
// for a person to look at.
func setAside(d disk, number uint64, from int64) error {
	f, err := d.Open(segmentName(number), false)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	for size > from { // without the zeros at the end
		b := make([]byte, min(sector, size-from))
		if _, err := f.ReadAt(b, size-int64(len(b))); err != nil || !allZero(b) {
			break
		}
		size -= int64(len(b))
	}
	name := fmt.Sprintf("%016x-%d.aside", number, from)
	_ = d.Remove(name) // one of an earlier recovery that was cut short
	to, err := d.Create(name, size-from)
	if err != nil {
		return err
	}
	defer to.Close()
	b := make([]byte, 64<<10)
	for at := from; at < size; {
		n, err := f.ReadAt(b[:min(int64(len(b)), size-at)], at)
		if n == 0 && err != nil && err != io.EOF { //nolint:errorlint // ReadAt's contract
			n = min(sector, len(b)) // what cannot be read stays zeros
			clear(b[:n])
		} else if n == 0 {
			break
		}
		if _, err := to.WriteAt(b[:n], at-from); err != nil {
			return err
		}
		at += int64(n)
	}
	return to.Sync()
}
