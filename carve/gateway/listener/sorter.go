package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"whittle/internal/conns"
)

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
		if !c.admitted() {
			_ = c.Close() // nothing was sent
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
