package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"whittle"
	"whittle/carve/gateway/listener"
	"whittle/systems/daemon"
	"whittle/systems/ingest/front"
)

// server is a running server: the public port, the admin port and what watches
// the keys.
type server struct {
	front         *front.Front
	public        listener.Listener
	admin         *admin       // nil where it is switched off
	adminListener net.Listener // of admin
	files         *watcher     // nil: none is read again
	drain         time.Duration
	log           *slog.Logger
	shuttingDown  atomic.Bool
}

var errEnding = whittle.Errorf(whittle.Unavailable, "it is closing down")

// ready says why no events are taken; nil while they are.
func (s *server) ready() error {
	if s.shuttingDown.Load() {
		return errEnding
	}
	return s.front.Ready()
}

// run serves until ctx ends: then no connection is accepted any more, requests
// under way get their responses, and the admin port goes last.
func (s *server) run(ctx context.Context, ready func()) error {
	var others errgroup.Group
	ctx, end := context.WithCancel(ctx)
	defer end()
	adminServer := daemon.NewServer(http.NotFoundHandler(), s.log)
	if s.admin != nil {
		adminServer.Handler = s.admin.handler()
		others.Go(func() error {
			defer end()
			if err := adminServer.Serve(s.adminListener); !errors.Is(err, http.ErrServerClosed) {
				return whittle.Errorf(whittle.Unavailable, "serve %s: %w", s.adminListener.Addr(), err)
			}
			return nil
		})
	}
	if s.files != nil {
		others.Go(func() error { s.files.watch(ctx, s.log); return nil })
	}
	var ending atomic.Int64 // when it began, Unix ns
	stop := context.AfterFunc(ctx, func() {
		ending.Store(time.Now().UnixNano())
		s.shuttingDown.Store(true)
		s.log.Info("draining: finishing requests in flight", "at_most", s.drain)
	})
	defer stop()
	ready()
	err := s.front.Server(s.drain).Serve(ctx, s.public)
	switch began := ending.Load(); {
	case err != nil:
		err = whittle.Errorf(whittle.Unavailable, "serve %s: %w", s.public.Addr(), err)
	case began > 0 && time.Now().UnixNano()-began >= int64(s.drain):
		err = whittle.Errorf(whittle.DeadlineExceeded, "requests were aborted: they were not finished within %v", s.drain)
	}
	end()
	_ = adminServer.Close() // a metrics reader can ask again elsewhere
	return errors.Join(err, others.Wait())
}

// listen takes an address. Where it cannot, the hint is what to do by which flag.
func listen(ctx context.Context, address string, hint func(error) string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "listen on %s: %w", address, err).
			WithHint(hint(err))
	}
	return l, nil
}

// tlsFlags are the public port's certificate.
type tlsFlags struct {
	TLSCert string `name:"tls-cert" env:"INGEST_TLS_CERT" placeholder:"FILE" help:"Serve HTTPS with this certificate and the chain behind it, in PEM; read again when it changes."`
	TLSKey  string `name:"tls-key" env:"INGEST_TLS_KEY" placeholder:"FILE" help:"The certificate's private key, in PEM."`
}

// readCertificate reads the flags' files; nil where they name none.
func (f *tlsFlags) readCertificate(log *slog.Logger) (*listener.Certificates, error) {
	if f.TLSCert == "" && f.TLSKey == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	if f.TLSCert == "" || f.TLSKey == "" {
		return nil, whittle.Errorf(whittle.Invalid, "--tls-cert and --tls-key belong together, and one of them is missing")
	}
	c, err := listener.LoadTLS(listener.TLS{Certificate: f.TLSCert, Key: f.TLSKey}, log)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read --tls-cert and --tls-key: %w", err)
	}
	return c, nil
}
