package front

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
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
	bytes                           prometheus.Counter
	cut                             prometheus.Counter
	append                          prometheus.Histogram
	duration                        prometheus.Histogram
	batch                           prometheus.Histogram
}

func newMetrics(r prometheus.Registerer, f *Front) (*metrics, error) {
	latency := prometheus.ExponentialBuckets(0.0005, 2, 16)
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ingest_requests_total", Help: "Requests served, by endpoint and HTTP status.",
		}, []string{"endpoint", "code"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ingest_refused_total", Help: "Requests refused as a whole, by HTTP status: nothing of them was kept.",
		}, []string{"code"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ingest_body_bytes_total", Help: "Bytes of the bodies taken in, decompressed.",
		}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ingest_shed_bodies_total", Help: "Bodies that came slowly and were cut off, because others waited for room.",
		}),
		append: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ingest_append_seconds", Help: "How long the stream took to make a request's events durable.", Buckets: latency,
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ingest_request_seconds", Help: "From the request's header to its response.", Buckets: latency,
		}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ingest_batch_events", Help: "Events a request.", Buckets: prometheus.ExponentialBuckets(1, 2, 13),
		}),
		sources: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ingest_source_events_total", Help: "Events by who sent them and what became of them.",
		}, []string{"source", "outcome"}),
		refusedOf: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ingest_source_refused_total", Help: "Requests refused as a whole, by who sent them and HTTP status.",
		}, []string{"source", "code"}),
		deadLetters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ingest_dead_letters_total", Help: "Rejected events and bodies that were kept as dead letters, by who sent them.",
		}, []string{"source"}),
		lostLetters: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ingest_dead_letters_lost_total", Help: "Rejected events and bodies that could not be kept as dead letters.",
		}),
		missing: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ingest_import_headers_missing_total", Help: "Headers of requests to /import that were beyond what is kept with a record.",
		}),
		good: map[event.Kind]prometheus.Counter{},
	}
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ingest_events_total", Help: "Events by what became of them.",
	}, []string{"outcome"})
	for s, name := range statusNames {
		m.events[s] = outcomes.WithLabelValues(name)
	}
	for _, kind := range routes {
		m.good[kind] = m.requests.WithLabelValues(string(kind), "200")
	}
	if r == nil {
		return m, nil
	}
	for _, c := range append(gauges(f), m.requests, m.refused, outcomes, m.bytes, m.cut, m.append, m.duration, m.batch,
		m.sources, m.refusedOf, m.deadLetters, m.lostLetters, m.missing) {
		if err := r.Register(c); err != nil {
			return nil, whittle.Errorf(whittle.Internal, "register metrics: %w", err)
		}
	}
	return m, nil
}

// gauges are read when somebody asks for them.
func gauges(f *Front) []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		gauge("ingest_requests_in_flight", "Requests being read, worked on or waiting for the stream.",
			func() float64 { return float64(f.activeRequests.Load()) }),
		gauge("ingest_append_in_flight_bytes", "Bytes of bodies on their way to the stream.",
			func() float64 { return float64(f.appendBytes.Load()) }),
		gauge("ingest_stream_free_bytes", "Bytes that the stream would take.",
			func() float64 { return float64(f.o.Stream.Capacity().Free) }),
		gauge("ingest_stream_freed_bytes_per_second", "Rate at which the stream gets room, as measured.",
			func() float64 { return f.o.Stream.Capacity().Rate }),
		gauge("ingest_stream_up", "1 while the stream takes events.", func() float64 {
			if f.Ready() != nil {
				return 0
			}
			return 1
		}),
	}
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
