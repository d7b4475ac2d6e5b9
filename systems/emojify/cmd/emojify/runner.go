package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"whittle"
	"whittle/internal/adminport"
)

// runner is one process: its services, and an admin port.
type runner struct {
	flags    *processFlags
	log      *slog.Logger
	registry *prometheus.Registry
	ready    atomic.Bool
	services []service
	// public is where the process listens for its clients, and others is where its
	// services listen for each other, as "name=HOST:PORT".
	public string
	others []string
	ends   []func() // of what the services use, the first opened first
}

// service is one server, whose port is open before it serves.
type service struct {
	serve func() error
	// shutdown ends serve, at once when its context ends.
	shutdown func(context.Context)
}

func newRunner(p *processFlags, s streams) (*runner, error) {
	if p.Drain < 0 {
		return nil, whittle.Errorf(whittle.Invalid, "--drain is %v, it must not be below 0", p.Drain)
	}
	// Rare enough to cost nothing that one could measure, often enough to show
	// a lock that matters in a profile of seconds.
	runtime.SetMutexProfileFraction(100)
	runtime.SetBlockProfileRate(int(10 * time.Millisecond))
	h := &runner{flags: p, log: p.logger(s.err), registry: prometheus.NewRegistry()}
	h.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return h, nil
}

// serve opens the two ports that every verb has, has build add services to the
// process, and runs them until ctx ends.
func (p *processFlags) serve(ctx context.Context, s streams, address, admin string, build func(h *runner, port net.Listener) error) error {
	h, err := newRunner(p, s)
	if err != nil {
		return err
	}
	defer func() {
		for _, end := range slices.Backward(h.ends) {
			end()
		}
	}()
	port, err := h.listen(ctx, "listen", address)
	if err != nil {
		return err
	}
	back, err := h.listen(ctx, "admin", admin)
	if err != nil {
		return err
	}
	if a, ok := back.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return whittle.Errorf(whittle.Invalid, "--admin %s is not a loopback address", admin).
			WithHint("profiles and metrics never leave the machine: use 127.0.0.1, [::1] or localhost")
	}
	if err := build(h, port); err != nil {
		return err
	}
	return h.run(ctx, back, s)
}

// public names the address that a process has for its clients.
const public = "public"

// add has a service run with the process; said names its address: public, or what
// it is to the others.
func (h *runner) add(said string, l net.Listener, s service) {
	h.services = append(h.services, s)
	if said == public {
		h.public = l.Addr().String()
		return
	}
	h.others = append(h.others, " "+said+"="+l.Addr().String())
}

func (h *runner) httpService(s *http.Server, l net.Listener) service {
	return service{
		serve: func() error {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
			return nil
		},
		shutdown: func(ctx context.Context) {
			if s.Shutdown(ctx) != nil {
				h.log.Warn("closed connections that were still open")
				_ = s.Close() // only closes listeners that Shutdown has closed before
			}
		},
	}
}

// run serves until ctx ends or a service fails, then ends the services, those
// added last first: none loses what it depends on. Once all ports are open it
// writes one line to stdout, "listening public=HOST:PORT admin=HOST:PORT" and,
// where there are more, " cache=HOST:PORT facebox=HOST:PORT".
func (h *runner) run(ctx context.Context, admin net.Listener, s streams) error {
	var serving sync.WaitGroup
	failed := make(chan error, len(h.services)+1)
	start := func(one service) {
		serving.Go(func() {
			if err := one.serve(); err != nil {
				failed <- err
			}
		})
	}
	back := h.httpService(newServer(adminport.New(h.ready.Load, h.registry), h.log), admin)
	for _, one := range append(slices.Clone(h.services), back) {
		start(one)
	}
	h.ready.Store(true)
	_, err := fmt.Fprintf(s.out, "listening public=%s admin=%s%s\n", h.public, admin.Addr(), strings.Join(h.others, ""))
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	}
	h.ready.Store(false)
	h.log.Info("draining", "at_most", h.flags.Drain.String())
	bound, cancel := context.WithTimeout(context.Background(), h.flags.Drain)
	defer cancel()
	for _, one := range slices.Backward(h.services) {
		one.shutdown(bound)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel() // a profile under way is of no use any more
	back.shutdown(gone)
	serving.Wait()
	h.log.Info("stopped")
	return err
}

// newServer bounds what one client may take: header, time. Handlers move the
// deadlines of what may take longer.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      5 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// listen opens a port, which the process closes at its end.
func (h *runner) listen(ctx context.Context, flag, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "--%s %q is not host:port", flag, address).
			WithHint("for example --" + flag + " 127.0.0.1:0, for a free port")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open port for --%s: %w", flag, err).
			WithHint("another process may hold it; port 0 takes a free one")
	}
	h.ends = append(h.ends, func() { _ = l.Close() }) // it fails where its server has closed it
	return l, nil
}
