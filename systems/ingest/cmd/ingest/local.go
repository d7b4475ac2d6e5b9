package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/internal/units"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/kinesis"
	"whittle/systems/ingest/stream/nats"
)

// serverStream is the stream that responds stand for, with the local log in it.
type serverStream struct {
	stream stream.Stream
	// log is the embedded log that events go to first. Nil: there is none.
	log *embedded.Log
	// closing is how long the stream may take to close.
	closing time.Duration
}

// drainTimeout is how long a log may go on draining once the server ends: what
// is left stays in it.
const drainTimeout = 5 * time.Second

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
		Reserve:     v.reserve(),
		RetainBytes: int64(v.RetainBytes), RetainAge: v.RetainAge,
		Log: log,
	}, err
}

// warnOfForgetting says of a sink that it lets go of acknowledged events by size.
func warnOfForgetting(log *slog.Logger, sink stream.Stream) {
	if n, ok := sink.(*nats.Log); ok && n.Forgets() != "" {
		log.Warn(n.Forgets())
	}
}

// openStream opens what a server responds for.
func (v *serveVerb) openStream(ctx context.Context, log *slog.Logger, registry prometheus.Registerer) (*serverStream, error) {
	if v.LogFirst != "" {
		return v.openLogFirst(ctx, log, registry)
	}
	if v.Sink != "embedded" {
		s, err := v.openSink(ctx)
		if err != nil {
			return nil, err
		}
		if k, ok := s.(*kinesis.Stream); ok {
			registerKinesis(registry, k.Counts)
		}
		warnOfForgetting(log, s)
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
