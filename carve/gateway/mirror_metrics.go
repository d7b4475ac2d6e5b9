package gateway

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// routeCounts are the counts of a route that its ledger does not keep; whoever owns the
// ledger shows that.
type routeCounts struct {
	served, fellBack, diverted, unseen, trips atomic.Int64
}

var (
	descShare = prometheus.NewDesc("whittle_candidate_share",
		"Share of the route's users that the candidate responds, 0 to 1.", []string{"route"}, nil)
	descCopies = prometheus.NewDesc("whittle_copy_bytes",
		"Bytes reserved for the copies of requests and responses.", []string{"route"}, nil)
	descAsked = prometheus.NewDesc("whittle_candidate_requests_total",
		"Users' requests that the candidate was asked.", []string{"route"}, nil)
	descFallbacks = prometheus.NewDesc("whittle_fallback_requests_total",
		"Users' requests that the candidate failed and the monolith then answered.", []string{"route"}, nil)
	descDiverted = prometheus.NewDesc("whittle_diverted_requests_total",
		"Users' requests in the candidate's share that went to the monolith because of the bound on exposure.", []string{"route"}, nil)
	descUnseen = prometheus.NewDesc("whittle_unseen_requests_total",
		"Users' requests in the candidate's share that went to the monolith because no response to one of their shape was compared yet.", []string{"route"}, nil)
	descTrips = prometheus.NewDesc("whittle_breaker_trips_total",
		"Times that the breaker set the share to 0.", []string{"route"}, nil)
)

// collect adds the route's own metrics to a scrape.
func (rt *route) collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, rt.name)
	}
	counter := func(d *prometheus.Desc, v int64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), rt.name)
	}
	gauge(descShare, rt.setting.Load().share.Percent()/100)
	gauge(descCopies, float64(rt.held.Load()))
	counter(descAsked, rt.counts.served.Load())
	counter(descFallbacks, rt.counts.fellBack.Load())
	counter(descDiverted, rt.counts.diverted.Load())
	counter(descUnseen, rt.counts.unseen.Load())
	counter(descTrips, rt.counts.trips.Load())
}
