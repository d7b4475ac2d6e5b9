package main

import (
	"context"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// Waits between two attempts.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 10 * time.Second
)

// pause waits before attempt n+1, or as long as the other side asked for.
func pause(ctx context.Context, first time.Duration, n int, asked time.Duration) bool {
	return notify.Sleep(ctx, max(asked, min(longestWait, first<<min(n, 16))))
}

// target is where events are replayed to. It returns when each of the batch is
// there or was rejected for good, and after an error when nothing is under way
// any more. done has for each event whether it needs not be sent again.
type target interface {
	send(ctx context.Context, batch []stream.Entry, done []bool) (rejected []rejection, err error)
	close()
}

// rejection is an event that the other side will not take.
type rejection struct {
	at     stream.Position
	reason string
}

// streamTarget replays onto a stream.
type streamTarget struct{ to stream.Stream }

func (a *streamTarget) close() { closeQuietly(a.to) }

func (a *streamTarget) send(ctx context.Context, batch []stream.Entry, done []bool) ([]rejection, error) {
	records := make([]stream.Record, len(batch))
	of := make([]int, len(batch))
	for i := range batch {
		records[i], of[i] = batch[i].Record, i
	}
	var rejected []rejection
	for attempt := 0; ; attempt++ {
		left := 0
		var last error
		for i, r := range a.to.Append(ctx, records) {
			switch {
			case r.Err == nil:
				done[of[i]] = true
			case whittle.CodeOf(r.Err) == whittle.Invalid:
				done[of[i]] = true
				rejected = append(rejected, rejection{batch[of[i]].Position, r.Err.Error()})
			default:
				records[left], of[left] = records[i], of[i]
				left++
				last = r.Err
			}
		}
		if left == 0 {
			return rejected, nil
		}
		records, of = records[:left], of[:left]
		if !pause(ctx, firstWait, attempt, 0) {
			return rejected, whittle.Errorf(whittle.Unavailable, "append: %w", last)
		}
	}
}
