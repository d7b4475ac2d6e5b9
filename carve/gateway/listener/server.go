// Package listener accepts clients' connections and reads requests from them, HTTP/1.1
// and HTTP/2, with and without TLS. It reads everyday requests itself, HTTP/2 by package
// h2, and all others by net/http. No request whose framing has two readings reaches the
// handler. The number of connections, the time for a header and the wait for a client
// that takes nothing are bounded. A server that ends loses no request under way.
package listener

import (
	"bytes"
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/listener/h2"
)

// Config makes a server. The limits of connections, header, streams and times must be above
// zero.
type Config struct {
	// Handler serves the requests.
	Handler http.Handler
	// NetHTTP has net/http read all requests, and nothing take the fast path.
	NetHTTP bool
	Log     *slog.Logger
	whittle.Limits
}

// Server serves clients' connections. It is safe for concurrent use.
type Server struct {
	c    Config
	log  *slog.Logger
	logf func(format string, args ...any) // as net/http's servers log
	// open connections, times that accepting had to wait, and requests refused
	// as not well framed.
	open, waits, malformed atomic.Int64
	// conns numbers the connections.
	conns atomic.Uint64
	ending
	// slots are what client connections hold, on whichever listener.
	slots chan struct{}
	// replaced is closed when another process accepts connections.
	replaced chan struct{}
	// http2 serves HTTP/2; nil: net/http does.
	http2 *h2.Server
}

// New makes a server; nothing listens until Serve.
func New(c Config) *Server {
	s := &Server{c: c, log: c.Log, logf: log.New(remarks{c.Log}, "", 0).Printf, slots: make(chan struct{}, c.Connections), replaced: make(chan struct{})}
	if !c.NetHTTP {
		s.http2 = h2.New(h2.Config{Handler: c.Handler, Logf: s.logf, Limits: c.Limits})
	}
	return s
}

// Listener is a socket with what is spoken on it.
type Listener struct {
	net.Listener
	// TLS is nil where connections are not encrypted (HTTP/1.1 and h2c); else they
	// speak HTTP/1.1 and HTTP/2 over TLS.
	TLS *Certificates
	// Proxies are the networks of load balancers that begin each connection with a
	// PROXY protocol header. Nobody else may connect. Empty: there is no header.
	Proxies []netip.Prefix
	// Redirect has every request go to HTTPS. Nil: they are served.
	Redirect *Redirect
	// Sink says that requests are a mirror's, to which nobody waits for a response.
	Sink bool
	// Candidates are the clusters of candidates at an Envoy whose ext_proc filter sends here
	// what goes by. Nil: requests are users' or a mirror's.
	Candidates []string
}

// Redirect says where requests go instead of being served.
type Redirect struct {
	// Status is the response's: 301, 302, 307 or 308.
	Status int
	// Port is that of HTTPS, as clients see it.
	Port int
}

// Replace has Serve accept no more, as when its context ends, but leave idle
// connections to their clients for as long as Config.Grace: other connections are
// another process's, which listens on the same sockets.
func (s *Server) Replace() { close(s.replaced) }

// Open is how many client connections are open now.
func (s *Server) Open() int64 { return s.open.Load() }

// Waits is how often accepting waited because the limit of connections was
// reached.
func (s *Server) Waits() int64 { return s.waits.Load() }

// Malformed is how many requests were refused because their framing was not
// exact.
func (s *Server) Malformed() int64 { return s.malformed.Load() }

// Serve accepts connections from ls until ctx ends. Then it accepts no more, responds
// for a moment to whoever asks over a connection that is open, lets requests under way
// finish within Config.Grace, cuts what is left, and returns nil. It closes ls.
// Connections that were upgraded are their handler's to end.
func (s *Server) Serve(ctx context.Context, ls ...Listener) error {
	var all []*serving
	var servers []server
	for _, l := range ls {
		one := s.listen(l)
		all = append(all, one)
		servers = append(servers, server{one.http1, one.sorted.http1}, server{one.http2, one.sorted.http2})
	}
	for _, one := range all {
		one.sorted.start()
	}
	return s.run(ctx, all, servers)
}

// serving is a listener with all that serves its connections.
type serving struct {
	sorted       *sorter
	http1, http2 *http.Server
}

func (s *Server) listen(l Listener) *serving {
	sorted := newSorter(s, &bounded{Listener: l, s: s, done: make(chan struct{})})
	if !s.c.NetHTTP && l.Redirect == nil && !l.Sink && l.Candidates == nil { // which serve nobody, and nothing in bytes
		var err error
		if sorted.fastPath, err = newFastPath(s, sorted.http1); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			s.log.Warn("net/http serves all requests", "err", err)
		}
	}
	one := s.server(l.TLS == nil)
	one.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, _, _ := ConnOf(r); c != nil { // it hides the TLS connection from net/http
			if c, ok := c.(*Conn); ok {
				r.TLS = c.tls
			}
		}
		s.c.Handler.ServeHTTP(w, r)
	})
	return &serving{sorted: sorted, http1: one, http2: s.server(false)}
}

// server is an HTTP server with the listener it is to have.
type server struct {
	*http.Server
	l net.Listener
}

// run serves until ctx ends or one server fails, and waits for all of it.
func (s *Server) run(ctx context.Context, all []*serving, servers []server) error {
	failed := make(chan error, len(servers))
	var running sync.WaitGroup
	for _, one := range servers {
		running.Go(func() { failed <- one.Serve(one.l) })
	}
	var err error
	select {
	case <-ctx.Done():
		err = http.ErrServerClosed
	case <-s.replaced:
		err = http.ErrServerClosed
	case err = <-failed:
	}
	for _, one := range all {
		one.sorted.close()
	}
	s.draining.Store(true)
	if s.http2 != nil {
		s.http2.Leave() // it loses no request
	}
	s.leave(ctx)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.c.Grace)
	defer cancel()
	s.drain(grace, drainTime)
	for _, one := range all {
		one.sorted.end()
	}
	if s.http2 != nil {
		running.Go(func() { s.http2.Shutdown(grace) })
	}
	for _, one := range all {
		if one.sorted.fastPath != nil {
			running.Go(func() { one.sorted.fastPath.shutdown(grace) })
		}
	}
	for _, one := range servers {
		running.Go(func() {
			if one.Shutdown(grace) != nil {
				s.cuts.Store(true) // what is left has had its time
				_ = one.Close()
			}
		})
	}
	running.Wait()
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) && ctx.Err() != nil {
		return nil
	}
	return err
}

// leave gives clients of a server that was replaced all of Config.Grace to go, or until
// ctx ends.
func (s *Server) leave(ctx context.Context) {
	select {
	case <-s.replaced:
		s.drain(ctx, s.c.Grace)
	default:
	}
}

// drainTime is for how long an idle connection of a client is still waited for.
const drainTime = time.Second

// drain lets clients go by themselves: for some time, each response says that it
// is the last on its connection. Shutdown closes idle connections at once, and a
// request on its way over one would be lost; after this, the idle ones have been
// idle for a while.
func (s *Server) drain(grace context.Context, limit time.Duration) {
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(drainTime / 100)
	defer look.Stop()
	for s.open.Load() > 0 {
		select {
		case <-look.C:
		case <-end.C:
			return
		case <-grace.Done():
			return
		}
	}
}

func (s *Server) server(plain bool) *http.Server {
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(plain)
	return &http.Server{
		Handler:                      s.c.Handler,
		ConnContext:                  s.connContext,
		ReadHeaderTimeout:            s.c.HeaderTimeout,
		IdleTimeout:                  s.c.IdleTimeout,
		MaxHeaderBytes:               s.c.HeaderBytes,
		DisableGeneralOptionsHandler: true, // the monolith responds to OPTIONS *
		Protocols:                    &p,
		ErrorLog:                     log.New(remarks{s.log}, "", 0),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: s.c.Streams,
			SendPingTimeout:      s.c.StallTimeout / 2,
			PingTimeout:          s.c.StallTimeout / 2,
			WriteByteTimeout:     s.c.StallTimeout,
		},
	}
}

// remarks takes the log lines of net/http's server. Nearly all are about a client's
// protocol errors, which need no attention; a panic does.
type remarks struct{ log *slog.Logger }

func (r remarks) Write(line []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.Contains(line, []byte("panic serving")) {
		level = slog.LevelError
	}
	r.log.Log(context.Background(), level, string(bytes.TrimRight(line, "\n")))
	return len(line), nil
}
