package kinesis

import (
	"bytes"
	"context"
	"slices"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// maxText is the longest header name or value that the records' encoding keeps.
const maxText = 64 << 10

// envelopeCost is about how much longer than the compact encoding an envelope is.
const envelopeCost = 256

// Append adds records to the queue and waits for their results. When the queue
// is full, the rest of the call is refused at once (ResourceExhausted).
func (s *Stream) Append(ctx context.Context, records []stream.Record) []stream.Result {
	of := &appendCall{
		results: make([]stream.Result, len(records)),
		left:    len(records),
		done:    make(chan struct{}),
	}
	if len(records) == 0 {
		return of.results
	}
	if ctx.Err() != nil {
		return slices.Repeat([]stream.Result{{Err: stream.Ended(ctx, "put record")}}, len(records))
	}
	bodies, errs := s.encode(records)
	s.admit(of, records, bodies, errs)
	s.wakeup.Notify()
	select {
	case <-of.done:
	case <-ctx.Done():
		s.mu.Lock()
		s.queue.withdraw(of, stream.Ended(ctx, "put record"))
		s.mu.Unlock()
	}
	return of.results
}

// encode gives each record's data, or why there is none.
func (s *Stream) encode(records []stream.Record) (bodies [][]byte, errs []error) {
	bodies, errs = make([][]byte, len(records)), make([]error, len(records))
	for i := range records {
		r := &records[i]
		if errs[i] = s.check(r); errs[i] != nil {
			continue
		}
		if s.o.Raw {
			bodies[i] = bytes.Clone(r.Value)
			continue
		}
		if !s.o.Compact {
			if b, ok := appendEnvelope(make([]byte, 0, stream.EncodedLen(r)+envelopeCost), r, s.o.MaxRecord-stream.MaxKey); ok {
				bodies[i] = b
				continue
			}
		}
		bodies[i] = stream.AppendRecord(make([]byte, 0, stream.EncodedLen(r)), r)
	}
	return bodies, errs
}

func (s *Stream) check(r *stream.Record) error {
	invalid := func(format string, args ...any) error {
		return whittle.Errorf(whittle.Invalid, "put record: "+format, args...)
	}
	if err := stream.Check(r, s.Limit()); err != nil {
		return err
	}
	switch {
	case s.o.Raw && len(r.Value) == 0:
		return invalid("a raw stream takes no empty value")
	case s.o.Raw && !r.Intact():
		return invalid("its value is not what was sealed, and a raw stream does not keep the sum")
	}
	for _, h := range r.Header {
		if len(h.Name) > maxText || len(h.Value) > maxText {
			return invalid("a header has more than %d bytes", maxText)
		}
	}
	return nil
}

// admit puts records into the queue, up to the first one that does not fit. A
// record is refused, too, when an earlier one of its key and call was.
func (s *Stream) admit(of *appendCall, records []stream.Record, bodies [][]byte, errs []error) {
	now := time.Now()
	failed := map[string]bool{}
	refuse := func(i int, err error) {
		of.results[i].Err = err
		if of.left--; of.left == 0 {
			close(of.done)
		}
		if key := records[i].Key; key != "" {
			failed[key] = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	full := false
	for i := range records {
		switch {
		case s.closing:
			refuse(i, errClosed)
		case errs[i] != nil:
			refuse(i, errs[i])
		case full:
			refuse(i, errFull)
		case failed[records[i].Key]:
			refuse(i, errEarlierFailed)
		case !s.queue.push(of, i, records[i].Key, bodies[i], now):
			full = true
			refuse(i, errFull)
		}
	}
}
