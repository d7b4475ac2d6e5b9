package bodycopy

// Queue holds the bytes of a body that have been read and not yet written on, within
// a limit and a budget. One goroutine at a time uses it. The zero value with a limit
// and a budget is ready.
type Queue struct {
	// Limit bounds the bytes held.
	Limit  int64
	Budget *Budget

	held   int64
	pieces []*Piece
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

// Room is free memory behind what is held; empty: there is none. want says how many
// bytes are to follow: for a few a small piece does.
func (q *Queue) Room(want int) []byte {
	left := q.Limit - q.held
	if left <= 0 {
		return nil
	}
	var last *Piece
	if n := len(q.pieces); n > 0 {
		last = q.pieces[n-1]
	}
	if last == nil || last.to == len(last.memory) {
		size := int64(nextPiece)
		if want <= firstPiece && last == nil {
			size = firstPiece
		}
		if !q.Budget.Take(size) {
			return nil
		}
		last = newPiece(size)
		q.pieces = append(q.pieces, last)
	}
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
	p := q.pieces[0]
	q.pieces[0] = nil
	q.pieces = q.pieces[1:]
	q.held -= int64(p.to - p.from)
	return p
}

// Read takes bytes out of the queue into p.
func (q *Queue) Read(p []byte) (n int) {
	for n < len(p) && q.held > 0 {
		first := q.pieces[0]
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
}

// Drop lets go of all that is held.
func (q *Queue) Drop() {
	for _, p := range q.pieces {
		q.Free(p)
	}
	q.pieces, q.held = nil, 0
}

func newPiece(size int64) *Piece {
	if size == firstPiece {
		return &Piece{memory: firstPieces.Get().(*[firstPiece]byte)[:]}
	}
	return &Piece{memory: nextPieces.Get().(*[nextPiece]byte)[:]}
}
