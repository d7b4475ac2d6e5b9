package replay

import (
	"crypto/sha256"
	"hash"
	"io"

	"whittle"
	"whittle/capture"
)

// Bounds of what is remembered to learn noise from: answers of each route, and
// bytes of all routes' answers.
const (
	repeatsMost  = 8192
	repeatsBytes = 32 << 20
	// seenMost bounds the requests that the first reading tells apart.
	seenMost = 1 << 18
)

type requestKey [16]byte

// keyOf names a request: two of the same key should have the same answer. What
// a user is known by and what the answer is chosen by are of it.
func keyOf(q *whittle.Request) requestKey {
	h := sha256.New()
	part(h, q.Method)
	part(h, q.Target)
	for _, name := range [...]string{"Authorization", "Cookie", "Accept", "Accept-Language", "Content-Type"} {
		part(h, q.Header.Get(name))
	}
	h.Write(q.Body)
	var k requestKey
	copy(k[:], h.Sum(nil))
	return k
}

func part(h hash.Hash, s string) {
	_, _ = io.WriteString(h, s) // a hash does not fail
	h.Write([]byte{0})
}

// repeats remembers the last recorded answer to each of the latest requests, so
// that what the monolith changes by itself shows where a log has a request
// several times. The oldest goes first.
type repeats struct {
	last  map[requestKey]*whittle.Answer
	ring  []requestKey // in the order of their first coming
	bytes *int64       // of all routes' together
}

func newRepeats(bytes *int64) *repeats {
	return &repeats{last: map[requestKey]*whittle.Answer{}, bytes: bytes}
}

// see gives the answer before this one to the same request, nil where none is
// known, and remembers this one.
func (r *repeats) see(e *capture.Entry) *whittle.Answer {
	if e.Answer.Failure != whittle.NoFailure || e.Answer.Truncated || e.Request.Truncated {
		return nil
	}
	k := keyOf(&e.Request)
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
