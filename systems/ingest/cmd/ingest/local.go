package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/internal/units"
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

// longestRecord is the longest record of a log that keeps bodies of at most so many
// bytes.
func longestRecord(body units.Bytes, overhead int) (int, error) {
	if most := units.Bytes(embedded.LongestRecord - overhead); body > most {
		return 0, whittle.Errorf(whittle.Invalid, "bodies of %s are longer than a log keeps: %d bytes are the most", body, most).
			WithHint("choose less for --max-event, --max-import and --max-batch. The last one counts for dead letters alone: --dead none keeps none")
	}
	return max(1<<20, int(body)+overhead), nil
}

func (v *serveVerb) embeddedOptions(log *slog.Logger) (embedded.Options, error) {
	longest, err := longestRecord(max(v.MaxEvent, v.MaxImport), metadataOverhead)
	return embedded.Options{
		MaxRecord:   longest,
		P99:         v.P99,
		Reserve:     v.reserve(),
		RetainBytes: int64(v.RetainBytes), RetainAge: v.RetainAge,
		Log: log,
	}, err
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
	o, err := v.embeddedOptions(log)
	if err != nil {
		return nil, err
	}
	l, err := embedded.Open(v.Data, o)
	if err != nil {
		return nil, err
	}
	registerLog(registry, l.Stats)
	return &serverStream{stream: l, log: l, closing: closeTimeout}, nil
}
