package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/netutil"

	"whittle"
	"whittle/internal/label"
	"whittle/systems/count/rpc"
	"whittle/systems/daemon"
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
	p := &daemon.Process{Log: log, Registry: registry, Drain: c.drain}
	defer p.Close()
	public, err := p.Listen(ctx, "-listen", c.listen)
	if err != nil {
		return err
	}
	admin, err := p.ListenLocal(ctx, "-admin", c.admin)
	if err != nil {
		return err
	}
	base, abort := context.WithCancelCause(context.Background())
	defer abort(nil)
	front := newServer(newPublic(counter, c.deadline, newMetrics(registry), p.Ready), c.deadline, log)
	front.BaseContext = func(net.Listener) context.Context { return base }
	one := p.HTTP(front, netutil.LimitListener(public, c.maxConns))
	one.Shutdown = func(ctx context.Context) { drain(ctx, front, abort, log) }
	p.Add(daemon.Public, public, one)
	return p.Run(ctx, admin, stdout)
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

// drain lets the calls in flight finish until ctx ends, then cancels them, then cuts
// them off.
func drain(ctx context.Context, s *http.Server, abort context.CancelCauseFunc, log *slog.Logger) {
	if s.Shutdown(ctx) == nil {
		return
	}
	log.Warn("cancelled calls still in flight")
	abort(whittle.Errorf(whittle.Unavailable, "the service is closing down"))
	soon, cancel := context.WithTimeout(context.Background(), unwind)
	defer cancel()
	if s.Shutdown(soon) == nil {
		return
	}
	log.Warn("closed connections that were still open")
	_ = s.Close() // only closes listeners that Shutdown has closed before
}
