package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/front"
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
	if kept.log == nil { // the ids of before this start are not known
		return w, nil
	}
	begun := time.Now()
	n, err := w.Rebuild(ctx, kept.log, keys.Tenant, begun)
	if corrupt := w.Corrupt(); corrupt > 0 {
		log.Error("records of the log are corrupt: their ids are not known, and a duplicate of one may be kept; ingest verify names them", "records", corrupt)
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.CodeOf(err), "rebuild the window of ids: %w", err)
	}
	log.Info("loaded event ids from the log", "ids", n, "took", time.Since(begun).Round(time.Millisecond))
	return w, nil
}
