package gateway

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// latencyBounds are the upper bounds of the latency buckets, in seconds.
var latencyBounds = [...]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// meter counts one rule's requests. The rule has a pointer to it, so counting costs a
// few atomic additions and no look-up.
type meter struct {
	// class counts what clients got by the status's first digit; 0: none.
	class   [6]atomic.Int64
	buckets [len(latencyBounds) + 1]atomic.Int64
	// nanos is the sum of all times.
	nanos   atomic.Int64
	running atomic.Int64
}

func meterOf(old *table, name string) *meter {
	if old != nil {
		for _, e := range old.entries {
			if e.name == name {
				return e.meter
			}
		}
	}
	return &meter{}
}

func (m *meter) add(sent int, took time.Duration) {
	class := sent / 100
	if class < 0 || class >= len(m.class) {
		class = 0
	}
	m.class[class].Add(1)
	s := took.Seconds()
	i := 0
	for i < len(latencyBounds) && s > latencyBounds[i] {
		i++
	}
	m.buckets[i].Add(1)
	m.nanos.Add(int64(took))
}

// counts are the gateway's own, whatever the route.
type counts struct {
	loops   atomic.Int64 // requests that came back
	inBytes atomic.Int64 // requests that went in bytes
}

var (
	descRequests = prometheus.NewDesc("whittle_requests_total",
		"Requests answered, by route (empty: no route matched) and class of status (0xx: none could be sent).", []string{"route", "class"}, nil)
	descSeconds = prometheus.NewDesc("whittle_request_seconds",
		"Time from a request's header to the end of its response.", []string{"route"}, nil)
	descRunning = prometheus.NewDesc("whittle_requests_running",
		"Requests under way.", []string{"route"}, nil)
	descConnections = prometheus.NewDesc("whittle_connections",
		"Client connections open.", nil, nil)
	descWaiting = prometheus.NewDesc("whittle_accept_waits_total",
		"Times that accepting waited because the limit of connections was reached.", nil, nil)
	descMalformed = prometheus.NewDesc("whittle_malformed_requests_total",
		"Requests refused because their framing was not exact.", nil, nil)
	descLoops = prometheus.NewDesc("whittle_loops_total",
		"Requests refused because this gateway had forwarded them before.", nil, nil)
	descInBytes = prometheus.NewDesc("whittle_requests_in_bytes_total",
		"Requests that passed through in bytes, both messages as they came: the cheapest way.", nil, nil)
	descUpgrades = prometheus.NewDesc("whittle_upgrades",
		"Upgraded connections (WebSocket and the like) open.", nil, nil)
)

// Describe implements prometheus.Collector. The gateway's metrics change with
// its routes, so it is an unchecked collector and describes nothing.
func (g *Gateway) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g *Gateway) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge(descConnections, g.clients.Open())
	counter(descWaiting, g.clients.Waits())
	counter(descMalformed, g.clients.Malformed())
	counter(descLoops, g.counts.loops.Load())
	counter(descInBytes, g.counts.inBytes.Load())
	gauge(descUpgrades, g.forwarder.Upgrades())
	if g.opts.Record != nil {
		g.records.collect(ch)
	}
	for _, e := range g.table.Load().entries {
		gauge(descRunning, e.meter.running.Load(), e.name)
		for class := range e.meter.class {
			counter(descRequests, e.meter.class[class].Load(), e.name, string(rune('0'+class))+"xx")
		}
		ch <- e.meter.histogram(e.name)
		if e.route != nil {
			e.route.collect(ch)
		}
	}
}

func (m *meter) histogram(route string) prometheus.Metric {
	cumulative := make(map[float64]uint64, len(latencyBounds))
	var n uint64
	for i, b := range latencyBounds {
		n += uint64(m.buckets[i].Load())
		cumulative[b] = n
	}
	n += uint64(m.buckets[len(latencyBounds)].Load())
	return prometheus.MustNewConstHistogram(descSeconds, n, float64(m.nanos.Load())/1e9, cumulative, route)
}
