package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// guarded puts a Conn around each connection.
type guarded struct {
	net.Listener
	s *Server
}

func (l guarded) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newStrictConn(c, l.s.c.HeaderBytes, &l.s.malformed), nil
}

// sorter finishes TLS handshakes and gives each connection to the listener of
// the protocol that was agreed on, so that HTTP/1.1 passes a Conn while
// net/http still sees HTTP/2 as a TLS connection.
type sorter struct {
	server *Server
	l      *bounded
	conf   *tls.Config
	http1  *channel
	http2  *channel

	accepting sync.WaitGroup
	stop      context.CancelFunc
}

func newSorter(server *Server, l *bounded, cert *certificate) *sorter {
	ctx, stop := context.WithCancel(context.Background())
	s := &sorter{server: server, l: l, stop: stop, http1: newChannel(ctx, l.Addr()), http2: newChannel(ctx, l.Addr())}
	s.conf = &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: cert.get,
	}
	s.accepting.Go(func() { s.accept(ctx) })
	return s
}

func (s *sorter) accept(ctx context.Context) {
	defer s.stop() // both servers learn that nothing more comes
	for wait := time.Millisecond; ; {
		c, err := s.l.Accept()
		switch {
		case err == nil:
			wait = time.Millisecond
			s.accepting.Go(func() { s.sort(ctx, c) })
		case errors.Is(err, net.ErrClosed) || ctx.Err() != nil:
			return
		default: // out of file descriptors, most likely: it passes
			s.server.log.Warn("accept connection", "err", err, "retry_in", wait)
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			wait = min(2*wait, time.Second)
		}
	}
}

func (s *sorter) sort(ctx context.Context, c net.Conn) {
	tc := tls.Server(c, s.conf)
	shaking, cancel := context.WithTimeout(ctx, s.server.c.HeaderTimeout)
	defer cancel()
	if err := tc.HandshakeContext(shaking); err != nil {
		s.server.log.Debug("TLS handshake", "peer", c.RemoteAddr().String(), "err", err)
		_ = c.Close() // there is no TLS session to shut down
		return
	}
	if tc.ConnectionState().NegotiatedProtocol == "h2" {
		s.http2.give(ctx, tc)
		return
	}
	s.http1.give(ctx, newStrictConn(tc, s.server.c.HeaderBytes, &s.server.malformed))
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

func (l *channel) give(ctx context.Context, c net.Conn) {
	select {
	case l.conns <- c:
	case <-ctx.Done():
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
