package stream

import (
	"context"
	"time"

	"whittle"
)

// Check refuses, as Invalid, a record that is out of the contract's bounds or
// longer than limit bytes as it is encoded.
func Check(r *Record, limit int) error {
	switch n := EncodedLen(r); {
	case n > limit:
		return whittle.Errorf(whittle.Invalid, "a record of %d bytes is too large: %d are taken", n, limit)
	case len(r.ID) > MaxID:
		return whittle.Errorf(whittle.Invalid, "a record's id has %d bytes: %d are taken", len(r.ID), MaxID)
	case len(r.Key) > MaxKey:
		return whittle.Errorf(whittle.Invalid, "a record's key has %d bytes: %d are taken", len(r.Key), MaxKey)
	case len(r.Header) > MaxHeaders:
		return whittle.Errorf(whittle.Invalid, "a record has %d headers: %d are taken", len(r.Header), MaxHeaders)
	}
	return nil
}

// Ended is the error of a context that has ended, with its code: Canceled or
// DeadlineExceeded.
func Ended(ctx context.Context, doing string) *whittle.Error {
	code := whittle.Canceled
	if ctx.Err() == context.DeadlineExceeded {
		code = whittle.DeadlineExceeded
	}
	return whittle.Errorf(code, "%s: %w", doing, ctx.Err())
}

// Backoff is the wait before attempt n+1 (n from 0), with full jitter: r in
// [0, 1) of shortest·2^n, or of longest where that is less. Source: M. Brooker,
// Exponential Backoff and Jitter.
func Backoff(n int, shortest, longest time.Duration, r float64) time.Duration {
	ceiling := longest
	if n < 32 && shortest<<n > 0 {
		ceiling = min(longest, shortest<<n)
	}
	return time.Duration(r * float64(ceiling))
}
