// Package daemon runs the process of a worked system: its services, each on a port
// that is open before it serves, and an admin port for this machine alone.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/internal/adminport"
)

// Process is one process. It belongs to one goroutine, but for Ready.
type Process struct {
	Log      *slog.Logger
	Registry *prometheus.Registry
	// Drain is how long work in flight may take at the end.
	Drain time.Duration

	ready    atomic.Bool
	services []Service
	// public is where the process listens for its clients, and others is where its
	// services listen for each other, as "name=HOST:PORT".
	public string
	others []string
	ends   []func() // of what the services use, the first opened first
}

// Service is one server.
type Service struct {
	Serve func() error
	// Shutdown ends Serve, at once when its context ends.
	Shutdown func(context.Context)
}

// Logger logs as the flags of a process say.
func Logger(w io.Writer, level slog.Level, asJSON bool) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if asJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// OnEnd has Close do something, what was told last first.
func (p *Process) OnEnd(end func()) { p.ends = append(p.ends, end) }

// Close releases what the services use. They have ended.
func (p *Process) Close() {
	for _, end := range slices.Backward(p.ends) {
		end()
	}
}

// Ready reports whether the process serves and is not closing down.
func (p *Process) Ready() bool { return p.ready.Load() }

// Listen opens the port that a flag names, which Close closes.
func (p *Process) Listen(ctx context.Context, flag, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "%s %q is not host:port", flag, address).
			WithHint("for example " + flag + " 127.0.0.1:0, for a free port")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open port for %s: %w", flag, err).
			WithHint("another process may hold it; port 0 takes a free one")
	}
	p.OnEnd(func() { _ = l.Close() }) // it fails where its server has closed it
	return l, nil
}

// ListenLocal is Listen for what no other machine may reach.
func (p *Process) ListenLocal(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := p.Listen(ctx, flag, address)
	if err != nil {
		return nil, err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, whittle.Errorf(whittle.Invalid, "%s %s is not a loopback address", flag, address).
			WithHint("profiles and metrics never leave the machine: use 127.0.0.1, [::1] or localhost")
	}
	return l, nil
}

// Public names the address that a process has for its clients.
const Public = "public"

// Add has a service run with the process; said names its address: Public, or what
// it is to the others.
func (p *Process) Add(said string, l net.Listener, s Service) {
	p.services = append(p.services, s)
	if said == Public {
		p.public = l.Addr().String()
		return
	}
	p.others = append(p.others, " "+said+"="+l.Addr().String())
}

// HTTP is the service of an HTTP server.
func (p *Process) HTTP(s *http.Server, l net.Listener) Service {
	return Service{
		Serve: func() error {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
			return nil
		},
		Shutdown: func(ctx context.Context) {
			if s.Shutdown(ctx) != nil {
				p.Log.Warn("closed connections that were still open")
				_ = s.Close() // only closes listeners that Shutdown has closed before
			}
		},
	}
}

// Run serves until ctx ends or a service fails, then ends the services, those
// added last first: none loses what it depends on. Once all ports are open it
// writes one line to stdout, "listening public=HOST:PORT admin=HOST:PORT" and,
// where there are more, " name=HOST:PORT" for each.
func (p *Process) Run(ctx context.Context, admin net.Listener, stdout io.Writer) error {
	var serving sync.WaitGroup
	failed := make(chan error, len(p.services)+1)
	back := p.HTTP(NewServer(adminport.New(p.Ready, p.Registry), p.Log), admin)
	for _, one := range append(slices.Clone(p.services), back) {
		serving.Go(func() {
			if err := one.Serve(); err != nil {
				failed <- err
			}
		})
	}
	p.ready.Store(true)
	p.Log.Info("serving", "public", p.public, "admin", admin.Addr().String())
	_, err := fmt.Fprintf(stdout, "listening public=%s admin=%s%s\n", p.public, admin.Addr(), strings.Join(p.others, ""))
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	}
	p.ready.Store(false)
	p.Log.Info("draining", "at_most", p.Drain.String())
	bound, cancel := context.WithTimeout(context.Background(), p.Drain)
	defer cancel()
	for _, one := range slices.Backward(p.services) {
		one.Shutdown(bound)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel() // a profile under way is of no use any more
	back.Shutdown(gone)
	serving.Wait()
	p.Log.Info("stopped")
	return err
}

// NewServer bounds what one client may take: header, time. Handlers move the
// deadlines of what may take longer.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      5 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelError), // panics, mostly
	}
}
