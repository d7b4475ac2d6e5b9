package replay

import (
	"whittle"
	"whittle/record/capture"
)

// Bounds of the responses that noise is learned from: their number for each
// route, and their bytes over all routes.
const (
	repeatsMost  = 8192
	repeatsBytes = 32 << 20
	// seenMost bounds the distinct requests that the first reading tracks.
	seenMost = 1 << 18
)

// repeats remembers the last recorded response to each of the latest requests.
// Where a log has a request several times, this shows what the monolith changes
// by itself. The oldest request is forgotten first.
type repeats struct {
	last   map[capture.RequestKey]*whittle.Response
	oldest []capture.RequestKey // in the order of their first coming
	bytes  *int64               // of all routes' together
}

func newRepeats(bytes *int64) *repeats {
	return &repeats{last: map[capture.RequestKey]*whittle.Response{}, bytes: bytes}
}

// see returns the previous response to the same request, nil where none is
// known, and remembers this one.
func (r *repeats) see(e *capture.Entry) *whittle.Response {
	if e.Response.Failure != whittle.NoFailure || e.Response.Truncated || e.Request.Truncated {
		return nil
	}
	k := capture.KeyOf(&e.Request)
	before, known := r.last[k]
	if !known {
		r.oldest = append(r.oldest, k)
	} else {
		*r.bytes -= int64(len(before.Body))
	}
	response := e.Response // not the whole entry is kept
	r.last[k] = &response
	*r.bytes += int64(len(e.Response.Body))
	for len(r.oldest) > 1 && (len(r.oldest) > repeatsMost || *r.bytes > repeatsBytes) {
		oldest := r.oldest[0]
		r.oldest = r.oldest[1:]
		*r.bytes -= int64(len(r.last[oldest].Body))
		delete(r.last, oldest)
	}
	return before
}
