// Package lane serves the everyday HTTP/1.1 request of a net/http handler at
// much less than what net/http's server spends on it, and leaves every other
// one to that server, over the same connection.
//
// Everyday is a POST in plain HTTP/1.1 with one Content-Length of up to 256
// KiB, whose head has up to 4 KiB and 64 fields and nothing odd about it.
// Whatever is anything else (another method or version, chunked, Expect,
// Upgrade, a trailer, Connection: close, a folded or malformed header, a long
// head, a second Content-Length) goes to net/http with what has been read of it,
// and the connection stays there. So this package has no answers of its own,
// and what it takes net/http reads as the same request: see FuzzHead.
package lane

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves a listener. Its handler has these bounds beside net/http's:
// the request with its header belongs to it until it returns, and is not to be
// changed; the answer's first 4 KiB leave when it returns; the request's context
// ends when Close is called, and not when the client leaves; there is nothing
// but the three methods of http.ResponseWriter.
type Server struct {
	http *http.Server
	// like is what all requests have in common.
	like   *http.Request
	cancel context.CancelFunc
	date   atomic.Pointer[date]

	closing atomic.Bool // set under mu
	running sync.WaitGroup

	mu        sync.Mutex // guards the following
	conns     map[*conn]struct{}
	listeners map[net.Listener]struct{}
}

// New makes a Server with the handler, the limits and the log of s, to which
// go the requests that are not everyday ones. A limit that is 0 bounds nothing,
// but for IdleTimeout, which is ReadTimeout then. Time is taken a little less
// exactly: an idle connection may end an eighth of IdleTimeout early, and
// WriteTimeout is for the writing alone. s is the Server's own from here on;
// its hooks (ConnState, ConnContext, BaseContext) see only what is handed over.
func New(s *http.Server) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	like := &http.Request{Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return &Server{
		http: s, like: like.WithContext(ctx), cancel: cancel,
		conns: map[*conn]struct{}{}, listeners: map[net.Listener]struct{}{},
	}
}

// Serve accepts connections until Shutdown or Close is called, and then gives
// http.ErrServerClosed; otherwise what the listener failed with. The listener
// is closed when it returns.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	s.mu.Lock()
	if s.closing.Load() {
		s.mu.Unlock()
		return http.ErrServerClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	h := newHandover(l.Addr())
	var others sync.WaitGroup
	others.Go(func() { _ = s.http.Serve(h) }) // it ends when h does
	err := s.accept(l, h)
	_ = h.Close() // it cannot fail
	others.Wait()
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
	if s.closing.Load() {
		return http.ErrServerClosed
	}
	return err
}

// Waits after a failure to accept that may pass, such as too many open files.
const (
	acceptFirst = 5 * time.Millisecond
	acceptLast  = time.Second
)

func (s *Server) accept(l net.Listener, h *handover) error {
	wait := acceptFirst
	for {
		rwc, err := l.Accept()
		if err != nil {
			passing, ok := errors.AsType[net.Error](err)
			if !ok || !passing.Temporary() || s.closing.Load() { //nolint:staticcheck // as net/http: there is no other word for it
				return err
			}
			time.Sleep(wait)
			wait = min(2*wait, acceptLast)
			continue
		}
		wait = acceptFirst
		s.enter(rwc, h)
	}
}

// enter gives a connection its goroutine.
func (s *Server) enter(rwc net.Conn, h *handover) {
	c := newConn(s, rwc, h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		_ = rwc.Close() // nothing was sent
		return
	}
	s.conns[c] = struct{}{}
	s.running.Go(func() {
		defer s.leave(c)
		c.serve()
	})
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Shutdown accepts no more, closes what is idle, and returns when every request
// under way has its answer, or with an error when ctx ends before.
func (s *Server) Shutdown(ctx context.Context) error {
	s.end(func(c *conn) bool { return c.state.CompareAndSwap(idle, gone) })
	err := s.http.Shutdown(ctx)
	answered := make(chan struct{})
	go func() {
		s.running.Wait()
		close(answered)
	}()
	select {
	case <-answered:
		return err
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}

// Close cuts everything off at once.
func (s *Server) Close() error {
	s.end(func(c *conn) bool { c.state.Store(gone); return true })
	s.cancel()
	return s.http.Close()
}

// end stops accepting, and closes the connections of which is says yes.
func (s *Server) end(is func(*conn) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Store(true)
	for l := range s.listeners {
		_ = l.Close() // Serve closes it too, and says
	}
	for c := range s.conns {
		if is(c) {
			_ = c.rwc.Close() // nobody waits for anything of it
		}
	}
}
