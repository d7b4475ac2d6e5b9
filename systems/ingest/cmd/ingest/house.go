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
	"whittle/systems/ingest/front"
	"whittle/systems/ingest/fastpath"
)

// house is a running server: the public port, the admin port and what watches
// the keys.
type house struct {
	front         *front.Front
	public        net.Listener
	admin         *admin       // nil where it is switched off
	adminListener net.Listener // of admin
	keys          *front.Keys  // nil: open
	keysFile      string
	drain         time.Duration
	log           *slog.Logger
	ending        atomic.Bool
}

var errEnding = whittle.Errorf(whittle.Unavailable, "it is closing down")

// ready says why no events are taken; nil while they are.
func (h *house) ready() error {
	if h.ending.Load() {
		return errEnding
	}
	return h.front.Ready()
}

// run serves until ctx ends: then no connection is accepted any more, requests
// under way are answered, and the admin port goes last.
func (h *house) run(ctx context.Context, listening func()) error {
	public := h.front.Server()
	failed := make(chan error, 2)
	var servers sync.WaitGroup
	serve := func(s interface{ Serve(net.Listener) error }, l net.Listener) {
		servers.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- whittle.Errorf(whittle.Unavailable, "serve %s: %w", l.Addr(), err)
			}
		})
	}
	serve(public, h.public)
	var adminServer *http.Server
	if h.admin != nil {
		adminServer = h.admin.server(h.log)
		serve(adminServer, h.adminListener)
	}
	watching, stopWatching := context.WithCancel(ctx)
	if h.keys != nil {
		servers.Go(func() { watchKeys(watching, h.keys, h.keysFile, h.log) })
	}
	listening()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	h.ending.Store(true)
	stopWatching()
	err = errors.Join(err, h.end(ctx, public))
	if adminServer != nil {
		_ = adminServer.Close() // a metrics reader can ask again elsewhere
	}
	servers.Wait()
	return err
}

// end waits for the requests under way as long as it may.
func (h *house) end(ctx context.Context, public *fastpath.Server) error {
	h.log.Info("closing down: requests under way are answered", "at_most", h.drain)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.drain)
	defer cancel()
	err := public.Shutdown(grace)
	if err == nil {
		return nil
	}
	_ = public.Close() // Shutdown's error says more
	return whittle.Errorf(whittle.DeadlineExceeded, "requests were cut off: they were not answered within %v: %w", h.drain, err)
}
