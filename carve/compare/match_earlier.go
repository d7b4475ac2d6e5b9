package compare

import (
	"bytes"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
)

// Bounds of what is remembered of earlier responses, of all requests together.
const (
	earlierRequests = 64
	earlierBytes    = 1 << 20
	// earlierKept is how long a response is held against later ones.
	earlierKept = 5 * time.Minute
	// earlierApart is how far apart a request's responses are looked at.
	earlierApart = 200 * time.Millisecond
)

// anyRequest stands for the last exchange, whatever its request.
const anyRequest = 0

// earlier remembers what both sides said to some requests, so that what they say to the
// same requests later can be held against it. It is learned anew in each process, and is
// neither shown nor kept anywhere else.
type earlier struct {
	of    map[uint64]said
	bytes int
}

// said is what both sides said to a user.
type said struct {
	monolith, candidate []byte
	user                uint64
	at                  time.Time
}

func saidIn(x *whittle.Exchange) said {
	return said{x.Monolith.Body, x.Candidate.Body, x.User, x.At}
}

func (s *said) size() int { return len(s.monolith) + len(s.candidate) }

// due gives what was said to a request at least earlierApart ago, and remembers what is said
// now in its place. ok is false where nothing is remembered, or something too old.
func (e *earlier) due(request uint64, now said) (before said, ok bool) {
	before, ok = e.of[request]
	age := now.at.Sub(before.at)
	if ok && age >= 0 && age < earlierApart {
		return before, false
	}
	e.forget(request)
	e.remember(request, now)
	return before, ok && age >= 0 && age <= earlierKept
}

// remember copies what both sides say, if there is room.
func (e *earlier) remember(request uint64, now said) {
	if len(e.of) >= earlierRequests {
		for k, s := range e.of {
			if now.at.Sub(s.at) > earlierKept {
				e.forget(k)
			}
		}
	}
	if len(e.of) >= earlierRequests && request != anyRequest || e.bytes+now.size() > earlierBytes {
		return
	}
	if e.of == nil {
		e.of = map[uint64]said{}
	}
	now.monolith, now.candidate = bytes.Clone(now.monolith), bytes.Clone(now.candidate)
	e.of[request] = now
	e.bytes += now.size()
}

func (e *earlier) forget(request uint64) {
	s := e.of[request]
	e.bytes -= s.size()
	delete(e.of, request)
}

// requestHash is the same for the same request.
func requestHash(q *whittle.Request) uint64 {
	h := digest.Hash(digest.FNV([]byte(q.Method)))
	h.Text(q.Target)
	h.Text(string(q.Body))
	return digest.Mix(uint64(h))
}
