// Package journal keeps exchanges in a folder: segments of compressed,
// checksummed blocks, the oldest removed when there are too many bytes or they
// are too old. A torn tail costs the block that was being written, a damaged
// block costs itself, and both are said.
package journal

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"whittle"
)

// Options say how much is kept. The zero value is useful.
type Options struct {
	// SegmentBytes is how long a segment grows. 0: 16 MiB, or an eighth of
	// MaxBytes where that is less, since whole segments are removed.
	SegmentBytes int64
	// MaxBytes is what the folder may take, with at least one segment kept. 0:
	// 1 GiB. Negative: no bound.
	MaxBytes int64
	// MaxAge removes segments whose newest entry is older. 0: 7 days. Negative:
	// none is too old, as in a log that is made of a file of long ago. Where the
	// machine's clock leaps ahead, or the log has not been written to for long,
	// an hour passes before anything is removed, or a tenth of the age.
	MaxAge time.Duration
	// About says of the entries what a reader should know beside them, in at
	// most MaxAbout bytes of a form that readers know; see Writer.Describe.
	About []byte

	now     func() time.Time
	elapsed func() time.Duration
}

func (o Options) filled() Options {
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 30
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = 16 << 20
		if o.MaxBytes > 0 {
			o.SegmentBytes = min(o.SegmentBytes, max(1, o.MaxBytes/8))
		}
	}
	if o.MaxAge == 0 {
		o.MaxAge = 7 * 24 * time.Hour
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.elapsed == nil {
		start := o.now()
		o.elapsed = func() time.Duration { return o.now().Sub(start) } // by the monotonic clock
	}
	return o
}

// Filter says which entries a reader gives. The zero value: all.
type Filter struct {
	// Route by name. Empty: every route.
	Route string
	// From and To bound Entry.At, To itself outside; zero: no bound.
	From, To time.Time
}

// Damage is what could not be read.
type Damage struct {
	// Segment is the file's name.
	Segment string
	// Offset and Bytes say where in the file.
	Offset int64
	Bytes  int64
	Why    string
}

// coded gives an error of the file system its code.
func coded(err error, doing string) *whittle.Error {
	code := whittle.Unavailable
	switch {
	case errors.Is(err, fs.ErrPermission):
		code = whittle.PermissionDenied
	case errors.Is(err, fs.ErrNotExist):
		code = whittle.NotFound
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return whittle.Errorf(whittle.ResourceExhausted, "%s: %w", doing, err).
			WithHint("free space on the disk; recording goes on by itself then")
	}
	return whittle.Errorf(code, "%s: %w", doing, err)
}
