// Package bodycopy copies bodies as they pass, within memory budgets that many copies
// share. Copying never delays or changes a body: if there is no room, the copy is given up.
package bodycopy

import (
	"io"
	"sync"
	"sync/atomic"
)

// A copied body is a list of pieces: a small first one, because most bodies are small,
// then larger ones. Growing copies nothing, so a long body costs the user's goroutine
// no more per byte than a short one.
const (
	firstPiece = 2 << 10
	nextPiece  = 32 << 10
)

var (
	firstPieces = sync.Pool{New: func() any { return new([firstPiece]byte) }}
	nextPieces  = sync.Pool{New: func() any { return new([nextPiece]byte) }}
)

// Budget bounds the bytes that many copies hold together. The counter lies outside,
// because it goes on when a reload changes the limit.
type Budget struct {
	Limit int64
	Used  *atomic.Int64
	// Whole is the budget that this one is a part of. Nil: none.
	Whole *Budget
}

// Take reserves n bytes, or nothing where they do not fit.
func (b *Budget) Take(n int64) bool {
	if b.Used.Add(n) > b.Limit || b.Whole != nil && !b.Whole.Take(n) {
		b.Used.Add(-n)
		return false
	}
	return true
}

// Give takes n reserved bytes back.
func (b *Budget) Give(n int64) {
	b.Used.Add(-n)
	if b.Whole != nil {
		b.Whole.Give(n)
	}
}

// State says what a copy has become.
type State uint8

const (
	Copying   State = iota // whole so far
	Cut                    // longer than the bound: the copy is given up
	Exhausted              // the route's memory is used up: the copy is given up
	Taken                  // flattened, or dropped
)

// Copy is a bounded copy of one body, made as the body goes by. It never changes or
// delays the body. A copy that cannot be whole is released at once, because half a
// body cannot be compared. The zero value with a limit and a budget is ready.
type Copy struct {
	Limit  int64
	Budget *Budget

	mu    sync.Mutex // guards the following; a transport may read a body after the response came
	state State
	queue Queue
	first [1]Piece // where the queue begins
}

// Add copies p, unless the copy has been given up.
func (c *Copy) Add(p []byte) {
	if len(p) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Copying {
		return
	}
	if why := c.append(p); why != Copying {
		c.release(why)
	}
}

// Hold copies all of p or nothing. If nothing, the caller can make room with WriteOut.
func (c *Copy) Hold(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Copying {
		return false
	}
	before := c.queue.held
	if c.append(p) != Copying {
		c.queue.cut(before)
		return false
	}
	return true
}

// append says why p does not fit, having perhaps copied some of it. The caller
// holds mu.
func (c *Copy) append(p []byte) State {
	q := &c.queue
	if q.held+int64(len(p)) > c.Limit {
		return Cut
	}
	if q.pieces == nil {
		q.Limit, q.Budget, q.pieces = c.Limit, c.Budget, c.first[:0]
	}
	if q.Put(p) < len(p) {
		return Exhausted
	}
	return Copying
}

// release gives the pieces back. The caller holds mu.
func (c *Copy) release(to State) {
	c.queue.Drop()
	c.state = to
}

// Drop gives the copy up. A copy may be dropped more than once.
func (c *Copy) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Copying {
		c.release(Taken)
	}
}

// Now returns the copy's state, and while it is Copying the length of its body so far.
func (c *Copy) Now() (State, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.queue.held
}

// WriteOut writes the copied bytes to w and releases them.
func (c *Copy) WriteOut(w io.Writer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Copying {
		return nil
	}
	defer c.release(Taken)
	for _, p := range c.queue.pieces {
		if _, err := w.Write(p.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// Flatten moves the body into one slice that the caller owns, and releases the pieces.
// len(body) bytes stay reserved in the budget until the caller gives them back. False:
// the copy was given up, or the budget has no room for the move.
func (c *Copy) Flatten() (body []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Copying {
		return nil, false
	}
	if !c.Budget.Take(c.queue.held) {
		c.release(Exhausted)
		return nil, false
	}
	body = make([]byte, 0, c.queue.held)
	for _, p := range c.queue.pieces {
		body = append(body, p.Bytes()...)
	}
	c.release(Taken)
	return body, true
}

// Queue holds the bytes of a body that have been read and not yet written on, within
// a limit and a budget. One goroutine at a time uses it. The zero value with a limit
// and a budget is ready.
type Queue struct {
	// Limit bounds the bytes held.
	Limit  int64
	Budget *Budget

	held   int64
	pieces []Piece
}

// Piece is a part of a Queue.
type Piece struct {
	memory   []byte
	from, to int
}

// Bytes are those of the piece, valid until Free.
func (p *Piece) Bytes() []byte { return p.memory[p.from:p.to] }

// Put takes in as much of p as there is room for, and gives how much that is.
func (q *Queue) Put(p []byte) (n int) {
	for n < len(p) {
		room := q.Room(len(p) - n)
		if len(room) == 0 {
			break
		}
		m := copy(room, p[n:])
		q.Filled(m)
		n += m
	}
	return n
}

// Room is free memory behind the bytes that are held; empty: none is free. want says how many
// bytes are to follow: for a few a small piece does.
func (q *Queue) Room(want int) []byte {
	left := q.Limit - q.held
	if left <= 0 {
		return nil
	}
	n := len(q.pieces)
	if n == 0 || q.pieces[n-1].to == len(q.pieces[n-1].memory) {
		size := int64(nextPiece)
		if want <= firstPiece && n == 0 {
			size = firstPiece
		}
		if !q.Budget.Take(size) {
			return nil
		}
		q.pieces = append(q.pieces, newPiece(size))
	}
	last := &q.pieces[len(q.pieces)-1]
	room := last.memory[last.to:]
	return room[:min(int64(len(room)), left)]
}

// Filled says that so many bytes have been written into Room.
func (q *Queue) Filled(n int) {
	q.pieces[len(q.pieces)-1].to += n
	q.held += int64(n)
}

// Len is how many bytes are held.
func (q *Queue) Len() int64 { return q.held }

// Next gives the first piece, which is the caller's until Free; nil: nothing is held.
func (q *Queue) Next() *Piece {
	if q.held == 0 {
		return nil
	}
	p := &q.pieces[0]
	q.pieces = q.pieces[1:]
	q.held -= int64(p.to - p.from)
	return p
}

// Read takes bytes out of the queue into p.
func (q *Queue) Read(p []byte) (n int) {
	for n < len(p) && q.held > 0 {
		first := &q.pieces[0]
		m := copy(p[n:], first.Bytes())
		first.from += m
		q.held -= int64(m)
		n += m
		if first.from == first.to {
			q.pieces = q.pieces[1:]
			q.Free(first)
		}
	}
	return n
}

// Free gives a piece's memory back.
func (q *Queue) Free(p *Piece) {
	q.Budget.Give(int64(len(p.memory)))
	switch len(p.memory) {
	case firstPiece:
		firstPieces.Put((*[firstPiece]byte)(p.memory))
	case nextPiece:
		nextPieces.Put((*[nextPiece]byte)(p.memory))
	}
	p.memory = nil
}

// Drop lets go of all that is held.
func (q *Queue) Drop() {
	for i := range q.pieces {
		q.Free(&q.pieces[i])
	}
	q.pieces, q.held = nil, 0
}

// cut takes back what was put in last, until so many bytes are held.
func (q *Queue) cut(held int64) {
	for i := len(q.pieces) - 1; q.held > held; i-- {
		p := &q.pieces[i]
		n := min(q.held-held, int64(p.to-p.from))
		p.to -= int(n)
		q.held -= n
	}
}

func newPiece(size int64) Piece {
	if size == firstPiece {
		return Piece{memory: firstPieces.Get().(*[firstPiece]byte)[:]}
	}
	return Piece{memory: nextPieces.Get().(*[nextPiece]byte)[:]}
}
