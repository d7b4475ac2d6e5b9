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
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/fleet/embedded"
	"whittle/carve/fleet/part"
	"whittle/carve/gate"
	"whittle/carve/gateway"
	"whittle/carve/gateway/accesslog"
	"whittle/carve/gateway/listener"
	"whittle/carve/handover"
	"whittle/carve/logqueue"
	"whittle/carve/notification"
	"whittle/carve/promquery"
	"whittle/carve/recording"
	"whittle/carve/state"
	"whittle/carve/steer"
	"whittle/cmdline"
	"whittle/internal/listening"
	"whittle/internal/openfiles"
)

type runVerb struct {
	Config string `short:"c" default:"whittle.yaml" placeholder:"FILE" help:"The config (${default})."`
}

// Help gives the examples.
func (runVerb) Help() string {
	return `Forwards requests, mirrors and compares those of the config's routes, and shifts users on the evidence. When it is ready it prints one line, "listening public=ADDRESS admin=ADDRESS".

SIGHUP, or a change of the file, reads the config again; a faulty config is refused, and the old one stays in force.
SIGUSR2 starts the present binary and config in place of this process, and loses no request; if the new one cannot
serve, nothing changes. SIGTERM ends whittle after the requests under way, a second SIGTERM at once.

Examples:
  whittle run -c whittle.yaml
  kill -HUP $PID                 # read the config again
  kill -USR2 $PID                # be replaced by a new binary or config
  whittle status                 # in another terminal`
}

// logFlush is how long a log that takes nothing may hold up the end.
const logFlush = 2 * time.Second

// heapBallast is memory that is allocated and never touched, so that the machine has
// to give none for it. Go collects garbage when the heap has doubled: a gateway's few
// megabytes double many times a second, and these with the ballast seldom.
const heapBallast = 32 << 20

// Run serves until ctx ends.
func (v *runVerb) Run(ctx context.Context, s cmdline.Streams) error {
	seen := statesOf(config.SourcesOf(v.Config).Now()) // before it is read, so that no change is missed
	f, err := readConfig(v.Config)
	if err != nil {
		return err
	}
	if err := checkPlaces(f); err != nil {
		return f.Locate(err)
	}
	requests := make(chan os.Signal, 1)
	handover.Requests(requests) // from the beginning, since the signal would end the process
	defer signal.Stop(requests)
	in, err := inherit()
	if err != nil {
		return err
	}
	lines := logqueue.New(s.Err, func(to io.Writer, dropped int64) {
		newLog(to, f.Log).Warn("log lines were dropped: the log's output was too slow", "lines", dropped)
	})
	defer lines.Close(logFlush)
	ballast := make([]byte, heapBallast)
	defer runtime.KeepAlive(ballast)
	log := newLog(lines, f.Log)
	for _, w := range f.Warnings {
		log.Warn(w)
	}
	d, err := open(ctx, f, log, in, lines)
	if err != nil {
		return f.Locate(err)
	}
	d.seen = seen
	d.requests = requests
	return d.serve(ctx, func() {
		fmt.Fprintf(s.Out, "listening public=%s admin=%s\n", strings.Join(d.addresses(), ","), d.adminAddr())
		d.notify("READY=1")
	})
}

func newLog(w io.Writer, c config.Log) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// accessLog is where each request is logged, or nil.
func (d *deployment) accessLog() (*accesslog.Log, error) {
	c := d.config().Access
	if c == nil {
		return nil, nil
	}
	to := d.log
	if c.File != "" {
		var err error
		if d.access, err = accesslog.ToFile(c.File, func(err error) {
			d.log.Error("write the access log: lines are lost, and counted", "err", err)
		}); err != nil {
			return nil, whittle.Errorf(whittle.Unavailable, "open the access log: %w", err).WithField("access.file").
				WithHint("give the user that runs whittle the right to write this file and its folder")
		}
		d.metrics = append(d.metrics, d.access.Dropped())
		to = d.access.Logger()
	}
	return accesslog.New(to, c.Fields, d.records), nil
}

// closeAccess writes what is left of the access log.
func (d *deployment) closeAccess() {
	if d.access == nil {
		return
	}
	if err := d.access.Close(logFlush); err != nil {
		d.log.Error("close the access log", "err", err)
	}
}

// requestID is the field by which requests are named.
func requestID(c *config.Access) string {
	if c == nil {
		return ""
	}
	return c.RequestID
}

// deployment is a running gateway with everything around it, wired once.
type deployment struct {
	file    atomic.Pointer[config.File] // as last put in force
	sources *config.Sources
	seen    fileStates // of its files, when it was last read
	log     *slog.Logger
	store   stateFile
	gateway *gateway.Gateway
	control decider
	// proxies send users to candidates where the config says so.
	proxies *steer.Proxies
	// fleet shows the fleet that this gateway is of; nil: it is alone.
	fleet func() *whittle.FleetStatus
	part  *part.Part // likewise
	// nats is the fleet's server in this process; nil: there is none.
	nats    embedded.Server
	admin   *adminServer // nil where it is switched off
	records *recording.Recording
	notices *notification.Sender
	public  []listener.Listener
	access  *accesslog.Output // nil: no file of its own
	// metrics are those that no part has of its own.
	metrics []prometheus.Collector
	replacement
}

// open makes every part and binds the addresses; nothing is served yet. What it opened is
// closed again if a later part fails. The process that is to be replaced goes on serving until
// every part that needs none of its state has been made.
func open(ctx context.Context, f *config.File, log *slog.Logger, in inherited, metrics ...prometheus.Collector) (_ *deployment, err error) {
	d := &deployment{log: log, metrics: metrics, replacement: newReplacement(in)}
	d.file.Store(f)
	defer func() {
		if err != nil {
			d.abandon()
		}
	}()
	if d.before == nil {
		if err = d.store.open(f.State, log); err != nil {
			return nil, err
		}
	}
	if d.records, err = recording.New(d.recordedFirst(f), log); err != nil {
		return nil, err
	}
	d.notices = notification.New(d.redacted, log)
	d.proxies = steer.New(d.redacted, log)
	d.proxies.Put(f.Routes)
	access, err := d.accessLog()
	if err != nil {
		return nil, err
	}
	limits := f.Limits
	limits.Connections = fitConnections(f, log)
	d.gateway, err = gateway.New(gateway.Options{
		Monolith: f.Monolith,
		Routes:   f.Routes,
		Limits:   limits,
		Trusted:  f.Forwarded.Trust,

		KeepUnderscores: f.Underscores,
		UpgradeGrace:    f.Drain.Upgraded,
		RequestID:       requestID(f.Access),
		// What decides is there before anything is served.
		Observe: d.observe,
		Recheck: d.recheck,
		Known:   func(route string, q *whittle.Request) bool { return d.control.Known(route, q) },
		Outcome: func(o whittle.Outcome) { d.control.Outcome(o) },
		Tripped: func(route, reason string, generation uint64) { d.control.Tripped(route, reason, generation) },
		Record:  d.records.Take,
		Access:  access,
		Log:     log,
		Redact:  d.records,
		Leased:  f.Fleet != nil,
	})
	if err != nil {
		return nil, err
	}
	if err = d.listen(ctx); err != nil {
		return nil, err
	}
	if err = d.takeOver(f); err != nil {
		return nil, err
	}
	recording.SetOn(d.gateway, f)
	if d.control, err = d.newDecider(f); err != nil {
		return nil, err
	}
	d.notices.Put(f.Notices)
	d.sources = config.SourcesOf(f.Path)
	d.seen = statesOf(d.sources.Now())
	d.admin, err = newAdminServer(ctx, d)
	for _, name := range d.sockets.Unused() {
		log.Warn("an inherited socket matches no address of the config, and was closed", "socket", name)
	}
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
	log.Error("the state file is damaged: every route begins again on the monolith alone", "err", err, "kept_as", aside)
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

// listen binds the users' addresses, or takes their sockets over, and reads the
// certificates.
func (d *deployment) listen(ctx context.Context) error {
	f := d.config()
	for i, c := range f.Listen {
		field := listenerField(f, i)
		l := listener.Listener{Proxies: c.Proxies, Sink: c.Sink, Candidates: c.Candidates}
		var err error
		if l.TLS, err = certificates(c.TLS, d.log); err != nil {
			return err
		}
		if c.Redirect != nil {
			to := listener.Redirect(*c.Redirect)
			l.Redirect = &to
		}
		at := listening.Address{Unix: c.Unix, Mode: c.Mode}
		if c.Unix == "" {
			at.TCP = c.Address
		}
		if l.Listener, err = listen(ctx, d.sockets, at, field); err != nil {
			return err
		}
		d.public = append(d.public, l)
	}
	return nil
}

// addresses are where users' requests arrive: HOST:PORT, or unix:PATH.
func (d *deployment) addresses() []string {
	var all []string
	for _, l := range d.public {
		at := l.Addr().String()
		if l.Addr().Network() == "unix" {
			at = "unix:" + at
		}
		all = append(all, at)
	}
	return all
}

// listenerField is the field of the config that says where a listener is.
func listenerField(f *config.File, i int) string {
	if len(f.Listen) == 1 {
		return "listen"
	}
	return fmt.Sprintf("listen[%d]", i)
}

// certificates reads those that the config names; nil: none are named, and the listener
// speaks plain HTTP.
func certificates(t *config.TLS, log *slog.Logger) (*listener.Certificates, error) {
	if t == nil {
		return nil, nil
	}
	c, err := listener.LoadTLS(listener.TLS{
		Certificate: t.Cert, Key: t.Key, Folder: t.Folder, ClientCA: t.ClientCA, ClientOptional: t.ClientOptional, MinVersion: t.MinVersion,
	}, log)
	if e, ok := errors.AsType[*whittle.Error](err); ok {
		return nil, e.WithField(t.Field)
	}
	return c, err
}

func listen(ctx context.Context, from *listening.Set, at listening.Address, field string) (net.Listener, error) {
	l, err := from.Listen(ctx, at)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "listen on %s: %w", at, err).
			WithField(field).WithHint(listening.Advice(err))
	}
	return l, nil
}

// abandon closes what was opened of a deployment that was never served.
func (d *deployment) abandon() {
	d.closeAccess()
	if d.before != nil {
		d.before.Abandon()
	}
	if err := d.sockets.Close(); err != nil {
		d.log.Error("close sockets", "err", err)
	}
	if d.notices != nil {
		d.notices.Close(0)
	}
	d.records.Close()
	d.endNATS()
	if err := d.store.Close(); err != nil {
		d.log.Error("close state", "err", err)
	}
}

func (d *deployment) endNATS() {
	if d.nats != nil {
		d.nats.End()
	}
}

func (d *deployment) config() *config.File { return d.file.Load() }

func (d *deployment) adminAddr() string {
	if d.admin == nil {
		return "off"
	}
	return d.admin.address
}

// serve runs until ctx ends, or until another process has taken over, then winds down in
// the order in which nothing is lost: no new requests, mirror workers, the last decision,
// the state file, the traces. It says ready once orders are taken; who asks before that
// waits.
func (d *deployment) serve(ctx context.Context, ready func()) error {
	d.control.Start()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	signal.Ignore(syscall.SIGUSR1) // log rotation sends it to other proxies; it would end this one

	d.decide(ctx)
	<-d.control.Running()
	d.commit()
	ready()

	group, failing := errgroup.WithContext(ctx)
	failed, fail := context.WithCancel(failing)
	defer fail()
	staying, leave := context.WithCancel(failed) // until this process is asked to end, or is replaced
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	watched, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	d.endSoon = fail
	d.left = func() {
		leave()
		stopWatching() // the admin address is the other process's
	}
	group.Go(func() error {
		defer fail()
		defer stopWatching() // the last request has its response
		return d.gateway.Serve(serving, d.public...)
	})
	group.Go(func() error {
		defer stopServing()
		d.awaitEnd(failed)
		return nil
	})
	group.Go(func() error { return d.watchConfig(staying, hup) })
	group.Go(func() error { return d.replaceOnRequest(staying) })
	group.Go(func() error { return d.gates().Run(staying) })
	group.Go(func() error { return d.queries().Run(staying) })
	if d.admin != nil {
		group.Go(func() error { return d.admin.serve(watched, failed) })
	}
	err := group.Wait()
	return errors.Join(err, d.windDown(ctx))
}

// awaitEnd returns when new connections are to be refused.
func (d *deployment) awaitEnd(ctx context.Context) {
	<-ctx.Done()
	lame := d.config().Drain.LameDuck
	if !d.isReplaced() {
		d.notify("STOPPING=1")
		d.log.Info("ending: /readyz fails, requests under way are finished", "lame_duck", lame, "grace", d.config().Limits.Grace)
	}
	select {
	case <-d.replaced: // others serve them
	case <-time.After(lame):
	}
}

// windDown ends what is left when no request is under way any more.
func (d *deployment) windDown(ctx context.Context) error {
	if d.before != nil {
		d.before.Await(ctx, d.config().Limits.Grace)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.config().Limits.Grace)
	defer cancel()
	mirroring, stop := context.WithCancel(grace)
	defer stop()
	if d.isReplaced() {
		stop() // what is still mirrored is not compared
	}
	err := d.gateway.Close(mirroring)
	if d.isReplaced() {
		err = nil
		d.finish()
	} else {
		d.records.Close()
		err = errors.Join(err, d.stopDeciding(), d.store.Close())
		d.leaveFleet()
		d.endNATS()
	}
	d.notices.Close(noticeFlush)
	d.closeAccess()
	d.log.Info("ended", "replaced", d.isReplaced())
	return err
}

// noticeFlush is how long notifications of the last decisions may take at the end.
const noticeFlush = 3 * time.Second

func (d *deployment) gates() *gate.Keeper {
	return &gate.Keeper{Controller: d.control, Redact: d.redacted, Log: d.log}
}

func (d *deployment) queries() *promquery.Poller {
	return &promquery.Poller{Config: d.config, Reading: d.control.Query, Redact: d.redacted, Log: d.log}
}

// redacted takes what is secret out of a text, by the rules in force.
func (d *deployment) redacted(text string) string {
	a := whittle.Response{Detail: text}
	d.records.Response(&a)
	return a.Detail
}
