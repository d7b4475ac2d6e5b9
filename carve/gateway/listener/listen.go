package listener

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"whittle/carve/gateway/quota"
	"whittle/internal/conns"
	"whittle/internal/proxyproto"
	"whittle/internal/socket"
)

// maxWrite is the longest single write to a client of which it is not known what was
// taken meanwhile. It is short enough that a write fails at its deadline only if the
// client reads nothing, not if it reads slowly.
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

// Accept waits for a slot and the next connection of a client that may have one more.
func (l *bounded) Accept() (*client, error) {
	for {
		c, err := l.accept()
		if err != nil {
			return nil, err
		}
		if len(l.Proxies) > 0 || c.admitted() { // a proxy says later whose it is
			return c, nil
		}
		_ = c.Close() // nothing was sent
	}
}

// admitted counts the connection as its client's. False: it has too many.
func (c *client) admitted() bool {
	var err error
	c.counted, err = c.l.s.admit(c.RemoteAddr())
	return err == nil
}

// errCrowded says that a client has as many connections as it may have.
var errCrowded = errors.New("the client has too many connections")

// admit counts a connection of an address; nil: it is not counted.
func (s *Server) admit(addr net.Addr) (counted *quota.Key, err error) {
	limit := s.perClient.Load()
	tcp, ok := addr.(*net.TCPAddr)
	if limit <= 0 || !ok {
		return nil, nil
	}
	ip := tcp.AddrPort().Addr().Unmap()
	if Within(s.c.Exempt, ip) {
		return nil, nil
	}
	k := quota.OfIP(ip)
	if s.clients.Enter(k, int(limit)) {
		return &k, nil
	}
	s.crowded.Add(1)
	now, last := time.Now(), s.crowdedLog.Load()
	if now.UnixNano()-last > int64(time.Second) && s.crowdedLog.CompareAndSwap(last, now.UnixNano()) {
		s.log.Warn("a client has as many connections as it may have; further ones are closed",
			"client", ip.String(), "limit", limit, "closed_since_the_start", s.crowded.Load())
	}
	return nil, errCrowded
}

func (l *bounded) accept() (*client, error) {
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
	// counted is whose connection it is counted as; nil: nobody's.
	counted *quota.Key
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
		m, err := c.some(p)
		n += m
		p = p[m:]
		if err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// some writes as much as the client takes at once, where that can be said.
func (c *client) some(p []byte) (int, error) {
	if quick, ok := c.Conn.(*socket.Conn); ok {
		return quick.Push(p)
	}
	return c.Conn.Write(p[:min(len(p), maxWrite)])
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
		if c.counted != nil {
			c.l.s.clients.Leave(*c.counted)
		}
		c.l.s.open.Add(-1)
		<-c.l.s.slots
	})
	return c.Conn.Close()
}

// Unsent is how much was written that the client's machine has not taken.
func (c *client) Unsent() int {
	if under, ok := c.Conn.(syscall.Conn); ok {
		return socket.Unsent(under)
	}
	return 0
}

// CloseWrite lets net/http and upgrades close one direction.
func (c *client) CloseWrite() error { return conns.CloseWrite(c.Conn) }
