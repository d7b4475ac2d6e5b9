package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/control"
	"whittle/carve/cpuwatch"
	"whittle/carve/gate"
	"whittle/carve/gateway"
	"whittle/carve/gateway/listener"
	"whittle/carve/logqueue"
	"whittle/carve/notification"
	"whittle/carve/recording"
	"whittle/carve/state"
	"whittle/carve/trace"
	"whittle/cmdline"
	"whittle/internal/openfiles"
)

type runVerb struct {
	Config string `short:"c" default:"whittle.yaml" placeholder:"FILE" help:"The config (${default})."`
}

// Help gives the examples.
func (runVerb) Help() string {
	return `Listens, passes requests on, mirrors and compares what the config's routes say, and shifts their traffic by the evidence. Prints one line "listening public=ADDRESS admin=ADDRESS" when it is ready. The config is read again on SIGHUP and when the file changes; a bad one is refused and the old one stays in force. SIGTERM ends it after the requests under way.

Examples:
  whittle run -c whittle.yaml
  kill -HUP $PID                 # read the config again
  whittle status                 # in another terminal`
}

// logFlush is how long a log that takes nothing may hold up the end.
const logFlush = 2 * time.Second

// Run serves until ctx ends.
func (v *runVerb) Run(ctx context.Context, s cmdline.Streams) error {
	seen := statesAt(v.Config) // before it is read, so that no change is missed
	f, err := readConfig(v.Config)
	if err != nil {
		return err
	}
	lines := logqueue.New(s.Err, func(to io.Writer, dropped int64) {
		newLog(to, f.Log).Warn("log lines were dropped, since nobody took those before them", "lines", dropped)
	})
	defer lines.Close(logFlush)
	log := newLog(lines, f.Log)
	for _, w := range f.Warnings {
		log.Warn(w)
	}
	d, err := open(ctx, f, log, lines)
	if err != nil {
		return f.Locate(err)
	}
	d.seen = seen
	return d.serve(ctx, func() {
		fmt.Fprintf(s.Out, "listening public=%s admin=%s\n", d.public.Addr(), d.adminAddr())
	})
}

func newLog(w io.Writer, c config.Log) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// accessLog is where each request is recorded, or nil.
func accessLog(log *slog.Logger, c config.Log) *slog.Logger {
	if !c.Access {
		return nil
	}
	return log
}

// deployment is a running gateway with everything around it, wired once.
type deployment struct {
	file    atomic.Pointer[config.File] // as last put in force
	seen    fileStates                  // of its files, when it was last read
	log     *slog.Logger
	store   *state.Store
	gateway *gateway.Gateway
	control *control.Controller
	admin   *adminServer // nil where it is switched off
	records *recording.Recording
	notices *notification.Sender
	public  net.Listener
	// connections is how many clients may have open, which the limit of open files may
	// have lowered.
	connections int
	// metrics are those that no part has of its own.
	metrics []prometheus.Collector
	// stopTraces flushes the spans that wait for export.
	stopTraces func(context.Context) error
}

// open makes every part and binds the addresses; nothing is served yet. What
// it opened is closed again if a later part fails.
func open(ctx context.Context, f *config.File, log *slog.Logger, metrics ...prometheus.Collector) (_ *deployment, err error) {
	d := &deployment{log: log, metrics: metrics}
	d.file.Store(f)
	defer func() {
		if err != nil {
			d.abandon()
		}
	}()
	if d.store, err = openStore(f.State, log); err != nil {
		return nil, err
	}
	tracer, stop, err := trace.New(ctx, f.Trace)
	if err != nil {
		return nil, err
	}
	d.stopTraces = stop
	if d.records, err = recording.New(f, log); err != nil {
		return nil, err
	}
	d.notices = notification.New(d.redacted, log)
	limits := gateway.Limits(f.Limits)
	limits.Connections = fitConnections(f, log)
	d.connections = limits.Connections
	d.gateway, err = gateway.New(gateway.Options{
		Monolith: f.Monolith,
		Routes:   f.Routes,
		Limits:   limits,
		Clients:  d.clients(f),
		TLS:      tlsFiles(f.TLS),
		Trusted:  f.Forwarded.Trust,

		KeepUnderscores: f.Underscores,
		// The controller is made next and before anything is served, so these
		// are never called while it is nil.
		Observe: func(x *whittle.Exchange) whittle.Observation { return d.control.Observe(x) },
		Recheck: func(r *whittle.Recheck) (time.Duration, bool) { return d.control.Recheck(r) },
		Known:   func(route string, q *whittle.Request) bool { return d.control.Known(route, q) },
		Outcome: func(o whittle.Outcome) { d.control.Outcome(o) },
		Tripped: func(route, reason string, generation uint64) { d.control.Tripped(route, reason, generation) },
		Record:  d.records.Take,
		Tracer:  tracer,
		Access:  accessLog(log, f.Log),
		Log:     log,
		Redact:  d.records,
	})
	if err != nil {
		return nil, err
	}
	recording.SetOn(d.gateway, f)
	d.control, err = control.New(control.Options{
		Store:    d.store,
		Monolith: f.Monolith,
		Routes:   f.Routes,
		Apply:    d.gateway.Apply,
		Watch:    d.gateway.Watch,
		Counts:   d.gateway.Counts,
		NewJudge: control.Redacting(d.records),
		Notify:   d.notices.Tell,
		Log:      log,
	})
	if err != nil {
		return nil, err
	}
	d.notices.Put(f.Notices)
	if d.public, err = listen(ctx, f.Listen, "listen"); err != nil {
		return nil, err
	}
	// The port may have been the system's to choose.
	if err = f.LeadsBack(d.public.Addr().String()); err != nil {
		return nil, err
	}
	d.admin, err = newAdminServer(ctx, d)
	return d, err
}

// openStore opens the state file. One that cannot be read is renamed,
// and a new one is begun: the monolith alone serves until there is new
// evidence, which is better than no gateway.
func openStore(path string, log *slog.Logger) (*state.Store, error) {
	store, err := state.Open(path)
	if !errors.Is(err, state.ErrCorrupt) {
		return store, err
	}
	aside, asideErr := state.SetAside(path, time.Now())
	if asideErr != nil {
		return nil, errors.Join(err, asideErr)
	}
	log.Error("the state file is damaged: every route begins again on the monolith alone", "error", err, "kept_as", aside)
	return state.Open(path)
}

// otherFiles is room for what is open other than connections: listeners, the state, logs,
// the admin API's clients.
const otherFiles = 128

// fitConnections gives how many clients' connections there may be with the
// upstreams', and warns where that is fewer than configured.
func fitConnections(f *config.File, log *slog.Logger) int {
	others := otherFiles + 2*f.Monolith.MaxConns // upgraded ones are counted for themselves
	for i := range f.Routes {
		if c := f.Routes[i].Candidate; c != nil {
			others += c.MaxConns
		}
	}
	limit, wanted := openfiles.Limit(), f.Limits.Connections
	fits := openfiles.Fit(limit, wanted, others)
	if fits < wanted {
		log.Warn("the limit of open files is too low for limits.connections, which is lowered; raise it (ulimit -n, LimitNOFILE=), or lower limits.connections and max_conns",
			"open_files", limit, "needed", wanted+others, "connections", fits, "configured", wanted)
	}
	return fits
}

// clients gives the bounds on each client. None may have all connections, where there are
// fewer than configured.
func (d *deployment) clients(f *config.File) gateway.Clients {
	c := gateway.Clients(f.Clients)
	if d.connections < f.Limits.Connections && c.Connections > 0 {
		c.Connections = min(c.Connections, max(1, d.connections*3/4))
	}
	return c
}

func tlsFiles(t *config.TLS) *listener.TLS {
	if t == nil {
		return nil
	}
	return &listener.TLS{Certificate: t.Cert, Key: t.Key}
}

func listen(ctx context.Context, address, field string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "listen on %s: %w", address, err).
			WithField(field).WithHint("is another process there? Choose another address in the config.")
	}
	return l, nil
}

// abandon closes what was opened of a deployment that was never served.
func (d *deployment) abandon() {
	if d.public != nil {
		d.public.Close()
	}
	if d.notices != nil {
		d.notices.Close(0)
	}
	d.records.Close()
	if d.store != nil {
		if err := d.store.Close(); err != nil {
			d.log.Error("close state", "error", err)
		}
	}
}

func (d *deployment) config() *config.File { return d.file.Load() }

func (d *deployment) adminAddr() string {
	if d.admin == nil {
		return "off"
	}
	return d.admin.address
}

// serve runs until ctx ends, then winds down in the order in which nothing is
// lost: no new requests, mirror workers, the last decision, the state file,
// the traces. It says ready once orders are taken; who asks before that waits.
func (d *deployment) serve(ctx context.Context, ready func()) error {
	d.control.Start()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)

	// decide outlives the requests, so that what they taught is kept.
	decide, stopDeciding := context.WithCancel(context.WithoutCancel(ctx))
	defer stopDeciding()
	decided := make(chan error, 1)
	go func() { decided <- d.control.Run(decide) }()
	<-d.control.Running()
	ready()

	group, serving := errgroup.WithContext(ctx)
	watched, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error {
		defer stopWatching() // the last request has its response
		return d.gateway.Serve(serving, d.public)
	})
	group.Go(func() error { return d.watchConfig(serving, hup) })
	group.Go(func() error { return d.cpuWatch().Run(serving) })
	group.Go(func() error { return d.gates().Run(serving) })
	if d.admin != nil {
		group.Go(func() error { return d.admin.serve(watched, serving) })
	}
	err := group.Wait()

	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.config().Limits.Grace)
	defer cancel()
	err = errors.Join(err, d.gateway.Close(grace))
	d.records.Close()
	stopDeciding()
	err = errors.Join(err, <-decided, d.store.Close())
	d.notices.Close(noticeFlush)
	if flush := d.stopTraces(grace); flush != nil {
		d.log.Warn("the last spans were not exported", "error", flush)
	}
	return err
}

// noticeFlush is how long notifications of the last decisions may take at the end.
const noticeFlush = 3 * time.Second

func (d *deployment) gates() *gate.Keeper {
	return &gate.Keeper{Controller: d.control, Redact: d.redacted, Log: d.log}
}

// redacted takes what is secret out of a text, by the rules in force.
func (d *deployment) redacted(text string) string {
	a := whittle.Response{Detail: text}
	d.records.Response(&a)
	return a.Detail
}

func (d *deployment) cpuWatch() *cpuwatch.Watch {
	return &cpuwatch.Watch{Config: d.config, Reading: d.control.CPU, Log: d.log}
}
