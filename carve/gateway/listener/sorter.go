package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// sorter accepts connections, finishes TLS handshakes and gives each connection to
// whoever speaks its protocol: HTTP/1.1 goes to the fast path, or past a Conn to
// net/http, which still sees HTTP/2 as a TLS connection.
type sorter struct {
	server   *Server
	l        *bounded
	conf     *tls.Config // nil: connections are not encrypted
	fastPath *fastPath   // nil: net/http takes everything
	http1    *channel
	http2    *channel

	accepting sync.WaitGroup
	ctx       context.Context //nolint:containedctx // ends with the accepting
	stop      context.CancelFunc
}

// newSorter makes a sorter, which accepts nothing until start. A nil cert is for
// connections that are not encrypted.
func newSorter(server *Server, l *bounded, cert *certificate) *sorter {
	ctx, stop := context.WithCancel(context.Background())
	s := &sorter{server: server, l: l, ctx: ctx, stop: stop, http1: newChannel(ctx, l.Addr()), http2: newChannel(ctx, l.Addr())}
	if cert != nil {
		s.conf = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			NextProtos:     []string{"h2", "http/1.1"},
			GetCertificate: cert.get,
		}
	}
	return s
}

func (s *sorter) start() { s.accepting.Go(s.accept) }

func (s *sorter) accept() {
	defer s.stop() // both servers learn that nothing more comes
	for wait := time.Millisecond; ; {
		c, err := s.l.Accept()
		switch {
		case err == nil && s.conf == nil:
			wait = time.Millisecond
			s.serve(c, nil)
		case err == nil:
			wait = time.Millisecond
			s.accepting.Go(func() { s.sort(c) })
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

func (s *sorter) sort(c net.Conn) {
	tc := tls.Server(c, s.conf)
	shaking, cancel := context.WithTimeout(s.ctx, s.server.c.HeaderTimeout)
	defer cancel()
	if err := tc.HandshakeContext(shaking); err != nil {
		s.server.log.Debug("TLS handshake", "peer", c.RemoteAddr().String(), "err", err)
		_ = c.Close() // there is no TLS session to shut down
		return
	}
	state := tc.ConnectionState()
	if state.NegotiatedProtocol == "h2" {
		s.http2.give(tc)
		return
	}
	s.serve(tc, &state)
}

// serve has a connection of HTTP/1.1 served.
func (s *sorter) serve(c net.Conn, state *tls.ConnectionState) {
	if s.fastPath != nil {
		s.fastPath.start(c, state)
		return
	}
	g := newStrictConn(c, s.server.c.HeaderBytes, &s.server.malformed)
	g.tls = state
	s.http1.give(g)
}

// close ends accepting and waits for handshakes under way.
func (s *sorter) close() error {
	err := s.l.Close()
	s.stop()
	s.accepting.Wait()
	return err
}

// channel is a listener whose connections are handed to it.
type channel struct {
	ctx   context.Context //nolint:containedctx // a listener's life, as Accept has no context
	addr  net.Addr
	conns chan net.Conn
}

func newChannel(ctx context.Context, addr net.Addr) *channel {
	return &channel{ctx: ctx, addr: addr, conns: make(chan net.Conn)}
}

func (l *channel) give(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.ctx.Done():
		_ = c.Close() // the gateway is ending
	}
}

// Accept implements net.Listener.
func (l *channel) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener; the sorter closes what is behind it.
func (l *channel) Close() error { return nil }

// Addr implements net.Listener.
func (l *channel) Addr() net.Addr { return l.addr }
