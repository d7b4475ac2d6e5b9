// Package journal keeps exchanges in a folder of segments, each a file of
// compressed, checksummed blocks. The oldest segments are removed when the
// folder grows too large or they grow too old. A torn tail costs the block that
// was being written, a damaged block costs only itself, and both are reported.
package journal

import (
	"cmp"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"whittle"
)

// Options bound what is kept. The zero value is useful.
type Options struct {
	// SegmentBytes is the size at which a segment is closed. 0: 16 MiB, or an
	// eighth of MaxBytes where that is less, since whole segments are removed.
	SegmentBytes int64
	// MaxBytes bounds the folder's size; at least one segment is kept. 0: 1
	// GiB. Negative: no bound.
	MaxBytes int64
	// MaxAge removes segments whose newest entry is older. 0: 7 days. Negative:
	// no segment is too old, as in a log made of an old file.
	MaxAge time.Duration
	// About describes the entries for a reader, in at most MaxAbout bytes whose
	// form the reader knows; see Writer.Describe.
	About []byte

	now func() time.Time
}

func (o Options) filled() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, 1<<30)
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = 16 << 20
		if o.MaxBytes > 0 {
			o.SegmentBytes = min(o.SegmentBytes, max(1, o.MaxBytes/8))
		}
	}
	o.MaxAge = cmp.Or(o.MaxAge, 7*24*time.Hour)
	if o.now == nil {
		o.now = time.Now
	}
	return o
}

// Filter selects entries. The zero value selects all.
type Filter struct {
	// Route by name, or a target as a listing has it ("GET /items/{id}"), or NoRoute.
	// Empty: every route.
	Route string
	// From and To bound Entry.At; To is exclusive, zero means no bound.
	From, To time.Time
}

// NoRoute is the name that a listing gives exchanges without a route.
const NoRoute = "(no route)"

// Damage is a part of a segment that could not be read.
type Damage struct {
	// Segment is the file's name.
	Segment string `json:"segment"`
	// Offset and Bytes locate it in the file.
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Why    string `json:"why"`
}

// coded adds a code to an error of the file system.
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
