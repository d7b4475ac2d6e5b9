package stream

import (
	"context"
	"errors"
	"time"

	"whittle"
)

// ErrIdle means that no record has arrived for a while in a partition that has
// not ended.
var ErrIdle = errors.New("nothing to read")

// Tip is implemented by a Reader whose partition does not report its end
// beforehand (Kinesis).
type Tip interface {
	// Tip returns how many responses came so far, and whether the last one said
	// that nothing lies behind it at the moment.
	Tip() (responses int64, reached bool)
}

const (
	// maxNoResponse is how many idle timeouts in a row may pass without any
	// response, and maxEmpty with responses none of which reached the tip.
	maxNoResponse = 3
	maxEmpty      = 1000
)

// NextBefore is r.Next, except that it returns ErrIdle when nothing came within
// idleTimeout. Where the reader can report the tip, it must have reached it: a
// read that hangs is not an end, but Unavailable after three idle timeouts.
func NextBefore(ctx context.Context, r Reader, into []Entry, idleTimeout time.Duration) (int, error) {
	tip, hasTip := r.(Tip)
	for deaf, empty := 0, 0; ; {
		before := int64(0)
		if hasTip {
			before, _ = tip.Tip()
		}
		n, silent, err := nextWithin(ctx, r, into, idleTimeout)
		if !silent {
			return n, err
		}
		if !hasTip {
			return 0, ErrIdle
		}
		switch responses, reached := tip.Tip(); {
		case responses > before && reached:
			return 0, ErrIdle
		case responses > before:
			deaf = 0
			empty++
		default:
			deaf++
		}
		if deaf == maxNoResponse || empty == maxEmpty {
			return 0, whittle.Errorf(whittle.Unavailable, "no response in %s says that the end is reached: %w", time.Duration(deaf+empty)*idleTimeout, err)
		}
	}
}

// nextWithin is r.Next; silent reports that nothing came in time.
func nextWithin(ctx context.Context, r Reader, into []Entry, idleTimeout time.Duration) (n int, silent bool, err error) {
	waiting, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	n, err = r.Next(waiting, into)
	_, corrupt := errors.AsType[*CorruptError](err)
	return n, n == 0 && err != nil && !corrupt && waiting.Err() != nil && ctx.Err() == nil, err
}
