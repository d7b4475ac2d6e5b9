package fastpath

import (
	"errors"
	"net"
	"sync"
	"time"
)

// fallbackListener is the listener from which net/http accepts the connections
// that leave the fast path.
type fallbackListener struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newFallbackListener(addr net.Addr) *fallbackListener {
	return &fallbackListener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// handOver passes a connection to net/http, with the bytes that were read in
// front. When nobody accepts any more, it closes the connection.
func (h *fallbackListener) handOver(rwc net.Conn, read []byte) {
	// The deadlines of the fast path must not apply to net/http. Where this
	// fails, so does what net/http does next.
	_ = rwc.SetDeadline(time.Time{})
	c := rwc
	if len(read) > 0 {
		c = &resumed{Conn: rwc, read: append([]byte(nil), read...)}
	}
	c = newStrictConn(c)
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = rwc.Close() // no request of it was served
	}
}

// Accept implements net.Listener.
func (h *fallbackListener) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *fallbackListener) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr implements net.Listener.
func (h *fallbackListener) Addr() net.Addr { return h.addr }

// resumed is a connection of which something has been read.
type resumed struct {
	net.Conn
	read []byte // and not yet returned by Read
}

// CloseWrite closes one direction.
func (c *resumed) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (c *resumed) Read(b []byte) (int, error) {
	if len(c.read) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.read)
	if c.read = c.read[n:]; len(c.read) == 0 {
		c.read = nil
	}
	return n, nil
}
