package embedded

import (
	"cmp"
	"log/slog"
	"time"

	"whittle"
)

// LongestRecord is the most that Options.MaxRecord can be.
const LongestRecord = 16 << 20

// Options are a log's. The zero value works.
type Options struct {
	// MaxRecord is the longest encoded record that is taken, in bytes (0: 1
	// MiB, at most 16 MiB).
	MaxRecord int
	// MaxBatch bounds what one write and one sync commit, in bytes (0: 1 MiB,
	// at most 64 MiB). Two batches are held in memory.
	MaxBatch int
	// SegmentBytes is the length of a segment (0: 64 MiB, at least twice what a
	// batch and a record take). Space is taken by the segment. While the log is
	// shorter, a new segment is as long as the log, and at least as long as that.
	SegmentBytes int64
	// Reserve is how many bytes of the disk stay free (0: 64 MiB, below 0: none).
	Reserve int64
	// RetainBytes drops the oldest segments while all take more (0: never).
	RetainBytes int64
	// RetainAge drops segments whose every record is older (0: never).
	RetainAge time.Duration
	// Held says that something drains the log: the retention drops nothing
	// before the first call of Hold.
	Held bool
	// ReadOnly opens a log that another process may be writing. Nothing in its
	// folder changes. Appends and trims are refused; readers follow the writer,
	// and may be ahead of its last sync.
	ReadOnly bool
	// Log gets what an operator should know. Nil: nobody.
	Log *slog.Logger

	disk disk             // nil: the folder
	now  func() time.Time // nil: time.Now

	shortest int64 // a segment's least length
}

func (o Options) withDefaults() (Options, error) {
	if o.MaxRecord < 0 || o.MaxBatch < 0 || o.SegmentBytes < 0 || o.RetainBytes < 0 || o.RetainAge < 0 {
		return o, whittle.Errorf(whittle.Invalid, "open log: a bound is below 0")
	}
	o.MaxRecord = cmp.Or(o.MaxRecord, 1<<20)
	o.MaxBatch = cmp.Or(o.MaxBatch, 1<<20)
	o.SegmentBytes = cmp.Or(o.SegmentBytes, 64<<20)
	o.Reserve = cmp.Or(o.Reserve, 64<<20)
	o.Reserve = max(o.Reserve, 0)
	o.SegmentBytes -= o.SegmentBytes % sector
	longest := sector + 2*(paddedSize(o.MaxRecord, 1)+int64(o.MaxBatch))
	o.shortest = min(o.SegmentBytes, (longest+sector-1)/sector*sector)
	switch {
	case o.MaxRecord > LongestRecord:
		return o, whittle.Errorf(whittle.Invalid, "open log: records of %d bytes; 16 MiB are the limit", o.MaxRecord)
	case o.MaxBatch > 64<<20 || o.MaxBatch < sector:
		return o, whittle.Errorf(whittle.Invalid, "open log: batches of %d bytes; 512 bytes to 64 MiB can be", o.MaxBatch)
	case o.SegmentBytes < longest || o.SegmentBytes > 1<<40:
		return o, whittle.Errorf(whittle.Invalid, "open log: segments of %d bytes; %d bytes to 1 TiB can be", o.SegmentBytes, longest)
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.now == nil {
		o.now = time.Now
	}
	return o, nil
}
