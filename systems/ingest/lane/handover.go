package lane

import (
	"net"
	"sync"
	"time"
)

// handover is the listener from which net/http gets the connections that are
// not for the lane.
type handover struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newHandover(addr net.Addr) *handover {
	return &handover{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// give hands a connection over, with what has been read of it in front. Where
// nobody takes any more, the connection is closed.
func (h *handover) give(rwc net.Conn, read []byte) {
	// What the lane has set is not net/http's; where this fails, so does what
	// net/http does next.
	_ = rwc.SetDeadline(time.Time{})
	c := rwc
	if len(read) > 0 {
		c = &resumed{Conn: rwc, read: append([]byte(nil), read...)}
	}
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = rwc.Close() // no request of it was taken
	}
}

// Accept implements net.Listener.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handover) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr implements net.Listener.
func (h *handover) Addr() net.Addr { return h.addr }

// resumed is a connection of which something has been read.
type resumed struct {
	net.Conn
	read []byte // and not yet given on
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
