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

// earlier remembers what both sides said to some requests, so that what they say to the
// same requests later can be held against it. It is learned anew in each process, and is
// neither shown nor kept anywhere else.
type earlier struct {
	of    map[uint64]*said
	bytes int
}

// said is when something was said to a request first, and when that was last looked
// at. before are both sides' responses since which neither has moved, and then those in
// which one of them had.
type said struct {
	at, looked   time.Time
	before, then *bodies
}

// bodies are what both sides said to a user.
type bodies struct {
	monolith, candidate []byte
	user                uint64
	at                  time.Time // or later, if they were the same then
}

func bodiesOf(x *whittle.Exchange) *bodies {
	return &bodies{x.Monolith.Body, x.Candidate.Body, x.User, x.At}
}

func (b *bodies) size() int {
	if b == nil {
		return 0
	}
	return len(b.monolith) + len(b.candidate)
}

func (s *said) size() int { return s.before.size() + s.then.size() }

// due gives what was said to a request at least earlierApart ago, and remembers what is
// said now where nothing is remembered, or something too old.
func (e *earlier) due(x *whittle.Exchange) *said {
	key := requestHash(&x.Request)
	s := e.of[key]
	if s != nil && (x.At.Before(s.at) || x.At.Sub(s.at) > earlierKept) {
		e.forget(key)
		s = nil
	}
	switch {
	case s == nil:
		e.remember(key, x)
	case x.At.Sub(s.looked) >= earlierApart:
		s.looked = x.At
		return s
	}
	return nil
}

func (e *earlier) remember(key uint64, x *whittle.Exchange) {
	if len(e.of) >= earlierRequests {
		for k, s := range e.of {
			if x.At.Sub(s.at) > earlierKept {
				e.forget(k)
			}
		}
	}
	if len(e.of) >= earlierRequests {
		return
	}
	if e.of == nil {
		e.of = map[uint64]*said{}
	}
	e.of[key] = &said{at: x.At, looked: x.At, before: e.bodies(x)}
}

// bodies copies what both sides say, if there is room; nil: there is none.
func (e *earlier) bodies(x *whittle.Exchange) *bodies {
	b := bodiesOf(x)
	if e.bytes+b.size() > earlierBytes {
		return nil
	}
	e.bytes += b.size()
	b.monolith, b.candidate = bytes.Clone(b.monolith), bytes.Clone(b.candidate)
	return b
}

// settled has what was said in a move stand for what was said before.
func (e *earlier) settled(s *said) {
	e.bytes -= s.before.size()
	s.before, s.then = s.then, nil
}

func (e *earlier) forget(key uint64) {
	e.bytes -= e.of[key].size()
	delete(e.of, key)
}

// requestHash is the same for the same request.
func requestHash(q *whittle.Request) uint64 {
	h := digest.Hash(digest.FNV([]byte(q.Method)))
	h.Text(q.Target)
	h.Text(string(q.Body))
	return digest.Mix(uint64(h))
}
