// Package conns has what servers need that read connections themselves and leave some of
// them to others: the set of those that are open, a listener by which connections are handed
// on, and a connection of which something has been read.
package conns

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Set is the connections that are open. It is safe for concurrent use, and the zero value is
// ready.
type Set[C comparable] struct {
	closing atomic.Bool // written under mu

	mu   sync.Mutex // guards the following
	open map[C]struct{}
	// empty is closed when none is open; nil: nobody waits for that.
	empty chan struct{}
}

// Add takes a connection in, until Remove. False: Close was called, and it is not.
func (s *Set[C]) Add(c C) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return false
	}
	if s.open == nil {
		s.open = map[C]struct{}{}
	}
	s.open[c] = struct{}{}
	return true
}

// Remove takes a connection out.
func (s *Set[C]) Remove(c C) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	if len(s.open) == 0 && s.empty != nil {
		close(s.empty)
		s.empty = nil
	}
}

// Go serves a connection on a goroutine of its own, and removes it then. False: as in Add.
func (s *Set[C]) Go(c C, serve func()) bool {
	if !s.Add(c) {
		return false
	}
	go func() {
		defer s.Remove(c)
		serve()
	}()
	return true
}

// Len is how many are open.
func (s *Set[C]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// Closing reports whether Close was called.
func (s *Set[C]) Closing() bool { return s.closing.Load() }

// Close takes no further connection in, and calls do for each that is open.
func (s *Set[C]) Close(do func(C)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Store(true)
	s.each(do)
}

// Each calls do for each connection that is open.
func (s *Set[C]) Each(do func(C)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.each(do)
}

func (s *Set[C]) each(do func(C)) {
	for c := range s.open {
		do(c)
	}
}

// Wait waits until none is open. Once ctx ends it calls cut for each that is, and goes on
// waiting; a nil cut: it gives the context's error.
func (s *Set[C]) Wait(ctx context.Context, cut func(C)) error {
	none := s.none()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
	}
	if cut == nil {
		return ctx.Err()
	}
	s.Each(cut)
	<-none
	return nil
}

// none is closed when none is open.
func (s *Set[C]) none() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	none := s.empty
	if len(s.open) == 0 {
		close(s.empty)
		s.empty = nil
	}
	return none
}

// Handle calls a request's handler. False: it panicked, so the response is not whole; the
// panic is logged, unless it is http.ErrAbortHandler.
func Handle(handler func(), peer string, logf func(format string, args ...any)) (whole bool) {
	defer func() {
		if whole {
			return
		}
		p := recover()
		if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			logf("http: panic serving %v: %v\n%s", peer, p, debug.Stack())
		}
	}()
	handler()
	return true
}

// Cut closes a connection under whoever uses it. TLS is not ended in form, which could wait
// for the client.
func Cut(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	_ = c.Close() // whatever it says, the connection goes
}

// CloseWrite ends what is sent by a connection, where it can be ended alone.
func CloseWrite(c any) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Resumed is a connection of which something has been read.
type Resumed struct {
	net.Conn
	read []byte // and not yet returned by Read
}

// Resume gives a connection with what was read of it in front again, of which it makes a
// copy.
func Resume(c net.Conn, read []byte) net.Conn {
	if len(read) == 0 {
		return c
	}
	return &Resumed{c, append([]byte(nil), read...)}
}

// Read implements net.Conn.
func (c *Resumed) Read(p []byte) (int, error) {
	if len(c.read) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.read)
	if c.read = c.read[n:]; len(c.read) == 0 {
		c.read = nil
	}
	return n, nil
}

// CloseWrite closes one direction.
func (c *Resumed) CloseWrite() error { return CloseWrite(c.Conn) }

// Unsent is that of what is below: how much was written that the peer's machine has not
// taken; 0 also where that is not known.
func (c *Resumed) Unsent() int { return Unsent(c.Conn) }

// Unsent is how much was written to c that the peer's machine has not taken; 0 also where
// that is not known.
func Unsent(c net.Conn) int {
	if u, ok := c.(interface{ Unsent() int }); ok {
		return u.Unsent()
	}
	return 0
}

// Handed is a listener whose connections are handed to it.
type Handed struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewHanded makes a listener that says it has an address.
func NewHanded(addr net.Addr) *Handed {
	return &Handed{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Give hands a connection over, and closes it where nobody accepts any more.
func (l *Handed) Give(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.closed:
		_ = c.Close() // the server is ending
	}
}

// Accept implements net.Listener.
func (l *Handed) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Handed) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Handed) Addr() net.Addr { return l.addr }
