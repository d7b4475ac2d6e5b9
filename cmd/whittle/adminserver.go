package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"whittle/carve/admin"
	"whittle/carve/dashboard"
	"whittle/internal/listening"
)

// adminServer serves the admin API on a listener of its own.
type adminServer struct {
	listener net.Listener
	sockets  *listening.Set
	address  string
	log      *slog.Logger
	server   *http.Server
	ready    atomic.Bool
	ending   chan struct{} // closed when live pages are to go
}

// newAdminServer binds the admin address; nil where it is switched off.
func newAdminServer(ctx context.Context, d *deployment) (*adminServer, error) {
	if d.config().Admin == "" {
		return nil, nil
	}
	l, err := listen(ctx, d.sockets, listening.Address{TCP: d.config().Admin}, "admin")
	if err != nil {
		return nil, err
	}
	a := &adminServer{listener: l, sockets: d.sockets, address: l.Addr().String(), log: d.log, ending: make(chan struct{})}
	handler, err := admin.New(admin.Options{
		Controller:  d.control,
		Address:     l.Addr().String(),
		Token:       d.config().AdminToken,
		ViewerToken: d.config().ViewerToken,
		HookKey:     d.config().HookKey,
		Ending:      a.ending,
		Config:      func() any { return describeConfig(d) },
		Upstreams:   d.gateway.Upstreams,
		Remarks:     d.gateway.Remarks,
		Metrics:     metricsOf(d),
		Page:        dashboard.Handler(),
		Ready:       a.ready.Load,
		Version:     version(),
		Fleet:       d.fleet,
		Log:         d.log,
	})
	if err != nil {
		l.Close()
		return nil, err
	}
	a.server = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelError), // panics, mostly
	}
	return a, nil
}

// describeConfig is the config in force in words, without its secrets.
func describeConfig(d *deployment) map[string]string {
	var b bytes.Buffer
	if err := d.config().Describe(&b); err != nil {
		return map[string]string{"error": err.Error()}
	}
	return map[string]string{"path": d.config().Path, "as_treated": b.String()}
}

func metricsOf(d *deployment) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(d.metrics...)
	registry.MustRegister(d.gateway, d.control, d.records, d.notices,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry})
}

// serve runs until ctx ends. It says that whittle is ready until leaving ends:
// between the two the last requests are answered, and health, metrics and the
// page can still be looked at.
func (a *adminServer) serve(ctx, leaving context.Context) error {
	served := make(chan struct{})
	go func() {
		defer close(served)
		a.accept(ctx)
	}()
	a.ready.Store(true)
	defer context.AfterFunc(leaving, func() { a.ready.Store(false) })()
	<-ctx.Done()
	close(a.ending)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := a.server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = a.server.Close()
	}
	<-served
	return err
}

// listenAgain is the wait before the admin address is bound again.
const listenAgain = 100 * time.Millisecond

// accept serves until the server is shut down. A listener that fails is no reason to
// end the gateway: it is bound anew.
func (a *adminServer) accept(ctx context.Context) {
	for l := a.listener; ; {
		err := a.server.Serve(l)
		if errors.Is(err, http.ErrServerClosed) {
			return
		}
		a.log.Error("the admin API accepts no connections; its address is bound anew", "err", err)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(listenAgain):
			}
			if l, err = listen(ctx, a.sockets, listening.Address{TCP: a.address}, "admin"); err == nil {
				break
			}
		}
	}
}
