package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/gateway"
	"whittle/carve/gateway/listener"
	"whittle/cmdline"
	"whittle/internal/listening"
	"whittle/internal/units"
	"whittle/record/journal"
	"whittle/record/recorder"
	"whittle/record/redact"
)

type recordLive struct {
	Listen   string        `default:":8080" placeholder:"ADDRESS" help:"Where users' requests arrive (${default})."`
	Monolith string        `required:"" placeholder:"URL" help:"The server that responds to them."`
	To       string        `required:"" placeholder:"DIR" help:"The folder to record into; created if missing."`
	Sample   share         `default:"100%" help:"Share of connections to record, each without gaps for a minute at a time (${default})."`
	MaxBody  bytesFlag     `default:"1MiB" placeholder:"SIZE" help:"Leave out longer bodies (${default})."`
	MaxBytes bytesFlag     `default:"1GiB" placeholder:"SIZE" help:"Size of the folder; the oldest exchanges go first (${default})."`
	MaxAge   time.Duration `bound:">0" default:"168h" placeholder:"DURATION" help:"Age of an exchange (${default})."`
	For      time.Duration `bound:">0" placeholder:"DURATION" help:"Stop after this time."`
	recorder.Flags
	JSON string `name:"json" placeholder:"FILE" help:"At the end, write what was recorded as JSON (\"-\": standard output)."`
}

// share is a part of the traffic as a flag.
type share whittle.Share

// UnmarshalText reads "10%".
func (s *share) UnmarshalText(b []byte) error {
	v, err := config.ParseShare(string(b))
	*s = share(v)
	return err
}

// bytesFlag is a size as a flag.
type bytesFlag int64

// UnmarshalText reads "64MiB".
func (s *bytesFlag) UnmarshalText(b []byte) error {
	v, err := config.ParseSize(string(b))
	*s = bytesFlag(v)
	return err
}

// Help gives the examples.
func (recordLive) Help() string {
	return `Stands in front of a monolith, passes every request on untouched, and keeps the requests and responses.
Secrets are taken out before anything reaches the disk: credentials, cookies, fields by their name, card numbers and
e-mail addresses become tokens that are the same for the same secret. No request ever waits for the recording; what
does not fit is shed and counted. Ctrl-C or SIGTERM ends it after the requests under way.

To record a part of what a running gateway passes on, say record: in its config instead.

Exit status: 0 ended as asked; 1 the disk failed and exchanges were lost; 2 bad usage; 3 could not run.

Examples:
  whittle record --listen :8080 --monolith http://127.0.0.1:3000 --to recorded
  whittle record --monolith http://127.0.0.1:3000 --to recorded --sample 10% --max-bytes 200MiB --for 10m
  whittle record --monolith http://127.0.0.1:3000 --to recorded --redact-field phone --redact-path '$.user.address'
  whittle record ls recorded            # what is in it`
}

// recordedSummary is what the verb says at its end.
type recordedSummary struct {
	Dir      string `json:"dir"`
	Recorded int64  `json:"recorded"`
	// BodiesLeftOut of them could not be redacted, or were too long.
	BodiesLeftOut int64 `json:"bodies_left_out"`
	// Failed of them have no whole response: the monolith did not give one.
	Failed int64 `json:"failed"`
	Bytes  int64 `json:"bytes"`
	Shed   int64 `json:"shed"`
	// Skipped were streams, upgrades, or given up by their client.
	Skipped int64 `json:"skipped"`
	Lost    int64 `json:"lost"`
	// Dropped could not be recorded themselves: no entry of a log holds them.
	Dropped int64   `json:"dropped"`
	Seconds float64 `json:"seconds"`
}

// Run records until ctx ends.
func (v *recordLive) Run(ctx context.Context, s cmdline.Streams) error {
	host, port, err := net.SplitHostPort(v.Listen)
	if socket := host == "unix" && (port == "" || strings.ContainsAny(port, "/@")); err != nil || socket {
		return whittle.Errorf(whittle.Invalid, "--listen %q is not an address: write HOST:PORT, such as :8080 or 127.0.0.1:8080", v.Listen)
	}
	redactor, err := v.Redactor(v.To)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(s.Err, nil))
	rec, err := recorder.Open(recorder.Options{
		Dir: v.To, Journal: journal.Options{MaxBytes: int64(v.MaxBytes), MaxAge: v.MaxAge}, Redactor: redactor, Log: log,
	})
	if err != nil {
		return err
	}
	sum := recordedSummary{Dir: v.To}
	err = v.record(ctx, s, rec, redactor, log, &sum)
	err = errors.Join(err, rec.Close())
	sum.of(rec)
	err = errors.Join(err, cmdline.WriteJSON(s, v.JSON, sum))
	if err == nil && sum.Lost > 0 {
		err = whittle.Errorf(whittle.FallsShort, "%s lost because the disk failed", units.Counted(sum.Lost, "exchange"))
	}
	return err
}

// record serves until ctx ends, and says how it goes.
func (v *recordLive) record(ctx context.Context, s cmdline.Streams, rec *recorder.Recorder, redactor *redact.Redactor, log *slog.Logger, sum *recordedSummary) error {
	g, err := gateway.New(gateway.Options{
		Monolith: whittle.Upstream{URL: v.Monolith, Timeout: time.Minute, MaxResponse: 4 << 20, MaxConns: 1024},
		Record:   rec.Offer, Log: log, Redact: redactor,
	})
	if err != nil {
		return err
	}
	g.SetRecording(whittle.Share(v.Sample), int64(v.MaxBody))
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", v.Listen)
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "listen on %s: %w", v.Listen, err).
			WithHint(listening.Advice(err) + " (--listen)")
	}
	if v.For > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, v.For)
		defer stop()
	}
	begun := time.Now()
	screen := cmdline.NewScreen(s)
	screen.Say("recording public=%s monolith=%s to=%s", l.Addr(), v.Monolith, v.To)
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(ctx, listener.Listener{Listener: l}) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			sum.count(g, rec)
			screen.Progress("%s", sum.line())
			continue
		case err = <-ended:
		}
		break
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = errors.Join(err, g.Close(grace), rec.Close())
	sum.count(g, rec)
	sum.Seconds = time.Since(begun).Seconds()
	screen.Say("%s, in %s", sum.line(), time.Since(begun).Round(time.Second))
	screen.Say("in %s; look at it with: whittle record ls %s", v.To, v.To)
	screen.Say("%s shows whether a guess is the secret behind a token: keep it apart from the log", recorder.KeyPath(v.To))
	return err
}

func (r *recordedSummary) count(g *gateway.Gateway, rec *recorder.Recorder) {
	c := g.Records()
	r.Shed, r.Skipped = c.Shed, c.Skipped
	r.of(rec)
}

func (r *recordedSummary) of(rec *recorder.Recorder) {
	c := rec.Counts()
	r.Recorded, r.BodiesLeftOut, r.Failed, r.Bytes, r.Lost, r.Dropped = c.Recorded, c.Bodiless, c.Failed, c.Bytes, c.Lost, c.Dropped
}

func (r *recordedSummary) line() string {
	line := fmt.Sprintf("%d recorded (%s before compression), %d shed", r.Recorded, units.Volume(r.Bytes), r.Shed)
	for _, more := range []struct {
		n    int64
		what string
	}{
		{r.Failed, "without a whole response of the monolith"},
		{r.BodiesLeftOut, "without a body that could not be redacted or was too long"},
		{r.Skipped, "streams and the like skipped"},
		{r.Lost, "lost"},
		{r.Dropped, "larger than a log takes"},
	} {
		if more.n > 0 {
			line += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	return line
}
