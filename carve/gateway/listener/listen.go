package listener

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"whittle/internal/proxyproto"
	"whittle/internal/socket"
)

// maxWrite is the longest single write to a client. It is short enough that a write
// fails at its deadline only if the client reads nothing, not if it reads slowly.
const maxWrite = 16 << 10

// bounded is a listener with a limited number of open connections. At the limit it
// stops accepting: further clients wait in the kernel's queue.
type bounded struct {
	Listener
	s    *Server
	done chan struct{}
	once sync.Once
}

func (s *Server) bound(l Listener) *bounded {
	return &bounded{Listener: l, s: s, done: make(chan struct{})}
}

// Accept waits for a slot and the next connection.
func (l *bounded) Accept() (*client, error) {
	select {
	case l.s.slots <- struct{}{}:
	default:
		l.s.waits.Add(1)
		select {
		case l.s.slots <- struct{}{}:
		case <-l.done:
			return nil, net.ErrClosed
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.s.slots
		return nil, err
	}
	l.s.open.Add(1)
	if quick := socket.Of(c); quick != nil {
		c = quick
	}
	return &client{Conn: c, l: l, stall: l.s.c.StallTimeout}, nil
}

// Close ends accepting.
func (l *bounded) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// client is a client's connection as accepted.
type client struct {
	net.Conn
	l *bounded
	// proxied is what a PROXY protocol header says of it; the zero Header: there was none.
	proxied proxyproto.Header
	// certificate says whose certificate the client has shown; empty: it showed none.
	certificate string
	once        sync.Once
	stall       time.Duration
	until       atomic.Int64 // the write deadline in force, Unix ns
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

// local is the address of whoever connects by a Unix socket: a process of this machine.
var local = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}

// RemoteAddr implements net.Conn: the address of the client behind a proxy that tells it.
func (c *client) RemoteAddr() net.Addr {
	if c.proxied.Source.IsValid() {
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.proxied.Source.Addr().Unmap(), c.proxied.Source.Port()))
	}
	if _, ok := c.Conn.RemoteAddr().(*net.TCPAddr); !ok {
		return local
	}
	return c.Conn.RemoteAddr()
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
		<-c.l.s.slots
	})
	return c.Conn.Close()
}

// CloseWrite lets net/http and upgrades close one direction.
func (c *client) CloseWrite() error { return closeWrite(c.Conn) }
