package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Serve accepts connections from l until ctx ends: HTTP/1.1 and h2c, or, with
// Options.TLS, HTTP/1.1 and HTTP/2 over TLS. When ctx ends it accepts no more,
// answers for a moment whoever asks over a connection that is open, lets
// requests under way finish within Limits.Grace, cuts what is left, and returns
// nil. It closes l.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	if g.opts.TLS == nil {
		l = guarded{g.bound(l), g}
		return g.run(ctx, l.Close, server{g.server(true), l})
	}
	cert, err := loadCertificate(*g.opts.TLS, g.log)
	if err != nil {
		return err
	}
	s := newSorter(g, g.bound(l), cert)
	one := g.server(false)
	one.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := strictConnOf(r); c != nil { // it hides the TLS connection from net/http
			if tc, ok := c.Conn.(*tls.Conn); ok {
				state := tc.ConnectionState()
				r.TLS = &state
			}
		}
		g.ServeHTTP(w, r)
	})
	return g.run(ctx, s.close, server{one, s.http1}, server{g.server(false), s.http2})
}

// server is an HTTP server with the listener it is to have.
type server struct {
	*http.Server
	l net.Listener
}

// run serves until ctx ends or one server fails, and waits for all of it.
func (g *Gateway) run(ctx context.Context, stop func() error, servers ...server) error {
	failed := make(chan error, len(servers))
	var running sync.WaitGroup
	for _, s := range servers {
		running.Go(func() { failed <- s.Serve(s.l) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.opts.Limits.Grace)
	defer cancel()
	_ = stop() // Shutdown closes it as well, but only after the other's
	g.drain(grace)
	for _, s := range servers {
		running.Go(func() {
			if s.Shutdown(grace) != nil {
				_ = s.Close() // what is left has had its time
			}
		})
	}
	running.Wait()
	g.upgrades.end()
	g.active.wait(5 * time.Second)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) && ctx.Err() != nil {
		return nil
	}
	return err
}

// drain lets clients go by themselves: for as long as an idle connection is
// trusted, each response says that it is the last on its connection. Shutdown
// closes idle connections at once, and a request on its way over one would be
// lost; after this, the idle ones have been idle for a while.
func (g *Gateway) drain(grace context.Context) {
	g.draining.Store(true)
	end := time.NewTimer(trusted)
	defer end.Stop()
	look := time.NewTicker(trusted / 100)
	defer look.Stop()
	for g.counts.connections.Load() > 0 {
		select {
		case <-look.C:
		case <-end.C:
			return
		case <-grace.Done():
			return
		}
	}
}

func (g *Gateway) server(plain bool) *http.Server {
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(plain)
	l := g.opts.Limits
	return &http.Server{
		Handler:                      g,
		ConnContext:                  g.connContext,
		ReadHeaderTimeout:            l.HeaderTimeout,
		IdleTimeout:                  l.IdleTimeout,
		MaxHeaderBytes:               l.HeaderBytes,
		DisableGeneralOptionsHandler: true, // OPTIONS * is the monolith's to answer
		Protocols:                    &p,
		ErrorLog:                     log.New(remarks{g.log}, "", 0),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: l.Streams,
			SendPingTimeout:      l.StallTimeout / 2,
			PingTimeout:          l.StallTimeout / 2,
			WriteByteTimeout:     l.StallTimeout,
		},
	}
}

// guarded puts a strictConn around each connection.
type guarded struct {
	net.Listener
	g *Gateway
}

func (l guarded) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newStrictConn(c, l.g.opts.Limits.HeaderBytes, &l.g.counts.malformed), nil
}

// sorter finishes TLS handshakes and gives each connection to the listener of
// the protocol that was agreed on, so that HTTP/1.1 passes a strictConn while
// net/http still sees HTTP/2 as a TLS connection.
type sorter struct {
	g     *Gateway
	l     *bounded
	conf  *tls.Config
	http1 *channel
	http2 *channel

	accepting sync.WaitGroup
	stop      context.CancelFunc
}

func newSorter(g *Gateway, l *bounded, cert *certificate) *sorter {
	ctx, stop := context.WithCancel(context.Background())
	s := &sorter{g: g, l: l, stop: stop, http1: newChannel(ctx, l.Addr()), http2: newChannel(ctx, l.Addr())}
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
			s.g.log.Warn("accept connection", "err", err, "retry_in", wait)
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
	shaking, cancel := context.WithTimeout(ctx, s.g.opts.Limits.HeaderTimeout)
	defer cancel()
	if err := tc.HandshakeContext(shaking); err != nil {
		s.g.log.Debug("TLS handshake", "peer", c.RemoteAddr().String(), "err", err)
		_ = c.Close() // there is no session that could be told
		return
	}
	if tc.ConnectionState().NegotiatedProtocol == "h2" {
		s.http2.give(ctx, tc)
		return
	}
	s.http1.give(ctx, newStrictConn(tc, s.g.opts.Limits.HeaderBytes, &s.g.counts.malformed))
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

// remarks are what net/http's server says. Nearly all is about a client that
// speaks badly, which is that client's affair; a panic is ours.
type remarks struct{ log *slog.Logger }

func (r remarks) Write(line []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.Contains(line, []byte("panic serving")) {
		level = slog.LevelError
	}
	r.log.Log(context.Background(), level, string(bytes.TrimRight(line, "\n")))
	return len(line), nil
}
