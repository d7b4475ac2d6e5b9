// Package fastpath serves the most common HTTP/1.1 request of a net/http
// handler at a small part of what net/http's server spends on it. Every other
// request goes to that server, over the same connection.
//
// The fast path takes a POST in plain HTTP/1.1 with one Content-Length of up to
// 256 KiB, whose head has up to 4 KiB and 64 fields and is accepted by
// internal/http1.
// Anything else (another method or version, a chunked body, Expect, Upgrade, a
// trailer, Connection: close, a folded or malformed header, a longer head, a
// second Content-Length) goes to net/http together with the bytes that have
// been read, and the connection stays with net/http. So this package writes no
// error responses of its own, and a request that it takes reads the same as in
// net/http: see FuzzHead.
package fastpath

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"whittle/internal/conns"
	"whittle/internal/httpfield"
)

// Server serves a listener. It differs from net/http's server in four ways. The
// request and its header belong to the handler only until it returns, and must
// not be changed. The first 4 KiB of the response are sent when the handler
// returns. The request's context ends when Close is called, not when the client
// disconnects. The http.ResponseWriter has its three methods and
// WholeWriter's, and no other interface.
type Server struct {
	http *http.Server
	// template holds what all requests have in common.
	template *http.Request
	cancel   context.CancelFunc
	date     httpfield.Date
	conns    conns.Set[*conn]

	mu        sync.Mutex // guards the following
	listeners map[net.Listener]struct{}
}

// New returns a Server with the handler, the limits and the log of s. Requests
// off the fast path go to s. A limit of 0 means no limit, except for
// IdleTimeout, which then is ReadTimeout. Timeouts are slightly less exact than
// net/http's: an idle connection may be closed an eighth of IdleTimeout early,
// and WriteTimeout covers the writing alone. s belongs to the Server from here
// on; its hooks (ConnState, ConnContext, BaseContext) see only connections that
// were handed over.
func New(s *http.Server) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	like := &http.Request{Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return &Server{
		http: s, template: like.WithContext(ctx), cancel: cancel,
		listeners: map[net.Listener]struct{}{},
	}
}

// Serve accepts connections until Shutdown or Close is called and then returns
// http.ErrServerClosed. Otherwise it returns the listener's error. It closes
// the listener when it returns.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	s.mu.Lock()
	if s.conns.Closing() {
		s.mu.Unlock()
		return http.ErrServerClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	h := conns.NewHanded(l.Addr())
	var others sync.WaitGroup
	others.Go(func() { _ = s.http.Serve(h) }) // it ends when h does
	err := s.accept(l, h)
	_ = h.Close() // it cannot fail
	others.Wait()
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
	if s.conns.Closing() {
		return http.ErrServerClosed
	}
	return err
}

// Waits after a failure to accept that may pass, such as too many open files.
const (
	acceptFirst = 5 * time.Millisecond
	acceptLast  = time.Second
)

func (s *Server) accept(l net.Listener, h *conns.Handed) error {
	wait := acceptFirst
	for {
		rwc, err := l.Accept()
		if err != nil {
			passing, ok := errors.AsType[net.Error](err)
			if !ok || !passing.Temporary() || s.conns.Closing() { //nolint:staticcheck // as net/http: there is no other word for it
				return err
			}
			time.Sleep(wait)
			wait = min(2*wait, acceptLast)
			continue
		}
		wait = acceptFirst
		if c := newConn(s, rwc, h); !s.conns.Go(c, c.serve) {
			_ = rwc.Close() // nothing was sent
		}
	}
}

// Shutdown stops accepting, closes idle connections, and returns when every
// request under way has its response, or with an error when ctx ends first.
func (s *Server) Shutdown(ctx context.Context) error {
	s.closeConns(func(c *conn) bool { return c.state.CompareAndSwap(idle, closed) })
	err := s.http.Shutdown(ctx)
	if late := s.conns.Wait(ctx, nil); late != nil {
		return errors.Join(err, late)
	}
	return err
}

// Close closes all connections at once.
func (s *Server) Close() error {
	s.closeConns(func(c *conn) bool { c.state.Store(closed); return true })
	s.cancel()
	return s.http.Close()
}

// closeConns stops accepting and closes the connections that match.
func (s *Server) closeConns(is func(*conn) bool) {
	s.conns.Close(func(c *conn) {
		if is(c) {
			_ = c.rwc.Close() // nothing is outstanding on it
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		_ = l.Close() // Serve closes it too, and reports
	}
}
