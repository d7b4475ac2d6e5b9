package embedded

import (
	"context"
	"sync"

	"whittle/systems/ingest/stream"
)

// batch is a batch that is being filled. One write and one sync will commit it.
type batch struct {
	buf     []byte // the head's place and the records
	table   []byte
	count   int
	appends int // calls that have records in it
	result  *commitResult

	most  int // the longest of the batches since the memory was looked at
	since int // how many they are
}

// commitResult is the result of a batch's commit. base and err are set before
// done is closed.
type commitResult struct {
	done chan struct{}
	base uint64
	err  error
	// waits are those who wait, under the intake's mutex until the batch is taken.
	waits []*commitWait
}

// commitWait wakes the calls whose contexts end together, when the batch is settled or
// they end. One channel for all of them costs each a third of a select over two.
type commitWait struct {
	ended <-chan struct{} // of their contexts; nil: they do not end
	wake  chan struct{}
	once  sync.Once
	stop  func() bool
}

func (w *commitWait) close() { w.once.Do(func() { close(w.wake) }) }

// waitOf gives what a call with such a context waits for.
func (t *commitResult) waitOf(ctx context.Context) *commitWait {
	ended := ctx.Done()
	for _, w := range t.waits[max(0, len(t.waits)-1):] {
		if w.ended == ended {
			return w
		}
	}
	w := &commitWait{ended: ended, wake: make(chan struct{})}
	w.stop = context.AfterFunc(ctx, w.close)
	t.waits = append(t.waits, w)
	return w
}

// settle wakes all who wait.
func (t *commitResult) settle() {
	close(t.done)
	for _, w := range t.waits {
		w.stop()
		w.close()
	}
}

// A batch's memory is used again, up to maxKeptBatch bytes of it. What it grew to
// and has not needed for a while is released, but for minKeptBatch.
const (
	maxKeptBatch = 8 << 20
	minKeptBatch = 64 << 10
	memoryWindow = 256 // batches
)

func newBatch() *batch {
	b := &batch{}
	b.reset()
	return b
}

func (b *batch) reset() {
	b.most, b.since = max(b.most, len(b.buf)), b.since+1
	if b.since >= memoryWindow {
		if most := max(b.most, minKeptBatch); cap(b.buf) > 4*most {
			b.buf, b.table = make([]byte, frameLen, 2*most), nil
		}
		b.most, b.since = 0, 0
	}
	if cap(b.buf) < frameLen || cap(b.buf) > maxKeptBatch {
		b.buf = make([]byte, frameLen, minKeptBatch)
	}
	b.buf, b.table = b.buf[:frameLen], b.table[:0]
	b.count, b.appends = 0, 0
	b.result = &commitResult{done: make(chan struct{})}
}

// fits reports whether a record of size encoded bytes goes in without making the
// batch longer than limit. The first one always does.
func (b *batch) fits(size, limit int) bool {
	return b.count == 0 || paddedSize(len(b.buf)-frameLen+size, b.count+1) <= int64(limit)
}

// size is the length that finish will give.
func (b *batch) size() int64 { return paddedSize(len(b.buf)-frameLen, b.count) }

// add takes a copy of a record, and says which one of the batch it is.
func (b *batch) add(r *stream.Record) int {
	start := len(b.buf)
	b.buf = stream.AppendRecord(b.buf, r)
	b.table = le.AppendUint32(b.table, uint32(len(b.buf)-start))
	b.table = le.AppendUint32(b.table, stream.Checksum(b.buf[start:]))
	b.count++
	return b.count - 1
}

// finish returns the bytes to write, and the frame around them.
func (b *batch) finish(segment, base uint64, now int64) ([]byte, frame) {
	f := frame{
		segment: segment, base: base, time: now,
		count: uint32(b.count), length: uint32(len(b.buf) - frameLen), table: stream.Checksum(b.table),
	}
	b.buf = append(b.buf, b.table...)
	from := len(b.buf)
	if size := int(f.size()); cap(b.buf) >= size {
		b.buf = b.buf[:size]
		clear(b.buf[from:])
	} else {
		b.buf = append(b.buf, make([]byte, size-from)...)
	}
	if n := len(b.buf); n > 2*sector {
		f.blank = blanks(b.buf[sector : n-sector])
	}
	f.put(b.buf, headMagic)
	f.put(b.buf[len(b.buf)-frameLen:], footMagic)
	return b.buf, f
}

// view reads the records of a batch, one after the other.
type view struct {
	frame
	records []byte // those from index on
	table   []byte // theirs; nil where it is damaged
	index   uint32 // the record that take gives next
}

// viewOf makes a view of the whole batch b that f frames.
func viewOf(f *frame, b []byte) view {
	v := view{frame: *f}
	end := frameLen + int(f.length)
	table := b[end : end+entryLen*int(f.count)]
	if stream.Checksum(table) == f.table && tableLength(table) == uint64(f.length) {
		v.records, v.table = b[frameLen:end], table
	}
	return v
}

func tableLength(table []byte) (n uint64) {
	for ; len(table) > 0; table = table[entryLen:] {
		n += uint64(le.Uint32(table))
	}
	return n
}

// more reports whether take has a further record to give.
func (v *view) more() bool { return v.index < v.count }

// take returns the next record, part of the batch's memory, or the reason why it
// is not what was appended.
func (v *view) take() (r stream.Record, reason string) {
	v.index++
	if v.table == nil {
		return r, "the table of its batch is damaged"
	}
	n, sum := le.Uint32(v.table), le.Uint32(v.table[4:])
	b := v.records[:n:n]
	v.records, v.table = v.records[n:], v.table[entryLen:]
	if stream.Checksum(b) != sum {
		return r, "its checksum does not match"
	}
	r, err := stream.ParseRecord(b)
	if err != nil {
		return stream.Record{}, err.Error()
	}
	if !r.Intact() {
		return stream.Record{}, "its value does not match its sum"
	}
	return r, ""
}

// skip leaves out records before an offset.
func (v *view) skip(before uint64) {
	for v.more() && v.base+uint64(v.index) < before {
		if v.table != nil {
			v.records, v.table = v.records[le.Uint32(v.table):], v.table[entryLen:]
		}
		v.index++
	}
}

// condition of a batch as it lies on the disk.
type condition uint8

const (
	whole   condition = iota
	torn              // sectors of it never came to the disk, so it was never acknowledged
	damaged           // it was written, and is not what was written
)

// examine distinguishes the three. Sectors of a segment are zeros until they are
// written, and a batch says how many of its own are zeros.
func examine(f *frame, b []byte) (c condition, corrupt map[uint64]string, scarred bool) {
	v := viewOf(f, b)
	for v.more() {
		if _, reason := v.take(); reason != "" {
			if corrupt == nil {
				corrupt = map[uint64]string{}
			}
			corrupt[f.base+uint64(v.index-1)] = reason
		}
	}
	head, headOK := parseFrame(b, headMagic)
	foot, footOK := parseFrame(b[len(b)-frameLen:], footMagic)
	padding := b[frameLen+int(f.length)+entryLen*int(f.count) : len(b)-frameLen]
	scarred = !headOK || !footOK || head != *f || foot != *f || !allZero(padding)
	switch {
	case corrupt == nil && !scarred:
		return whole, nil, false
	case blanks(b) > f.blank:
		return torn, corrupt, scarred
	}
	return damaged, corrupt, scarred
}
