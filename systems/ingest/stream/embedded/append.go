package embedded

import (
	"context"
	"slices"
	"strconv"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Append implements stream.Stream. A record whose value is not what it was
// sealed as is refused as Unavailable: it changed on its way here, and its
// sender has it whole.
func (l *Log) Append(ctx context.Context, records []stream.Record) []stream.Result {
	return l.AppendCopy(ctx, records, func() {})
}

// AppendCopy implements stream.Copying.
func (l *Log) AppendCopy(ctx context.Context, records []stream.Record, copied func()) []stream.Result {
	results := make([]stream.Result, len(records))
	if ctx.Err() != nil {
		refuse(results, 0, stream.Ended(ctx, "append"))
		return results
	}
	l.check(records, results)
	var one [1]run
	runs := l.enqueue(ctx, records, results, one[:0])
	if !slices.ContainsFunc(results, func(r stream.Result) bool { return r.Err != nil }) {
		copied()
	}
	for _, r := range runs {
		if !l.awaitCommit(ctx, r, results) {
			refuse(results, r.from, stream.Ended(ctx, "append"))
			break
		}
	}
	return results
}

// check refuses what cannot be kept, and what comes behind it with its key.
func (l *Log) check(records []stream.Record, results []stream.Result) {
	var stopped map[string]bool
	for i := range records {
		r := &records[i]
		if stopped[r.Key] {
			results[i].Err = errBehind
			continue
		}
		if results[i].Err = stream.Check(r, l.o.MaxRecord); results[i].Err == nil && !r.Intact() {
			results[i].Err = whittle.Errorf(whittle.Unavailable, "the record's value does not match its sum")
		}
		if results[i].Err != nil && r.Key != "" {
			if stopped == nil {
				stopped = map[string]bool{}
			}
			stopped[r.Key] = true
		}
	}
}

var errBehind = whittle.Errorf(whittle.Unavailable, "an earlier record of its key was not kept")

// enqueue puts the records into batches, and waits while there is no room.
func (l *Log) enqueue(ctx context.Context, records []stream.Record, results []stream.Result, runs []run) []run {
	for next := 0; ; {
		var (
			space <-chan struct{}
			err   *whittle.Error
		)
		runs, next, space, err = l.intake.put(ctx, records, results, next, runs)
		switch {
		case err != nil:
			refuse(results, next, err)
			return runs
		case space == nil:
			return runs
		}
		select {
		case <-space:
		case <-ctx.Done():
			refuse(results, next, stream.Ended(ctx, "append"))
			return runs
		}
		// A part that failed takes the rest with it, lest that pass it.
		if n := len(runs); n > 0 && runs[n-1].result.failed() {
			refuse(results, next, errBehind)
			return runs
		}
	}
}

// failed reports whether the batch is known not to be kept.
func (t *commitResult) failed() bool {
	select {
	case <-t.done:
		return t.err != nil
	default:
		return false
	}
}

// refuse sets the error of every result from an index on that has none.
func refuse(results []stream.Result, from int, err error) {
	for i := from; i < len(results); i++ {
		if results[i].Err == nil {
			results[i].Err = err
		}
	}
}

// awaitCommit waits for a batch, and says where its records are. It returns false when
// ctx ended before that was known.
func (l *Log) awaitCommit(ctx context.Context, r run, results []stream.Result) bool {
	<-r.wait.wake
	select {
	case <-r.result.done: // what is known counts, also where ctx has ended
	default:
		return false
	}
	if r.result.err != nil {
		for i := range results[r.from:r.to] {
			results[r.from+i].Err = r.result.err
		}
		return true
	}
	place(results[r.from:r.to], r.result.base+uint64(r.slot))
	return true
}

// place sets dense positions. Their numbers share one string.
func place(results []stream.Result, offset uint64) {
	if len(results) == 1 {
		results[0].Position = position(offset)
		return
	}
	const longest = 20 // digits
	text := make([]byte, 0, longest*len(results))
	for i := range results {
		text = strconv.AppendUint(text, offset+uint64(i), 10)
	}
	all := string(text)
	width, limit := 1, uint64(10) // limit is the first number that is wider
	for i := range results {
		for n := offset + uint64(i); width < longest && n >= limit; {
			if width++; width < longest {
				limit *= 10
			}
		}
		results[i].Position = stream.Position{Partition: Partition, Offset: all[:width]}
		all = all[width:]
	}
}
