package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Report is what Verify found.
type Report struct {
	First, Next uint64 // offsets
	Segments    int
	Records     uint64 // intact ones
	Bytes       int64  // read
	Corrupt     uint64 // records
	// Corruption names the first hundred of them; of those that are missing one behind the
	// other, the first.
	Corruption []*stream.CorruptError
	// Damaged is how many places are damaged that cost no record: frames that are
	// there twice, labels, padding.
	Damaged uint64
	// Torn is how many bytes the next Open will cut off, of batches that never came to the
	// disk as a whole. In a log that is in use it may be the one that is being written.
	Torn int64
}

// shownCorruption bounds Report.Corruption.
const shownCorruption = 100

// Verify reads every bit of the log in a folder and changes nothing. The log
// may be in use: what is appended meanwhile is not looked at.
func Verify(ctx context.Context, dir string) (Report, error) {
	d, err := openFolder(dir, true)
	if err != nil {
		return Report{}, err
	}
	numbers, err := segmentNumbers(d)
	if err == nil && len(numbers) == 0 && !wasOpened(d) {
		return Report{}, whittle.Errorf(whittle.NotFound, "there is no log in %s: %w", dir, fs.ErrNotExist)
	}
	if err != nil {
		return Report{}, err
	}
	return verify(ctx, d)
}

func verify(ctx context.Context, d disk) (Report, error) {
	s, err := surveyInUse(d)
	if err != nil {
		return Report{}, err
	}
	r := Report{Segments: len(s.segments), Torn: s.torn, Next: s.next()}
	for i, seg := range s.segments {
		if i == 0 {
			r.First = seg.base
		}
		if err := r.segment(ctx, d, seg); err != nil && !errors.Is(err, fs.ErrNotExist) { // dropped meanwhile
			return r, err
		}
	}
	return r, nil
}

// segment checks every bit between a segment's label and its last batch.
func (r *Report) segment(ctx context.Context, d disk, seg *segment) error {
	f, err := d.Open(segmentName(seg.number), false)
	if err != nil {
		return codedf(err, "open segment")
	}
	defer f.Close()
	w := scan{window: window{file: f, chunk: 256 << 10, forgive: true}, segment: seg.id, at: sector, next: seg.base}
	label, err := w.slice(0, sector, seg.end)
	if err != nil {
		return codedf(err, "read segment")
	}
	if id, ok := parseLabel(label); !ok || id != seg.id || !allZero(label[labelLen:]) {
		r.Damaged++
	}
	for w.next < seg.next {
		if ctx.Err() != nil {
			return stream.Ended(ctx, "verify log")
		}
		f, at, ok, err := w.find(seg.end)
		if err == nil && ok && f.base < seg.next {
			r.lost(w.next, f.base)
			err = r.batch(&w, &f, at, seg.end)
		} else if err == nil {
			r.lost(w.next, seg.next)
			w.next = seg.next
		}
		if err != nil {
			return codedf(err, "read segment")
		}
	}
	// Behind the last batch of a segment that the log did not stop in there are zeros.
	for p := w.at; p+sector <= seg.end; p += sector {
		if b, err := w.slice(p, sector, seg.end); err != nil || !allZero(b) {
			r.Damaged++
			break
		}
	}
	r.Bytes += seg.end
	return nil
}

func (r *Report) batch(w *scan, f *frame, at, end int64) error {
	b, err := w.slice(at, int(f.size()), end)
	if err != nil {
		return err
	}
	_, broken, scarred := examine(f, b)
	for _, offset := range slices.Sorted(maps.Keys(broken)) {
		r.note(offset, broken[offset])
	}
	r.Corrupt += uint64(len(broken))
	r.Records += uint64(f.count) - uint64(len(broken))
	if scarred {
		r.Damaged++
	}
	w.pass(f, at)
	return nil
}

// lost counts the records from one offset to another, which no frame names.
func (r *Report) lost(from, to uint64) {
	if from >= to {
		return
	}
	r.Corrupt += to - from
	reason := reasonLost
	if n := to - from - 1; n > 0 {
		reason = fmt.Sprintf("%s, nor can those of the %d records behind it", reason, n)
	}
	r.note(from, reason)
}

func (r *Report) note(offset uint64, reason string) {
	if len(r.Corruption) < shownCorruption {
		r.Corruption = append(r.Corruption, &stream.CorruptError{Position: position(offset), Reason: reason})
	}
}

// reasonLost is why a record that no frame names is corrupt.
const reasonLost = "the batch that it was in cannot be found"
