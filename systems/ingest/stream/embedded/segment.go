package embedded

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// segment is one file of the log, in memory.
type segment struct {
	number uint64 // its place among all, and its name
	id     uint64 // random, on its label and in its frames
	base   uint64 // the first offset
	next   uint64 // the offset behind its last record
	end    int64  // where its last batch ends
	size   int64  // of the file
	began  int64  // when its first batch was committed, Unix nanoseconds; 0: it has none
}

const segmentSuffix = ".segment"

func segmentName(number uint64) string { return fmt.Sprintf("%016x%s", number, segmentSuffix) }

// segmentNumbers lists the segments of a folder, in order.
func segmentNumbers(d disk) ([]uint64, error) {
	names, err := d.List()
	if err != nil {
		return nil, codedf(err, "list segments")
	}
	var numbers []uint64
	for _, name := range names {
		text, ok := strings.CutSuffix(name, segmentSuffix)
		if n, err := strconv.ParseUint(text, 16, 64); ok && err == nil && segmentName(n) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// newSegment makes the file of a segment that begins empty; all of it is on the
// disk on return.
func newSegment(d disk, number uint64, size int64) (*segment, file, error) {
	var random [8]byte
	rand.Read(random[:])
	seg := &segment{number: number, id: binary.LittleEndian.Uint64(random[:]), end: sector, size: size}
	f, err := d.Create(segmentName(number), size)
	if err != nil {
		return nil, nil, codedf(err, "make segment")
	}
	label := make([]byte, sector)
	putLabel(label, seg.id)
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

// probe is how much is read to look at a segment's beginning.
const probe = 16 << 10

// openSegment opens a segment for reading. It returns no segment when nothing in the file
// says which one it is.
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
	if id, ok := identify(f, size); ok {
		return &segment{number: number, id: id, end: sector, size: size}, f, nil
	}
	return nil, f, nil
}

// readFirst reads the segment's first batch's frame. It returns nil where the file holds no
// batch.
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
