package replay

import (
	"whittle"
	"whittle/record/capture"
)

// Bounds of what is remembered to learn noise from: answers of each route, and
// bytes of all routes' answers.
const (
	repeatsMost  = 8192
	repeatsBytes = 32 << 20
	// seenMost bounds the requests that the first reading tells apart.
	seenMost = 1 << 18
)

// repeats remembers the last recorded answer to each of the latest requests, so
// that what the monolith changes by itself shows where a log has a request
// several times. The oldest goes first.
type repeats struct {
	last  map[capture.RequestKey]*whittle.Answer
	ring  []capture.RequestKey // in the order of their first coming
	bytes *int64               // of all routes' together
}

func newRepeats(bytes *int64) *repeats {
	return &repeats{last: map[capture.RequestKey]*whittle.Answer{}, bytes: bytes}
}

// see gives the answer before this one to the same request, nil where none is
// known, and remembers this one.
func (r *repeats) see(e *capture.Entry) *whittle.Answer {
	if e.Answer.Failure != whittle.NoFailure || e.Answer.Truncated || e.Request.Truncated {
		return nil
	}
	k := capture.KeyOf(&e.Request)
	before, known := r.last[k]
	if !known {
		r.ring = append(r.ring, k)
	} else {
		*r.bytes -= int64(len(before.Body))
	}
	answer := e.Answer // not the whole entry is kept
	r.last[k] = &answer
	*r.bytes += int64(len(e.Answer.Body))
	for len(r.ring) > 1 && (len(r.ring) > repeatsMost || *r.bytes > repeatsBytes) {
		oldest := r.ring[0]
		r.ring = r.ring[1:]
		*r.bytes -= int64(len(r.last[oldest].Body))
		delete(r.last, oldest)
	}
	return before
}
