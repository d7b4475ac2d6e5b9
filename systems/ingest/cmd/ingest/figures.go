package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/kinesis"
	"whittle/systems/ingest/stream/relay"
)

// figure is one metric that is read from a snapshot when it is asked for.
type figure[S any] struct {
	name, help string
	counter    bool // grows from the start of the process, or of the log, on
	value      func(*S) float64
}

// register adds the figures of one source of snapshots.
func register[S any](r prometheus.Registerer, snapshot func() S, figures []figure[S]) {
	for _, f := range figures {
		value := func() float64 {
			s := snapshot()
			return f.value(&s)
		}
		if f.counter {
			r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: f.name, Help: f.help}, value))
			continue
		}
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: f.name, Help: f.help}, value))
	}
}

func registerLog(r prometheus.Registerer, snapshot func() embedded.Stats) {
	type s = embedded.Stats
	register(r, snapshot, []figure[s]{
		{"ingest_log_commits_total", "Writes to the log, each with one sync.", true, func(s *s) float64 { return float64(s.Commits) }},
		{"ingest_log_appends_total", "Requests whose events they held.", true, func(s *s) float64 { return float64(s.Appends) }},
		{"ingest_log_records_total", "Records that they held.", true, func(s *s) float64 { return float64(s.Records) }},
		{"ingest_log_written_bytes_total", "Bytes written, frames and padding included.", true, func(s *s) float64 { return float64(s.Written) }},
		{"ingest_log_sync_seconds_total", "Time spent in syncs.", true, func(s *s) float64 { return s.SyncTotal.Seconds() }},
		{"ingest_log_sync_last_seconds", "The last sync's.", false, func(s *s) float64 { return s.SyncLast.Seconds() }},
		{"ingest_log_sync_max_seconds", "The longest sync's since the start.", false, func(s *s) float64 { return s.SyncMax.Seconds() }},
		{"ingest_log_bytes", "What the log takes on the disk.", false, func(s *s) float64 { return float64(s.Bytes) }},
		{"ingest_log_segments", "Files of the log.", false, func(s *s) float64 { return float64(s.Segments) }},
		{"ingest_log_failures_total", "How often the log had to stop, because the disk was full or failed.", true, func(s *s) float64 { return float64(s.Failures) }},
		{"ingest_log_torn_bytes", "Bytes cut off at the start, of writes that a crash had torn.", false, func(s *s) float64 { return float64(s.Torn) }},
	})
}

func registerKinesis(r prometheus.Registerer, snapshot func() kinesis.Counts) {
	type s = kinesis.Counts
	register(r, snapshot, []figure[s]{
		{"ingest_kinesis_calls_total", "Calls of PutRecords.", true, func(s *s) float64 { return float64(s.Calls) }},
		{"ingest_kinesis_records_total", "Events that Kinesis kept.", true, func(s *s) float64 { return float64(s.Kept) }},
	})
}

func registerDrain(r prometheus.Registerer, snapshot func() relay.Status) {
	type s = relay.Status
	register(r, snapshot, []figure[s]{
		{"ingest_drain_lag_events", "Events in the log that the sink does not have yet.", false, func(s *s) float64 { return float64(s.Lag) }},
		{"ingest_drain_lag_bytes", "Their bytes, about.", false, func(s *s) float64 { return float64(s.LagBytes) }},
		{"ingest_drain_lag_seconds", "How long ago the oldest of them was received.", false, func(s *s) float64 { return s.LagAge.Seconds() }},
		{"ingest_drain_events_per_second", "Events that the sink took, over the last ten seconds.", false, func(s *s) float64 { return s.Records }},
		{"ingest_drain_troubles", "Things that fail at the moment and are tried again.", false, func(s *s) float64 { return float64(len(s.Troubles)) }},
		{"ingest_drain_sent_total", "Events that the sink took.", true, func(s *s) float64 { return float64(s.Sent) }},
		{"ingest_drain_refused_total", "Events that the sink refused for good; they are in a log of their own.", true, func(s *s) float64 { return float64(s.Refused) }},
		{"ingest_drain_corrupt_total", "Records of the log that could not be read.", true, func(s *s) float64 { return float64(s.Corrupt) }},
		{"ingest_drain_resent_total", "Events that were sent again without knowing whether the sink had them.", true, func(s *s) float64 { return float64(s.Resent) }},
	})
}
