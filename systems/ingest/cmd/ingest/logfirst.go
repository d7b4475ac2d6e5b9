package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/relay"
)

// openLogFirst puts a local log in front of the sink. Its folder holds the log,
// what the sink refused for good, and how far the drain is.
func (v *serveVerb) openLogFirst(ctx context.Context, log *slog.Logger, registry prometheus.Registerer) (_ *serverStream, err error) {
	if v.Sink == "embedded" {
		return nil, whittle.Errorf(whittle.Invalid, "--log-first is for a sink that is elsewhere, and --sink is embedded").
			WithHint("name it: --sink kafka, kinesis or nats")
	}
	var opened []stream.Stream
	defer func() {
		if err != nil {
			for _, s := range opened {
				closeQuietly(s)
			}
		}
	}()
	o, err := v.embeddedOptions(log)
	if err != nil {
		return nil, err
	}
	sink, err := openOrRetry(ctx, v.Sink, log, v.openSink)
	if err != nil {
		return nil, err
	}
	opened = append(opened, sink)
	warnOfForgetting(log, sink)
	keep := v.keepDrained()
	if keep > 0 && (o.RetainAge == 0 || keep < o.RetainAge) {
		o.RetainAge = keep
	}
	o.Held, o.MaxRecord = true, max(1, min(o.MaxRecord, sink.Limit()))
	local, err := embedded.Open(filepath.Join(v.LogFirst, "log"), o)
	if err != nil {
		return nil, err
	}
	opened = append(opened, local)
	refused, err := embedded.Open(filepath.Join(v.LogFirst, "refused"), embedded.Options{
		MaxRecord: min(o.MaxRecord+relay.RefusedOverhead, embedded.LongestRecord), Log: log,
	})
	if err != nil {
		return nil, err
	}
	opened = append(opened, refused)
	r, err := relay.Open(local, sink, relay.Options{Dir: filepath.Join(v.LogFirst, "drain"), Refused: refused, Keep: keep > 0, Log: log})
	if err != nil {
		return nil, err
	}
	registerLog(registry, local.Stats)
	registerDrain(registry, r.Status)
	return &serverStream{stream: r, log: local, closing: drainTimeout}, nil
}

// keepDrained is how long the window of ids needs what the sink has already.
func (v *serveVerb) keepDrained() time.Duration {
	if v.DedupEntries == 0 {
		return 0
	}
	return v.DedupAge
}
