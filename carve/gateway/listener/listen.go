package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"whittle/internal/conns"
	"whittle/internal/proxyproto"
	"whittle/internal/socket"
)

// maxWrite is the longest single write to a client if nobody can tell how much the client
// takes meanwhile. It is short enough that a write fails at its deadline only if the
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

// sorter accepts connections, finishes TLS handshakes and gives each connection to
// whoever speaks its protocol: HTTP/1.1 goes to the fast path, or past a Conn to
// net/http, HTTP/2 to its server, or as a TLS connection to net/http.
type sorter struct {
	server   *Server
	l        *bounded
	conf     *tls.Config // nil: connections are not encrypted
	fastPath *fastPath   // nil: net/http takes everything
	http1    *conns.Handed
	http2    *conns.Handed

	accepting, beginning sync.WaitGroup
	closed               atomic.Bool

	ctx    context.Context //nolint:containedctx // ends with the accepting
	cancel context.CancelFunc
}

// newSorter makes a sorter, which accepts nothing until start.
func newSorter(server *Server, l *bounded) *sorter {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sorter{server: server, l: l, ctx: ctx, cancel: cancel, http1: conns.NewHanded(l.Addr()), http2: conns.NewHanded(l.Addr())}
	if l.TLS != nil {
		s.conf = l.TLS.config()
	}
	return s
}

func (s *sorter) start() { s.accepting.Go(s.accept) }

func (s *sorter) accept() {
	defer func() {
		if !s.closed.Load() {
			s.stop() // the socket was closed: both servers learn that nothing more comes
		}
	}()
	for wait := time.Millisecond; ; {
		c, err := s.l.Accept()
		switch {
		case err == nil && s.conf == nil && len(s.l.Proxies) == 0:
			wait = time.Millisecond
			s.serve(c, nil)
		case err == nil:
			wait = time.Millisecond
			s.beginning.Go(func() { s.sort(c) })
		case errors.Is(err, net.ErrClosed) || s.ctx.Err() != nil:
			return
		default: // out of file descriptors, most likely: it passes
			s.server.log.Warn("accept connection", "err", err, "retry_in", wait)
			select {
			case <-time.After(wait):
			case <-s.ctx.Done():
				return
			}
			wait = min(2*wait, time.Second)
		}
	}
}

// sort reads what comes before the first request: a PROXY protocol header, a TLS
// handshake. Both together have as long as a request's header.
func (s *sorter) sort(c *client) {
	beginning, cancel := context.WithTimeout(s.ctx, s.server.c.HeaderTimeout)
	defer cancel()
	if len(s.l.Proxies) > 0 {
		if err := c.readProxyHeader(beginning, s.l.Proxies); err != nil {
			s.server.log.Debug("PROXY protocol", "peer", c.Conn.RemoteAddr().String(), "err", err)
			s.server.malformed.Add(1)
			_ = c.Close() // nobody is there to whom it could be said
			return
		}
	}
	if s.conf == nil {
		s.serve(c, nil)
		return
	}
	tc := tls.Server(c, s.conf)
	if err := tc.HandshakeContext(beginning); err != nil {
		s.server.log.Debug("TLS handshake", "peer", c.RemoteAddr().String(), "err", err)
		if unencrypted(err) {
			_, _ = io.WriteString(c, toHTTPS)
			linger(c, shortly, &s.server.draining)
		}
		_ = c.Close() // there is no TLS session to shut down
		return
	}
	state := tc.ConnectionState()
	c.identify(&state)
	if state.NegotiatedProtocol == "h2" {
		if s.server.http2 == nil {
			s.http2.Give(tc)
			return
		}
		s.server.http2.Start(tc, &state, &numbered{number: s.server.conns.Add(1), under: c, net: tc})
		return
	}
	s.serve(tc, &state)
}

// toHTTPS is for a client that speaks plain HTTP where TLS is spoken.
const toHTTPS = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 51\r\nConnection: close\r\n\r\n" +
	"Bad Request: plain HTTP was sent to a port of HTTPS"

// unencrypted reports whether a handshake failed because a request of plain HTTP stood in its
// place.
func unencrypted(err error) bool {
	var e tls.RecordHeaderError
	return errors.As(err, &e) && e.Conn != nil &&
		slices.Contains([]string{"GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO"}, string(e.RecordHeader[:]))
}

// serve has a connection of HTTP/1.1 served.
func (s *sorter) serve(c net.Conn, state *tls.ConnectionState) {
	if s.fastPath != nil {
		s.fastPath.start(c, state)
		return
	}
	g := newStrictConn(c, s.server.c.HeaderBytes, &s.server.malformed, &s.server.ending)
	g.tls = state
	s.http1.Give(g)
}

// close ends accepting. Connections that were accepted go on.
func (s *sorter) close() {
	s.closed.Store(true)
	_ = s.l.Close() // nothing is to be told of a listener that is done with
	s.accepting.Wait()
}

// stop has nothing more come to the servers.
func (s *sorter) stop() {
	s.cancel()
	_, _ = s.http1.Close(), s.http2.Close() // neither fails
}

// end ends what has not come as far as a request.
func (s *sorter) end() {
	s.stop()
	s.beginning.Wait()
}

// readProxyHeader reads the PROXY protocol header with which a connection begins, and
// nothing behind it. Only a peer in nets may send one; who connects by a Unix socket has
// no address, and is whom the socket's mode lets in.
func (c *client) readProxyHeader(ctx context.Context, nets []netip.Prefix) error {
	if peer, ok := c.Conn.RemoteAddr().(*net.TCPAddr); ok && !Within(nets, peer.AddrPort().Addr()) {
		return fmt.Errorf("%v is in none of the networks whose load balancers are believed", peer.IP)
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetReadDeadline(deadline) // where this fails, so does the read
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })()
	var buf [proxyproto.MaxHeader]byte
	for have := 0; ; {
		want := have + proxyproto.Wants(buf[:have])
		if want > len(buf) {
			return errors.New("a PROXY header is too long")
		}
		n, err := io.ReadFull(c.Conn, buf[have:want])
		if have += n; err != nil {
			return err
		}
		h, n, err := proxyproto.Parse(buf[:have])
		if err != nil {
			return err
		}
		if n > 0 {
			c.proxied = h
			return c.SetReadDeadline(time.Time{})
		}
	}
}

// Within reports whether an address is in one of the networks, also one of IPv4 that is
// written as one of IPv6.
func Within(nets []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(nets, func(n netip.Prefix) bool { return n.Contains(ip.Unmap()) })
}

// accepted finds the connection as it was accepted; nil: it was not accepted here.
func accepted(c net.Conn) *client {
	for {
		switch at := c.(type) {
		case *client:
			return at
		case *Conn:
			c = at.Conn
		case *conns.Resumed:
			c = at.Conn
		case *tls.Conn:
			c = at.NetConn()
		default:
			return nil
		}
	}
}

// connContext is http.Server's ConnContext.
func (s *Server) connContext(ctx context.Context, c net.Conn) context.Context {
	n := &numbered{under: accepted(c), net: c}
	if conn, ok := c.(*Conn); ok {
		n.client, n.number = conn, conn.number
	}
	if n.number == 0 {
		n.number = s.conns.Add(1)
	}
	return context.WithValue(ctx, connKey{}, n)
}
