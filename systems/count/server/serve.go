package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/netutil"

	"whittle"
	"whittle/internal/adminport"
	"whittle/internal/label"
	"whittle/systems/count/rpc"
)

const (
	// maxBody is far above any Times message, which takes 11 bytes.
	maxBody = 64 << 10
	// maxHeader bounds a request's header, in bytes.
	maxHeader = 16 << 10
	// unwind is how long calls have to end once they were cancelled.
	unwind = time.Second
)

// newPublic is all that the public port serves.
func newPublic(counter Counter, deadline time.Duration, m *metrics, ready func() bool) http.Handler {
	s := &service{counter, deadline}
	mux := http.NewServeMux()
	// One name for both ways in: it is one method, and one cost.
	labelled := func(path string, h http.Handler) {
		mux.Handle(path, label.Endpoint(rpc.CarvedCountProcedure, h))
	}
	labelled(rpc.CarvedPathPrefix, newTwirp(s, m, maxBody))
	labelled(newConnect(s, m, maxBody))
	mux.Handle(newHealth(ready, maxBody))
	// The framing of gRPC comes on top of the message, whose own bound each
	// edge holds with an error in its protocol.
	return http.MaxBytesHandler(mux, maxBody+1<<10)
}

// serve opens both ports and responds until ctx ends or a port fails.
func serve(ctx context.Context, c *config, counter Counter, registry *prometheus.Registry, log *slog.Logger, stdout io.Writer) error {
	public, err := open(ctx, c.listen)
	if err != nil {
		return err
	}
	admin, err := open(ctx, c.admin)
	if err != nil {
		public.Close()
		return err
	}
	if a, ok := admin.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		public.Close()
		admin.Close()
		return whittle.Errorf(whittle.Invalid, "-admin %s came to be %s, which is not loopback", c.admin, admin.Addr())
	}

	var ready atomic.Bool
	base, abort := context.WithCancelCause(context.Background())
	defer abort(nil)
	front := newServer(newPublic(counter, c.deadline, newMetrics(registry), ready.Load), c.deadline, log)
	front.BaseContext = func(net.Listener) context.Context { return base }
	// A profile may be asked to run for longer than a call.
	back := newServer(adminport.New(ready.Load, registry), 5*time.Minute, log)

	var serving sync.WaitGroup
	failed := make(chan error, 2)
	start := func(s *http.Server, l net.Listener) {
		serving.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
		})
	}
	start(front, netutil.LimitListener(public, c.maxConns))
	start(back, admin)
	ready.Store(true)
	log.Info("serving", "public", public.Addr().String(), "admin", admin.Addr().String())
	if _, err = fmt.Fprintf(stdout, "listening public=%s admin=%s\n", public.Addr(), admin.Addr()); err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	}
	ready.Store(false)
	log.Info("draining", "at_most", c.drain.String())
	drain(front, c.drain, abort, log)
	err = errors.Join(err, back.Close())
	serving.Wait()
	log.Info("stopped")
	return err
}

func open(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open port: %w", err).
			WithHint("another process may hold it; port 0 takes a free one")
	}
	return l, nil
}

// newServer bounds what one client may take: header, time, streams.
func newServer(h http.Handler, deadline time.Duration, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      deadline + 10*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 256},
		Protocols:         new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// drain lets the calls in flight finish, then cancels them, then cuts them off.
func drain(s *http.Server, bound time.Duration, abort context.CancelCauseFunc, log *slog.Logger) {
	wait := func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		return s.Shutdown(ctx)
	}
	if wait(bound) == nil {
		return
	}
	log.Warn("cancelled calls still in flight")
	abort(whittle.Errorf(whittle.Unavailable, "the service is closing down"))
	if wait(unwind) == nil {
		return
	}
	log.Warn("closed connections that were still open")
	_ = s.Close() // only closes listeners that Shutdown has closed before
}
