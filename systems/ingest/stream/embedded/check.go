package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"whittle/systems/ingest/stream"
)

// checked is what a walk over a segment has met.
type checked struct {
	batches, records uint64 // intact ones
	bytes            int64
	corrupt          uint64 // records
	damaged          uint64 // places that are damaged and cost no record
}

// walk checks every bit between a segment's label and its last batch.
type walk struct {
	scan
	end  int64  // of the segment's last batch, or of its file
	stop uint64 // the offset behind its last record
}

// walkSegment checks every bit between a segment's label and its last batch, piece by
// piece. each gets what a piece had, and ends the walk by false; corrupt is as with step.
func walkSegment(d disk, seg *segment, corrupt func(*stream.CorruptError), each func(checked) bool) error {
	f, err := d.Open(segmentName(seg.number), false)
	if err != nil {
		return codedf(err, "open segment")
	}
	defer f.Close()
	w := &walk{end: seg.end, stop: seg.next}
	w.scan = scan{window: window{file: f, chunk: 256 << 10, forgive: true}, segment: seg.id, at: sector, next: seg.base}
	label, err := w.slice(0, sector, seg.end)
	if err != nil {
		return codedf(err, "read segment")
	}
	c := checked{bytes: sector}
	id, ok := parseLabel(label, seg.number)
	if _, whole := labelLog(label); !ok || id != seg.id || !whole || !allZero(label[labelLen:]) {
		c.damaged++
	}
	for more := true; each(c) && more; {
		if c, more, err = w.step(corrupt); err != nil {
			return err
		}
	}
	return nil
}

// step checks the next batch. corrupt is called for each corrupt record, in
// order; for records that are missing one behind the other, once. more is false behind the last one.
func (w *walk) step(corrupt func(*stream.CorruptError)) (c checked, more bool, err error) {
	if w.next >= w.stop {
		return w.rest(), false, nil
	}
	next, before := w.next, w.at
	f, at, ok, err := w.find(w.end)
	if err != nil {
		return c, false, codedf(err, "read segment")
	}
	if !ok || f.base >= w.stop {
		c.lost(next, w.stop, corrupt)
		w.next = w.stop
		return c, true, nil
	}
	c.lost(next, f.base, corrupt)
	b, err := w.slice(at, int(f.size()), w.end)
	if err != nil {
		return c, false, codedf(err, "read segment")
	}
	w.pass(&f, at)
	_, broken, scarred := examine(&f, b)
	offsets := make([]uint64, 0, len(broken))
	for offset := range broken {
		offsets = append(offsets, offset)
	}
	slices.Sort(offsets)
	for _, offset := range offsets {
		corrupt(&stream.CorruptError{Position: position(offset), Reason: broken[offset]})
	}
	c.corrupt += uint64(len(broken))
	if scarred {
		c.damaged++
	}
	c.batches, c.records, c.bytes = 1, uint64(f.count)-uint64(len(broken)), w.at-before
	return c, true, nil
}

// rest looks at what is behind the last batch of a segment that the log did not stop
// in: zeros.
func (w *walk) rest() (c checked) {
	for w.at < w.end {
		n := min(sector, w.end-w.at)
		b, err := w.slice(w.at, int(n), w.end)
		if err != nil || !allZero(b) {
			c.damaged = 1
		}
		w.at, c.bytes = w.at+n, c.bytes+n
	}
	return c
}

// lost counts the records from one offset to another, which no frame names, and
// reports them as one.
func (c *checked) lost(from, to uint64, corrupt func(*stream.CorruptError)) {
	if from >= to {
		return
	}
	c.corrupt += to - from
	reason := reasonLost
	if n := to - from - 1; n > 0 {
		reason = fmt.Sprintf("%s, nor can those of the %d records behind it", reason, n)
	}
	corrupt(&stream.CorruptError{Position: position(from), Reason: reason})
}

// reasonLost is why a record that no frame names is corrupt.
const reasonLost = "the batch that it was in cannot be found"

// Report is what Verify found.
type Report struct {
	First, Next stream.Position
	Segments    int
	Batches     uint64
	Records     uint64 // intact ones
	Bytes       int64  // read
	Corrupt     uint64 // records
	// Corruption names the first hundred of them.
	Corruption []*stream.CorruptError
	// Damaged is how many places are damaged that cost no record: frames that are
	// there twice, labels, padding.
	Damaged uint64
	// Torn and Unexplained are as in Stats: what the next Open will cut off. In a
	// log that is in use it may be the batch that is being written.
	Torn, Unexplained int64
	// End is what the end mark says of what is missing.
	End End
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
	r, err := verify(ctx, d)
	if err == nil {
		err = r.End.missed(dir)
	}
	return r, isNotThere(err)
}

func verify(ctx context.Context, d disk) (Report, error) {
	s, end, err := surveyWithEnd(d)
	if err != nil {
		return Report{}, err
	}
	r := Report{Segments: len(s.segments), Torn: s.tail.torn, Unexplained: s.tail.unexplained, First: end.Next, Next: end.Next, End: end, Damaged: end.Damaged}
	for i, seg := range s.segments {
		if i == 0 {
			r.First = position(seg.base)
		}
		if err := r.segment(ctx, d, seg); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *Report) segment(ctx context.Context, d disk, seg *segment) error {
	err := walkSegment(d, seg, r.note, func(c checked) bool {
		r.Batches += c.batches
		r.Records += c.records
		r.Bytes += c.bytes
		r.Corrupt += c.corrupt
		r.Damaged += c.damaged
		return ctx.Err() == nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // dropped meanwhile
	case err == nil && ctx.Err() != nil:
		return stream.Ended(ctx, "verify log")
	}
	return err
}

func (r *Report) note(e *stream.CorruptError) {
	if len(r.Corruption) < shownCorruption {
		r.Corruption = append(r.Corruption, e)
	}
}
