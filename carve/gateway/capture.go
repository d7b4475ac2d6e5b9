package gateway

import (
	"io"
	"iter"
	"sync"
	"sync/atomic"
)

// A captured body lies in pieces: a small first one, since most bodies are
// small, and larger ones after it. Growing never copies, so a long body costs
// the user's goroutine no more per byte than a short one.
const (
	firstPiece = 2 << 10
	nextPiece  = 32 << 10
)

var (
	firstPieces = sync.Pool{New: func() any { return new([firstPiece]byte) }}
	nextPieces  = sync.Pool{New: func() any { return new([nextPiece]byte) }}
)

// budget bounds the bytes that all copies of one route hold. What is used is
// counted outside of it, since it goes on when a reload brings another limit.
type budget struct {
	limit int64
	used  *atomic.Int64
	// whole is the budget that this one is a part of. Nil: none.
	whole *budget
}

// take reserves n bytes, or nothing where they do not fit.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.limit || b.whole != nil && !b.whole.take(n) {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *budget) give(n int64) {
	b.used.Add(-n)
	if b.whole != nil {
		b.whole.give(n)
	}
}

// captureState says what a capture has become.
type captureState uint8

const (
	capturing captureState = iota
	cut                    // longer than the bound: the copy is given up
	starved                // the route's memory is used up: the copy is given up
	taken                  // flattened, or dropped
)

// capture is a bounded copy of one body, made as the body goes by. The zero
// value with a limit and a budget is ready. It only ever looks at the bytes:
// whatever happens to the copy, the body goes on untouched. A copy that cannot
// be whole is released at once, since half a body compares with nothing.
type capture struct {
	limit  int64
	budget *budget

	mu    sync.Mutex // guards the following; a transport may read a body after the response came
	state captureState
	size  int64
	first *[firstPiece]byte
	rest  []*[nextPiece]byte
}

// add copies p, unless the copy has been given up.
func (c *capture) add(p []byte) {
	if len(p) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != capturing {
		return
	}
	if why := c.append(p); why != capturing {
		c.release(why)
	}
}

// hold copies p, or copies nothing and leaves what is held as it is: for an
// owner who then makes room by writing it out.
func (c *capture) hold(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != capturing {
		return false
	}
	before := c.size
	if c.append(p) != capturing {
		c.size = before
		return false
	}
	return true
}

// append says why p does not fit, having perhaps copied some of it. The caller
// holds mu.
func (c *capture) append(p []byte) captureState {
	if c.size+int64(len(p)) > c.limit {
		return cut
	}
	for len(p) > 0 {
		room := c.room()
		if room == nil {
			return starved
		}
		n := copy(room, p)
		c.size += int64(n)
		p = p[n:]
	}
	return capturing
}

// room is the free rest of the last piece, or of a new one; nil where the
// budget has none. The caller holds mu.
func (c *capture) room() []byte {
	switch at := c.size - firstPiece; {
	case at < 0:
		if c.first == nil {
			if !c.budget.take(firstPiece) {
				return nil
			}
			c.first = firstPieces.Get().(*[firstPiece]byte)
		}
		return c.first[c.size:]
	default:
		piece, off := int(at/nextPiece), at%nextPiece
		if piece == len(c.rest) {
			if !c.budget.take(nextPiece) {
				return nil
			}
			c.rest = append(c.rest, nextPieces.Get().(*[nextPiece]byte))
		}
		return c.rest[piece][off:]
	}
}

// release gives the pieces back. The caller holds mu.
func (c *capture) release(to captureState) {
	if n := c.held(); n > 0 {
		c.budget.give(n)
	}
	if c.first != nil {
		firstPieces.Put(c.first)
	}
	for _, p := range c.rest {
		nextPieces.Put(p)
	}
	c.first, c.rest, c.state = nil, nil, to
}

// held is the capacity reserved. The caller holds mu.
func (c *capture) held() int64 {
	n := int64(len(c.rest)) * nextPiece
	if c.first != nil {
		n += firstPiece
	}
	return n
}

// drop gives the copy up. A capture may be dropped more than once.
func (c *capture) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == capturing {
		c.release(taken)
	}
}

// now says what the capture is at this moment, and how long its body.
func (c *capture) now() (captureState, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.size
}

// writeTo writes what is held and gives it up.
func (c *capture) writeTo(w io.Writer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != capturing {
		return nil
	}
	defer c.release(taken)
	for p := range c.pieces() {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// pieces yields the body in order. The caller holds mu.
func (c *capture) pieces() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if c.first == nil || !yield(c.first[:min(c.size, firstPiece)]) {
			return
		}
		left := c.size - firstPiece
		for i := 0; i < len(c.rest) && left > 0; i++ {
			if !yield(c.rest[i][:min(left, nextPiece)]) {
				return
			}
			left -= nextPiece
		}
	}
}

// flatten moves the body into memory of its own, which whoever holds the
// exchange may keep, and gives the pieces back. The bytes returned stay
// reserved in the budget until the caller gives len(body) back. False where
// the capture was given up, or the budget has no room for the move.
func (c *capture) flatten() (body []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != capturing {
		return nil, false
	}
	if !c.budget.take(c.size) {
		c.release(starved)
		return nil, false
	}
	body = make([]byte, 0, c.size)
	for p := range c.pieces() {
		body = append(body, p...)
	}
	c.release(taken)
	return body, true
}
