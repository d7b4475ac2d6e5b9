package socket

import (
	"io"
	"syscall"
)

// Idle waits for the first bytes of a message on a connection without a buffer: one is
// taken only while there is something to read, so connections that wait hold none.
// One goroutine at a time uses it, and nobody else reads meanwhile.
type Idle struct {
	raw  syscall.RawConn
	take func() []byte
	drop func()
	step func(fd uintptr) bool
	n    int
	err  error
}

// NewIdle gives one for a socket, nil where the system has no such calls. take gives a
// buffer, and drop has it back where there was nothing to read.
func NewIdle(raw syscall.RawConn, take func() []byte, drop func()) *Idle {
	if !available {
		return nil
	}
	w := &Idle{raw: raw, take: take, drop: drop}
	w.step = w.tryRead
	return w
}

// Read waits for bytes and reads them into the buffer that take gave last. It gives an
// error where there were none: then the buffer may have been dropped, and may not.
func (w *Idle) Read() (int, error) {
	if err := w.raw.Read(w.step); err != nil {
		return 0, err
	}
	switch {
	case w.err != nil:
		return 0, w.err
	case w.n == 0:
		return 0, io.EOF
	}
	return w.n, nil
}

func (w *Idle) tryRead(fd uintptr) bool {
	b := w.take()
	for {
		// An interrupted call is made again: no event would tell again of what is there.
		if w.n, w.err = ReadNow(int(fd), b); !interrupted(w.err) {
			break
		}
	}
	if wouldBlock(w.err) {
		w.drop()
		return false
	}
	return true
}
