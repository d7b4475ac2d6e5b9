package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"whittle"
	"whittle/carve/gateway/listener"
	"whittle/internal/listening"
	"whittle/internal/units"
	"whittle/systems/daemon"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/front"
)

type serveVerb struct {
	Host  string `env:"INGEST_HOST" default:"127.0.0.1" placeholder:"ADDRESS" help:"Address to listen on (${default}: this machine alone). 0.0.0.0 or :: is all."`
	Port  uint16 `env:"PORT" default:"3000" placeholder:"N" help:"Port (${default}); 0 takes a free one."`
	Admin string `env:"INGEST_ADMIN" default:"127.0.0.1:3001" placeholder:"ADDRESS" help:"Address of health, metrics and profiles (${default}). Empty: none."`

	tlsFlags
	Keys    string         `env:"INGEST_KEYS" placeholder:"FILE" help:"Write keys, one a line, plain or as sha256:HEX, with name=. Without it any key is accepted, and none."`
	Origins []string       `env:"INGEST_ORIGINS" placeholder:"ORIGIN" help:"Web origins whose pages may read the responses, such as https://example.com. None: any."`
	Proxies []netip.Prefix `env:"INGEST_PROXIES" placeholder:"CIDR" help:"Networks of the proxies in front whose X-Forwarded-For is trusted."`

	streamFlags
	logFlags
	LogFirst string `group:"stream" env:"INGEST_LOG_FIRST" placeholder:"DIR" help:"Respond when an event is on disk, in a log in this folder, and send it on to the sink in order."`

	deadFlags
	deadBytes

	DedupEntries int           `group:"limits" env:"INGEST_DEDUP_ENTRIES" default:"500000" placeholder:"N" help:"How many ids are remembered to know duplicates (${default}). 0: none."`
	DedupAge     time.Duration `group:"limits" env:"INGEST_DEDUP_AGE" default:"24h" placeholder:"TIME" help:"And for how long (${default})."`
	limitFlags

	Drain    time.Duration `env:"INGEST_DRAIN" default:"30s" placeholder:"TIME" help:"How long requests in flight may take after SIGTERM (${default})."`
	LogLevel slog.Level    `env:"INGEST_LOG_LEVEL" default:"INFO" placeholder:"LEVEL" help:"DEBUG, INFO, WARN or ERROR (${default})."`
	LogJSON  bool          `env:"INGEST_LOG_JSON" help:"Log in JSON."`

	// sinkSaid is whether somebody chose the stream, if only the default one.
	sinkSaid bool `kong:"-"`
}

// limitFlags bound what clients send and what all of them hold.
type limitFlags struct {
	MaxEvent      units.Bytes   `group:"limits" env:"INGEST_MAX_EVENT" default:"32KiB" placeholder:"SIZE" help:"Largest event (${default})."`
	MaxBatch      units.Bytes   `group:"limits" env:"INGEST_MAX_BATCH" default:"500KiB" placeholder:"SIZE" help:"Largest batch (${default}), decompressed."`
	MaxEvents     int           `group:"limits" env:"INGEST_MAX_EVENTS" default:"2500" placeholder:"N" help:"Most events in a batch (${default})."`
	MaxImport     units.Bytes   `group:"limits" env:"INGEST_MAX_IMPORT" default:"500KiB" placeholder:"SIZE" help:"Largest body of POST /import (${default}), decompressed."`
	InFlight      units.Bytes   `group:"limits" env:"INGEST_IN_FLIGHT" default:"12MiB" placeholder:"SIZE" help:"Bytes of bodies in memory at once (${default}); JSON counts twice."`
	MaxConns      int           `group:"limits" env:"INGEST_MAX_CONNS" default:"4096" placeholder:"N" help:"Connections open at once (${default}); more wait to be accepted."`
	HeaderTimeout time.Duration `group:"limits" env:"INGEST_HEADER_TIMEOUT" default:"10s" placeholder:"TIME" help:"For a request's header (${default})."`
	BodyTimeout   time.Duration `group:"limits" env:"INGEST_BODY_TIMEOUT" default:"30s" placeholder:"TIME" help:"For its body (${default})."`
	IdleTimeout   time.Duration `group:"limits" env:"INGEST_IDLE_TIMEOUT" default:"2m" placeholder:"TIME" help:"Between two requests of a connection (${default})."`
	AppendTimeout time.Duration `group:"limits" env:"INGEST_APPEND_TIMEOUT" default:"30s" placeholder:"TIME" help:"For the stream, until the outcome is called unknown (${default})."`
}

// Validate refuses what is below nothing: it would be taken for none.
func (v *serveVerb) Validate() error {
	switch {
	case v.DedupEntries < 0:
		return whittle.Errorf(whittle.Invalid, "--dedup-entries is %d: it cannot be below 0", v.DedupEntries)
	case v.DedupAge < 0:
		return whittle.Errorf(whittle.Invalid, "--dedup-age is %v: it cannot be below 0", v.DedupAge)
	case v.Drain < 0:
		return whittle.Errorf(whittle.Invalid, "--drain is %v: it cannot be below 0", v.Drain)
	}
	return nil
}

func (l *limitFlags) limits() (front.Limits, error) {
	for name, bad := range map[string]bool{
		"--max-event": l.MaxEvent < 1, "--max-batch": l.MaxBatch < 1, "--max-events": l.MaxEvents < 1,
		"--max-import": l.MaxImport < 1, "--in-flight": l.InFlight < 1,
		"--max-conns": l.MaxConns < 1, "--header-timeout": l.HeaderTimeout <= 0, "--body-timeout": l.BodyTimeout <= 0,
		"--idle-timeout": l.IdleTimeout <= 0, "--append-timeout": l.AppendTimeout <= 0,
	} {
		if bad {
			return front.Limits{}, whittle.Errorf(whittle.Invalid, "%s must be above 0", name)
		}
	}
	if most := max(l.MaxEvent, l.MaxBatch, l.MaxImport); most > 1<<30 {
		return front.Limits{}, whittle.Errorf(whittle.Invalid, "a body of %s is more than is held in memory: 1GiB is the most", most)
	}
	return front.Limits{
		Event:  event.Limits{Event: int(l.MaxEvent), Batch: int(l.MaxBatch), Events: l.MaxEvents},
		Import: int(l.MaxImport), InFlight: int64(l.InFlight), Append: l.AppendTimeout,
		Header: l.HeaderTimeout, Body: l.BodyTimeout, Idle: l.IdleTimeout, Conns: l.MaxConns,
	}, nil
}

// Help returns the examples.
func (serveVerb) Help() string {
	return `Listens until SIGINT or SIGTERM; then it takes no more, ends what is under way and closes the stream. A
second signal ends it at once. Prints one line "listening public=ADDRESS admin=ADDRESS durability=CLASS" when it is
ready: the class is what the responses will name.

Examples:
  ingest                                                       # embedded log in ./ingest-data
  ingest --keys keys.txt --retain-age 168h
  ingest --sink kafka --kafka-brokers k1:9092,k2:9092 --kafka-topic events
  ingest --sink kinesis --kinesis-stream events                # AWS_* from the environment or .env
  ingest --sink kinesis --kinesis-stream events --log-first /var/lib/ingest

  curl -u KEY: -H 'Content-Type: application/json' \
    -d '{"userId":"u1","event":"Signed Up"}' http://localhost:3000/v1/track
  curl http://127.0.0.1:3001/ready`
}

// Run serves until ctx ends.
func (v *serveVerb) Run(ctx context.Context, s streams) error {
	tuneGC()
	log := daemon.Logger(s.err, v.LogLevel, v.LogJSON)
	limits, err := v.limits()
	if err != nil {
		return err
	}
	v.warnOfUnusedSink(log)
	var files *watcher // nil: nothing is read again
	switch {
	case v.Keys != "":
		files = newWatcher(v.Keys)
		defer files.stop()
	case v.TLSCert != "": // it is looked at by itself, and who asks for that must not end the process
		signal.Ignore(syscall.SIGHUP)
		defer signal.Reset(syscall.SIGHUP)
	}
	keys, err := v.readKeys(log)
	if err != nil {
		return err
	}
	if files != nil {
		files.reload = keys.Reload
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	kept, err := v.openStream(ctx, log, registry)
	if err != nil {
		return err
	}
	if err := v.warnOfLimit(log, kept.stream.Limit()); err != nil {
		closeQuietly(kept.stream)
		return err
	}
	dead, err := v.openDead(log)
	if err != nil {
		closeQuietly(kept.stream)
		return err
	}
	err = v.serve(ctx, s, log, front.Options{
		Stream: kept.stream, Dead: dead, Keys: keys, Limits: limits, Origins: v.Origins, Proxies: v.Proxies, Metrics: registry, Log: log,
	}, kept, registry, files)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), kept.closing)
	defer cancel()
	if dead != nil {
		if closeErr := dead.Close(closing); closeErr != nil {
			err = errors.Join(err, whittle.Errorf(whittle.CodeOf(closeErr), "close dead letters: %w", closeErr))
		}
	}
	if closeErr := kept.stream.Close(closing); closeErr != nil {
		err = errors.Join(err, whittle.Errorf(whittle.CodeOf(closeErr), "close stream: %w", closeErr))
	}
	if err == nil {
		end := "stopped; every acknowledged event is kept"
		if kept.log == nil { // what another machine's stream keeps is its owner's to say
			end = "stopped; the stream has acknowledged every accepted event"
		}
		log.Info(end, "durability", kept.stream.Durability())
	}
	return err
}

// warnOfLimit says that the stream takes less than clients may send, and refuses one that
// takes nothing.
func (v *serveVerb) warnOfLimit(log *slog.Logger, takes int) error {
	switch {
	case takes <= 0:
		return whittle.Errorf(whittle.FailedPrecondition, "the stream takes no event at all: what an event's metadata may take is more than its longest message").
			WithHint("raise the topic's max.message.bytes, or the stream's max_msg_size and the server's max_payload")
	case takes < int(v.MaxEvent):
		log.Warn("the stream takes less than --max-event: what is longer, with its id, key and headers, is refused", "bytes", takes, "max_event", v.MaxEvent)
	}
	return nil
}

// warnOfUnusedSink says of settings in the environment that name a stream that is not
// used because nobody chose one: who set KAFKA_BROKERS alone expects events there.
func (v *serveVerb) warnOfUnusedSink(log *slog.Logger) {
	if v.sinkSaid {
		return
	}
	for _, s := range []struct {
		sink, variable string
		named          bool
	}{
		{"kafka", "KAFKA_BROKERS", len(v.KafkaBrokers) > 0},
		{"kinesis", "KINESIS_STREAM or STREAM_NAME", v.KinesisStream != ""},
		{"nats", "NATS_URL", v.NatsURL != ""},
	} {
		if s.named {
			log.Warn(s.variable + " is set and not used: events go to the embedded log. Choose by --sink or INGEST_SINK: " + s.sink + ", or embedded to have it so")
		}
	}
}

// tuneGC keeps the heap within a fifth of what is live above it, in place of as
// much again: half of what is live is the window of ids, which has no pointers to
// follow, and an event leaves a third of a kilobyte behind. So collecting five times
// as often costs little and saves tens of megabytes. GOGC in the environment
// goes before it.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(20)
	}
}

func (v *serveVerb) readKeys(log *slog.Logger) (*front.Keys, error) {
	if v.Keys == "" {
		log.Warn("no write keys configured; whoever reaches the port can write events (set --keys FILE)")
		return nil, nil
	}
	keys, err := front.ReadKeys(v.Keys)
	if err == nil && keys.Plain() > 0 {
		log.Warn("write keys stand in the file as they are; sha256:HEX in their place hides them (printf %s KEY | sha256sum)", "file", v.Keys, "keys", keys.Plain())
	}
	return keys, err
}

// serve wires the front to two listeners and runs them.
func (v *serveVerb) serve(ctx context.Context, s streams, log *slog.Logger, o front.Options, kept *serverStream, registry *prometheus.Registry, files *watcher) error {
	seen, err := v.window(ctx, kept, log, o.Keys, registry)
	if err != nil {
		return err
	}
	o.Seen = seen
	f, err := front.New(o)
	if err != nil {
		return err
	}
	secure, err := v.readCertificate(log)
	if err != nil {
		return err
	}
	public, err := listen(ctx, net.JoinHostPort(v.Host, strconv.Itoa(int(v.Port))), func(err error) string {
		return listening.Advice(err) + " (--port)"
	})
	if err != nil {
		return err
	}
	h := &server{front: f, public: listener.Listener{Listener: public, TLS: secure}, log: log, drain: v.Drain, files: files}
	adminAt := "off"
	if v.Admin != "" {
		a, err := listen(ctx, v.Admin, func(error) string { return `choose another address with --admin, or none with --admin=""` })
		if err != nil {
			public.Close()
			return err
		}
		adminAt = a.Addr().String()
		h.admin = &admin{stream: o.Stream, ready: h.ready, warning: f.Warning, registry: registry, loopback: a.Addr().(*net.TCPAddr).IP.IsLoopback()}
		h.adminListener = a
		if !h.admin.loopback {
			log.Warn("admin port reachable from other machines; anyone there can read profiles and metrics", "admin", adminAt)
		}
	}
	return h.run(ctx, func() {
		fmt.Fprintf(s.out, "listening public=%s admin=%s durability=%s\n", public.Addr(), adminAt, o.Stream.Durability())
	})
}
