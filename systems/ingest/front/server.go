package front

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"whittle"
	"whittle/internal/listening"
	"whittle/systems/ingest/fastpath"
)

// maxHeader bounds a request's header, in bytes.
const maxHeader = 16 << 10

// Server returns an HTTP server with the front's limits of time and size. The
// most common requests take its fast path.
func (f *Front) Server() *fastpath.Server { return fastpath.New(f.plain()) }

// plain is net/http's server for the requests off the fast path.
func (f *Front) plain() *http.Server {
	l := f.limits
	return &http.Server{
		Handler:           f,
		ReadHeaderTimeout: l.Header,
		ReadTimeout:       l.Header + l.Body,
		// Counted from the end of the header: the body, the three waits for room
		// in memory, the stream, and as long again as the header for the response.
		WriteTimeout:   l.Body + 3*l.Wait + l.Append + l.Header,
		IdleTimeout:    l.Idle,
		MaxHeaderBytes: maxHeader,
		// Of a server without TLS nothing comes here that a client could cause:
		// panics, here and in the fast path, and misuse of the ResponseWriter.
		ErrorLog: slog.NewLogLogger(f.o.Log.Handler(), slog.LevelError),
	}
}

// Listen listens on a TCP address with the front's limit on connections. The
// front cannot abort slow bodies on other listeners' connections.
func (f *Front) Listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "listen on %s: %w", address, err).
			WithHint(listening.Advice(err) + " (--port)")
	}
	return &listener{
		TCPListener: l.(*net.TCPListener), peers: &f.peers, open: make(chan struct{}, f.limits.Conns), closed: make(chan struct{}),
	}, nil
}
