package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/front"
	"whittle/systems/ingest/stream"
)

// window makes the set of ids that are known, and fills it from a log that
// survived.
func (v *serveVerb) window(ctx context.Context, kept *serverStream, log *slog.Logger, keys *front.Keys, registry prometheus.Registerer) (*dedup.Window, error) {
	if v.DedupEntries <= 0 || v.DedupAge <= 0 {
		log.Warn("deduplication is off")
		return nil, nil
	}
	w := dedup.New(dedup.Options{Entries: v.DedupEntries, Age: v.DedupAge})
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ingest_dedup_ids", Help: "Ids that are known.",
	}, func() float64 { return float64(w.Len()) }))
	from, timeout := kept.stream, remoteRebuild
	if kept.log != nil {
		from, timeout = kept.log, 0
	}
	return w, rebuild(ctx, w, from, keys.Tenant, timeout, log)
}

// remoteRebuild bounds how long a start waits for another machine's stream.
const remoteRebuild = 30 * time.Second

// rebuild fills the window from a stream. A local log is read to its end,
// because the promise of a window that survives stands on it; of a remote one
// as much is read as can be within the patience.
func rebuild(ctx context.Context, w *dedup.Window, from stream.Stream, tenant func(*stream.Record) string, timeout time.Duration, log *slog.Logger) error {
	reading := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		reading, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	begun := time.Now()
	n, err := w.Rebuild(reading, from, tenant, begun)
	if corrupt := w.Corrupt(); corrupt > 0 {
		log.Error("records of the stream are corrupt or missing: their ids are not known, and a duplicate of one may be kept; ingest verify names them", "records", corrupt)
	}
	switch {
	case err == nil:
		log.Info("loaded event ids from the stream", "ids", n, "took", time.Since(begun).Round(time.Millisecond))
	case timeout == 0 || ctx.Err() != nil:
		return whittle.Errorf(whittle.CodeOf(err), "rebuild the window of ids: %w", err)
	default:
		log.Warn("loaded only part of the event ids; duplicates of events from before this start may be kept", "ids", n, "err", err)
	}
	return nil
}
