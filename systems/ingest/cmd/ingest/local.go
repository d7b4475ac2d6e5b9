package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/kinesis"
)

// serverStream is the stream that responds stand for, with the local log in it.
type serverStream struct {
	stream stream.Stream
	// log is the embedded log that events go to first. Nil: there is none.
	log stream.Stream
	// closing is how long the stream may take to close.
	closing time.Duration
}

// drainTimeout is how long a log may go on draining once the server ends: what
// is left stays in it.
const drainTimeout = 5 * time.Second

// openForReading opens what tail, verify, replay and move read. An embedded log
// is opened next to the server that writes it. A folder without a log is not an
// empty log: nothing would be read of a wrong one, and all would seem well.
func (f *streamFlags) openForReading(ctx context.Context) (stream.Stream, error) {
	if f.Sink != "embedded" {
		return f.openSink(ctx)
	}
	if _, err := embedded.EndOf(f.Data); whittle.CodeOf(err) == whittle.FallsShort || errors.Is(err, fs.ErrNotExist) {
		return nil, f.noLog(err)
	}
	return opened(embedded.Open(f.Data, embedded.Options{ReadOnly: true}))
}

// noLog says of a folder that is not there that the log is not.
func (f *streamFlags) noLog(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return whittle.Errorf(whittle.NotFound, "there is no log in %s", f.Data).
		WithHint("name the server's folder by --data, or another stream by --sink; with --log-first DIR the log is in DIR/log")
}

// open opens what replay and move write to.
func (f *streamFlags) open(ctx context.Context) (stream.Stream, error) {
	if f.Sink != "embedded" {
		return f.openSink(ctx)
	}
	return opened(embedded.Open(f.Data, embedded.Options{}))
}

// metadataOverhead is what a record is longer than its body by, at most.
const metadataOverhead = 64 << 10

func (v *serveVerb) embeddedOptions(log *slog.Logger) embedded.Options {
	return embedded.Options{
		MaxRecord:   max(1<<20, int(max(v.MaxEvent, v.MaxImport))+metadataOverhead),
		P99:         v.P99,
		Reserve:     int64(v.Reserve),
		RetainBytes: int64(v.RetainBytes), RetainAge: v.RetainAge,
		Log: log,
	}
}

// openStream opens what a server responds for.
func (v *serveVerb) openStream(ctx context.Context, log *slog.Logger, registry prometheus.Registerer) (*serverStream, error) {
	if v.LogFirst != "" {
		return v.openLogFirst(ctx, log, registry)
	}
	if v.Sink != "embedded" {
		v.GiveUp = true
		s, err := v.openSink(ctx)
		if err != nil {
			return nil, err
		}
		if k, ok := s.(*kinesis.Stream); ok {
			registerKinesis(registry, k.Counts)
		}
		return &serverStream{stream: s, closing: closeTimeout}, nil
	}
	l, err := embedded.Open(v.Data, v.embeddedOptions(log))
	if err != nil {
		return nil, err
	}
	registerLog(registry, l.Stats)
	return &serverStream{stream: l, log: l, closing: closeTimeout}, nil
}
