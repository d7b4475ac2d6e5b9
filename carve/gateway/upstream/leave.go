package upstream

import "errors"

// errCut is what a response gives after Cut.
var errCut = errors.New("the response is not wanted any more")

// Leave leaves the last piece to whoever has it: the piece stays valid, and what
// follows is read into other memory. It gives the number of bytes that are held so,
// for which it asks first; false: there is no room, and nothing has changed.
func (a *Response) Leave(room func(bytes int64) bool) (held int64, ok bool) {
	if a.conn != nil {
		return a.conn.framed.leave(room)
	}
	s := a.body.(*readerSource)
	if s.buf == nil {
		return 0, true
	}
	held = int64(len(s.buf))
	if !room(held) {
		return 0, false
	}
	s.buf = nil
	return held, true
}

// leave is as in Response. A piece that was found and not returned stays in the
// memory that is left, which nobody writes into.
func (b *body) leave(room func(bytes int64) bool) (held int64, ok bool) {
	c := b.c
	held = int64(len(c.buf))
	if b.big != nil {
		held += int64(len(b.big))
	}
	if !room(held) {
		return 0, false
	}
	fresh := make([]byte, len(c.buf))
	c.w = copy(fresh, c.buf[c.r:c.w])
	c.r, c.buf, b.big = 0, fresh, nil
	return held, true
}

// Cut has a Next that waits, and any later one, fail. Unlike all else it may be called
// by another goroutine, before Close.
func (a *Response) Cut() {
	if a.conn != nil {
		a.conn.cut.Store(true)
		a.conn.kill()
		return
	}
	a.body.(*readerSource).watch.cancel()
}
