package gateway

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/carve/gateway/upstream"
)

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
	descBuffered = prometheus.NewDesc("whittle_buffered_bytes",
		"Bytes held of bodies whose clients are slow.", nil, nil)
	descUpgrades = prometheus.NewDesc("whittle_upgrades",
		"Upgraded connections (WebSocket and the like) open.", nil, nil)
)

// Describe implements prometheus.Collector. The gateway's metrics change with
// its routes, so it is an unchecked collector and describes nothing.
func (g *Gateway) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g *Gateway) Collect(ch chan<- prometheus.Metric) {
	to := upstream.Scrape(ch)
	to.Gauge(descConnections, float64(g.clients.Open()))
	to.Counter(descWaiting, g.clients.Waits())
	to.Counter(descMalformed, g.clients.Malformed())
	to.Counter(descLoops, g.counts.loops.Load())
	to.Counter(descInBytes, g.counts.inBytes.Load())
	to.Gauge(descBuffered, float64(g.buffered.Load()))
	to.Gauge(descUpgrades, float64(g.forwarder.Upgrades()))
	if g.opts.Record != nil {
		g.records.collect(to)
	}
	t := g.table.Load()
	upstream.Collect(t.upstreams, to)
	for _, e := range t.entries {
		to.Gauge(descRunning, float64(e.meter.running.Load()), e.name)
		for class := range e.meter.class {
			to.Counter(descRequests, e.meter.class[class].Load(), e.name, string(rune('0'+class))+"xx")
		}
		ch <- e.meter.histogram(e.name)
		if e.route != nil {
			e.route.collect(to)
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

var (
	descShare = prometheus.NewDesc("whittle_candidate_share",
		"Share of the route's users that the candidate serves, 0 to 1.", []string{"route"}, nil)
	descCopies = prometheus.NewDesc("whittle_copy_bytes",
		"Bytes reserved for the copies of requests and responses.", []string{"route"}, nil)
	descAsked = prometheus.NewDesc("whittle_candidate_requests_total",
		"Users' requests that the candidate was asked.", []string{"route"}, nil)
	descFallbacks = prometheus.NewDesc("whittle_fallback_requests_total",
		"Users' requests that the candidate failed and the monolith then answered.", []string{"route"}, nil)
	descFull = prometheus.NewDesc("whittle_exposure_full_total",
		"Requests of the candidate's users that went to the monolith because guard.exposure requests were on the candidate.", []string{"route"}, nil)
	descDiverted = prometheus.NewDesc("whittle_diverted_requests_total",
		"Users' requests in the candidate's share that went to the monolith for want of room: guard.exposure, memory, the candidate's connections.", []string{"route"}, nil)
	descUnseen = prometheus.NewDesc("whittle_unseen_requests_total",
		"Users' requests in the candidate's share that went to the monolith because no response to one of their shape was compared yet.", []string{"route"}, nil)
	descTrips = prometheus.NewDesc("whittle_breaker_trips_total",
		"Times that the breaker set the share to 0.", []string{"route"}, nil)
)

var descPreviews = prometheus.NewDesc("whittle_preview_requests_total",
	"Requests with a preview token: served by the candidate, not signed for this route and time, or withheld from the candidate.", []string{"route", "fate"}, nil)

// collect adds the route's own metrics to a scrape.
func (rt *route) collect(to upstream.Scrape) {
	to.Gauge(descShare, rt.inForce().share.Percent()/100, rt.name)
	to.Gauge(descCopies, float64(rt.held.Load()), rt.name)
	to.Counter(descAsked, rt.counts.served.Load(), rt.name)
	to.Counter(descFallbacks, rt.counts.fellBack.Load(), rt.name)
	to.Counter(descDiverted, rt.counts.diverted.Load(), rt.name)
	to.Counter(descFull, rt.counts.full.Load(), rt.name)
	to.Counter(descUnseen, rt.counts.unseen.Load(), rt.name)
	to.Counter(descTrips, rt.counts.trips.Load(), rt.name)
	if rt.preview == nil {
		return
	}
	for fate, n := range map[string]*atomic.Int64{
		"served": &rt.counts.previewed, "unsigned": &rt.counts.unsigned, "withheld": &rt.counts.withheld,
	} {
		to.Counter(descPreviews, n.Load(), rt.name, fate)
	}
}
