package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/stream"
	"whittle/stream/embedded"
	"whittle/stream/relay"
)

// openLogFirst puts a local log in front of the sink. Its folder holds the log,
// what the sink refused for good, and how far the drain is.
func (v *serveVerb) openLogFirst(ctx context.Context, log *slog.Logger, registry prometheus.Registerer) (_ *keeping, err error) {
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
	sink, err := reach(ctx, v.Sink, log, v.openSink)
	if err != nil {
		return nil, err
	}
	opened = append(opened, sink)
	o := v.embeddedOptions(log)
	o.Held = true
	local, err := embedded.Open(filepath.Join(v.LogFirst, "log"), o)
	if err != nil {
		return nil, err
	}
	opened = append(opened, local)
	dead, err := embedded.Open(filepath.Join(v.LogFirst, "refused"), embedded.Options{Log: log})
	if err != nil {
		return nil, err
	}
	opened = append(opened, dead)
	r, err := relay.Open(local, sink, relay.Options{
		Dir: filepath.Join(v.LogFirst, "drain"), Dead: dead, Keep: v.DedupAge, Log: log,
	})
	if err != nil {
		return nil, err
	}
	registerLog(registry, local.Stats)
	registerDrain(registry, r.Status)
	return &keeping{stream: r, log: local, closing: drainPatience}, nil
}
