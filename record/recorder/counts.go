package recorder

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

type counts struct {
	appended, bodiless, failed, shed, dropped, lost, failures, bytes atomic.Int64
}

// Counts is the outcome of the exchanges that were offered: Recorded, Shed,
// Dropped and Lost add up to them once the recorder is closed.
type Counts struct {
	// Recorded exchanges were appended; Bytes is their size in the log before
	// compression. Bodiless of them have no body, because it could not be
	// redacted or was too large, and Failed of them no whole response.
	Recorded, Bodiless, Failed, Bytes int64
	// Shed exchanges found the queue full.
	Shed int64
	// Dropped exchanges exceed what an entry of the log can hold.
	Dropped int64
	// Lost exchanges were appended and could not be written, in Failures failed
	// writes.
	Lost, Failures int64
}

// Counts returns the counts so far.
func (r *Recorder) Counts() Counts {
	c := &r.counts
	lost := c.lost.Load()
	return Counts{
		Recorded: c.appended.Load() - lost, Bodiless: c.bodiless.Load(), Failed: c.failed.Load(), Bytes: c.bytes.Load(),
		Shed: c.shed.Load(), Dropped: c.dropped.Load(), Lost: lost, Failures: c.failures.Load(),
	}
}

var (
	descExchanges = prometheus.NewDesc("whittle_recorder_exchanges_total",
		"Exchanges offered to the recorder, by what became of them: recorded, shed (the queue was full), dropped (no entry can hold it), lost (the disk failed).", []string{"fate"}, nil)
	descBodiless = prometheus.NewDesc("whittle_recorder_bodies_left_out_total",
		"Recorded exchanges without a body that could not be redacted, or was too long.", nil, nil)
	descFailed = prometheus.NewDesc("whittle_recorder_failed_exchanges_total",
		"Recorded exchanges without a whole response, since the upstream failed.", nil, nil)
	descBytes = prometheus.NewDesc("whittle_recorder_bytes_total",
		"Bytes of the recorded exchanges in the log, before compression.", nil, nil)
	descFailures = prometheus.NewDesc("whittle_recorder_disk_errors_total",
		"Writes of the log that failed.", nil, nil)
	descWaiting = prometheus.NewDesc("whittle_recorder_queue_bytes",
		"Bytes of the exchanges that wait to be written.", nil, nil)
)

// Describe implements prometheus.Collector.
func (r *Recorder) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descExchanges, descBodiless, descFailed, descBytes, descFailures, descWaiting} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (r *Recorder) Collect(ch chan<- prometheus.Metric) {
	c := r.Counts()
	counter := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	counter(descExchanges, c.Recorded, "recorded")
	counter(descExchanges, c.Shed, "shed")
	counter(descExchanges, c.Dropped, "dropped")
	counter(descExchanges, c.Lost, "lost")
	counter(descBodiless, c.Bodiless)
	counter(descFailed, c.Failed)
	counter(descBytes, c.Bytes)
	counter(descFailures, c.Failures)
	ch <- prometheus.MustNewConstMetric(descWaiting, prometheus.GaugeValue, float64(r.held.Load()))
}
