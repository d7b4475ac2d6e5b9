package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/systems/daemon"
	"whittle/systems/ingest/fastpath"
	"whittle/systems/ingest/front"
)

// server is a running server: the public port, the admin port and what watches
// the keys.
type server struct {
	front         *front.Front
	public        net.Listener
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
func (s *server) run(ctx context.Context, listening func()) error {
	public := s.front.Server()
	failed := make(chan error, 2)
	var servers sync.WaitGroup
	serve := func(s interface{ Serve(net.Listener) error }, l net.Listener) {
		servers.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- whittle.Errorf(whittle.Unavailable, "serve %s: %w", l.Addr(), err)
			}
		})
	}
	serve(public, s.public)
	var adminServer *http.Server
	if s.admin != nil {
		adminServer = daemon.NewServer(s.admin.handler(), s.log)
		serve(adminServer, s.adminListener)
	}
	watching, stopWatching := context.WithCancel(ctx)
	if s.files != nil {
		servers.Go(func() { s.files.watch(watching, s.log) })
	}
	listening()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.shuttingDown.Store(true)
	stopWatching()
	err = errors.Join(err, s.shutdown(ctx, public))
	if adminServer != nil {
		_ = adminServer.Close() // a metrics reader can ask again elsewhere
	}
	servers.Wait()
	return err
}

// shutdown waits for the requests in flight as long as it may.
func (s *server) shutdown(ctx context.Context, public *fastpath.Server) error {
	s.log.Info("draining: finishing requests in flight", "at_most", s.drain)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drain)
	defer cancel()
	err := public.Shutdown(grace)
	if err == nil {
		return nil
	}
	_ = public.Close() // Shutdown's error says more
	return whittle.Errorf(whittle.DeadlineExceeded, "requests were aborted: they were not finished within %v: %w", s.drain, err)
}
