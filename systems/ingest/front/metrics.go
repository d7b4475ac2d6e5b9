package front

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"whittle/systems/ingest/event"
)

// metrics are the front's. Those of every request are looked up beforehand.
type metrics struct {
	requests *prometheus.CounterVec
	good     map[event.Kind]prometheus.Counter
	refused  *prometheus.CounterVec
	events   [statuses]prometheus.Counter
	// By source: events by outcome, refused requests by code, dead letters; and
	// what should have become one and could not be kept.
	sources, refusedOf, deadLetters *prometheus.CounterVec
	lostLetters                     prometheus.Counter
	missing                         prometheus.Counter
	noID                            *prometheus.CounterVec // duplicates whose id is none, by source
	bytes                           prometheus.Counter
	append                          prometheus.Histogram
	duration                        prometheus.Histogram
	batch                           prometheus.Histogram
}

// newMetrics registers them, unless r is nil.
func newMetrics(r prometheus.Registerer, f *Front) *metrics {
	auto := promauto.With(r)
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return auto.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	gauge := func(name, help string, value func() float64) {
		auto.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	latency := prometheus.ExponentialBuckets(0.0005, 2, 16)
	m := &metrics{
		requests:    counters("ingest_requests_total", "Requests served, by endpoint and HTTP status.", "endpoint", "code"),
		refused:     counters("ingest_refused_total", "Requests refused as a whole, by HTTP status: nothing of them was kept.", "code"),
		noID:        counters("ingest_duplicates_of_no_id_total", "Duplicates whose messageId is none, such as null, undefined or zeros: they may be events of their own.", "source"),
		bytes:       counter("ingest_body_bytes_total", "Bytes of the bodies taken in, decompressed."),
		append:      histogram("ingest_append_seconds", "How long the stream took to make a request's events durable.", latency),
		duration:    histogram("ingest_request_seconds", "From the request's header to its response.", latency),
		batch:       histogram("ingest_batch_events", "Events a request.", prometheus.ExponentialBuckets(1, 2, 13)),
		sources:     counters("ingest_source_events_total", "Events by who sent them and what became of them.", "source", "outcome"),
		refusedOf:   counters("ingest_source_refused_total", "Requests refused as a whole, by who sent them and HTTP status.", "source", "code"),
		deadLetters: counters("ingest_dead_letters_total", "Rejected events and bodies that were kept as dead letters, by who sent them.", "source"),
		lostLetters: counter("ingest_dead_letters_lost_total", "Rejected events and bodies that could not be kept as dead letters."),
		missing:     counter("ingest_import_headers_missing_total", "Headers of requests to /import that were beyond what is kept with a record."),
		good:        map[event.Kind]prometheus.Counter{},
	}
	outcomes := counters("ingest_events_total", "Events by what became of them.", "outcome")
	for s, name := range statusNames {
		m.events[s] = outcomes.WithLabelValues(name)
	}
	for _, kind := range routes {
		m.good[kind] = m.requests.WithLabelValues(string(kind), "200")
	}
	gauge("ingest_requests_in_flight", "Requests being read, worked on or waiting for the stream.",
		func() float64 { return float64(f.activeRequests.Load()) })
	gauge("ingest_append_in_flight_bytes", "Bytes of bodies on their way to the stream.",
		func() float64 { return float64(f.appendBytes.Load()) })
	gauge("ingest_stream_free_bytes", "Bytes that the stream would take.",
		func() float64 { return float64(f.o.Stream.Capacity().Free) })
	gauge("ingest_stream_freed_bytes_per_second", "Rate at which the stream gets room, as measured.",
		func() float64 { return f.o.Stream.Capacity().Rate })
	gauge("ingest_stream_up", "1 while the stream takes events.", func() float64 {
		if f.Ready() != nil {
			return 0
		}
		return 1
	})
	return m
}

func (m *metrics) request(kind event.Kind, status int) {
	if c, ok := m.good[kind]; ok && status == http.StatusOK {
		c.Inc()
		return
	}
	name := cmp.Or(string(kind), "none")
	m.requests.WithLabelValues(name, strconv.Itoa(status)).Inc()
}

func (m *metrics) count(t *tally) {
	all := 0
	for s, n := range t.of {
		if n > 0 {
			m.events[s].Add(float64(n))
			all += n
		}
	}
	m.batch.Observe(float64(all))
}
