package listener

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"whittle/internal/socket"
)

// maxWrite is the longest single write to a client. It is short enough that a write
// fails at its deadline only if the client reads nothing, not if it reads slowly.
const maxWrite = 16 << 10

// bounded is a listener with a limited number of open connections. At the limit it
// stops accepting: further clients wait in the kernel's queue.
type bounded struct {
	net.Listener
	s     *Server
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
}

func (s *Server) bound(l net.Listener) *bounded {
	return &bounded{Listener: l, s: s, slots: make(chan struct{}, s.c.Connections), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *bounded) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	default:
		l.s.waits.Add(1)
		select {
		case l.slots <- struct{}{}:
		case <-l.done:
			return nil, net.ErrClosed
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	l.s.open.Add(1)
	if quick := socket.Of(c); quick != nil {
		c = quick
	}
	return &client{Conn: c, l: l, stall: l.s.c.StallTimeout}, nil
}

// Close implements net.Listener.
func (l *bounded) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// client is a client's connection as accepted.
type client struct {
	net.Conn
	l     *bounded
	once  sync.Once
	stall time.Duration
	until atomic.Int64 // the write deadline in force, Unix ns
}

// Write implements net.Conn. The deadline moves with the bytes, so that it cuts
// a client that takes nothing, and never a long response.
func (c *client) Write(p []byte) (n int, err error) {
	for {
		if now := time.Now(); c.until.Load()-now.UnixNano() < int64(c.stall/2) {
			until := now.Add(c.stall)
			c.until.Store(until.UnixNano())
			if err := c.Conn.SetWriteDeadline(until); err != nil {
				return n, err
			}
		}
		m, err := c.Conn.Write(p[:min(len(p), maxWrite)])
		n += m
		p = p[m:]
		if err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// SetDeadline implements net.Conn for reads only: writes have their own.
func (c *client) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn. A deadline that has passed is how
// callers abort a write; others give way to the moving one.
func (c *client) SetWriteDeadline(t time.Time) error {
	if t.IsZero() {
		return nil
	}
	c.until.Store(t.UnixNano())
	return c.Conn.SetWriteDeadline(t)
}

// Close implements net.Conn.
func (c *client) Close() error {
	c.once.Do(func() {
		c.l.s.open.Add(-1)
		<-c.l.slots
	})
	return c.Conn.Close()
}

// CloseWrite lets net/http and upgrades close one direction.
func (c *client) CloseWrite() error { return closeWrite(c.Conn) }
