package stream

import (
	"context"
	"errors"
	"time"

	"whittle"
)

// ErrIdle says that nothing comes any more from a partition that goes on.
var ErrIdle = errors.New("nothing to read")

// Tip is what a Reader has whose partition does not tell its end beforehand
// (Kinesis).
type Tip interface {
	// Tip gives how many answers came so far, and whether the last one said that
	// nothing lies behind it at the moment.
	Tip() (responses int64, reached bool)
}

const (
	// maxNoResponse is how many times in turn quiet may pass without any answer, and
	// maxEmpty with answers of which none is the tip.
	maxNoResponse = 3
	maxEmpty      = 1000
)

// NextBefore is r.Next that gives ErrIdle when nothing came for as long as quiet.
// Where the reader can tell the tip it must have: a read that hangs is no end,
// but Unavailable after three times quiet.
func NextBefore(ctx context.Context, r Reader, into []Entry, idleTimeout time.Duration) (int, error) {
	tip, tells := r.(Tip)
	for deaf, empty := 0, 0; ; {
		before := int64(0)
		if tells {
			before, _ = tip.Tip()
		}
		n, silent, err := nextWithin(ctx, r, into, idleTimeout)
		if !silent {
			return n, err
		}
		if !tells {
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
			return 0, whittle.Errorf(whittle.Unavailable, "no answer in %s says that the end is reached: %w", time.Duration(deaf+empty)*idleTimeout, err)
		}
	}
}

// nextWithin is r.Next; silent says that nothing came in time.
func nextWithin(ctx context.Context, r Reader, into []Entry, idleTimeout time.Duration) (n int, silent bool, err error) {
	waiting, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	n, err = r.Next(waiting, into)
	_, corrupt := errors.AsType[*CorruptError](err)
	return n, n == 0 && err != nil && !corrupt && waiting.Err() != nil && ctx.Err() == nil, err
}
