package upstream

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
)

// counts are what happened at an upstream since it was made.
type counts struct {
	// elsewhere counts requests that went to another instance, since no connection
	// could be opened to the first.
	elsewhere, ejections, checksFailed, lookupsFailed atomic.Int64
}

// Status reports how the upstream and its instances are.
func (u *shared) Status() whittle.UpstreamStatus {
	u.mu.Lock()
	defer u.mu.Unlock()
	g := u.group.Load()
	s := whittle.UpstreamStatus{
		URL: u.name(), Instances: []whittle.InstanceStatus{}, Panic: g.panics,
		Elsewhere: u.elsewhere.Load(), Ejections: u.ejections.Load(),
		ChecksFailed: u.checksFailed.Load(), LookupsFailed: u.lookupsFailed.Load(),
	}
	for _, i := range g.all {
		s.Instances = append(s.Instances, whittle.InstanceStatus{Address: i.address, Running: i.load(), Unhealthy: i.unhealthy, Ejected: i.ejected})
	}
	return s
}

var (
	descInstances = prometheus.NewDesc("whittle_upstream_instances",
		"Instances of an upstream (its first URL), by state: ready, ejected for a time, or unhealthy by its checks.", []string{"upstream", "state"}, nil)
	descPanic = prometheus.NewDesc("whittle_upstream_panic",
		"Whether so few instances are fit that all of them get requests.", []string{"upstream"}, nil)
	descElsewhere = prometheus.NewDesc("whittle_upstream_elsewhere_total",
		"Requests that went to another instance, since no connection could be opened to the first.", []string{"upstream"}, nil)
	descEjections = prometheus.NewDesc("whittle_upstream_ejections_total",
		"Times that an instance was ejected because requests in a row failed there.", []string{"upstream"}, nil)
	descChecks = prometheus.NewDesc("whittle_upstream_checks_failed_total",
		"Health checks that failed.", []string{"upstream"}, nil)
	descLookups = prometheus.NewDesc("whittle_upstream_lookups_failed_total",
		"Look-ups of an upstream's names that failed or found no address.", []string{"upstream"}, nil)
)

// Scrape takes the values of metrics, as in prometheus.Collector.
type Scrape chan<- prometheus.Metric

// Gauge takes the value of a gauge.
func (s Scrape) Gauge(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// Counter takes the value of a counter.
func (s Scrape) Counter(d *prometheus.Desc, v int64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

// Collect reports upstreams. Those with one URL and different settings are one here.
func Collect(all []*Upstream, to Scrape) {
	var order []string
	sums := map[string]*whittle.UpstreamStatus{}
	for _, u := range all {
		s := u.Status()
		sum := sums[s.URL]
		if sum == nil {
			sums[s.URL], order = &s, append(order, s.URL)
			continue
		}
		sum.Panic = sum.Panic || s.Panic
		sum.Elsewhere += s.Elsewhere
		sum.Ejections += s.Ejections
		sum.ChecksFailed += s.ChecksFailed
		sum.LookupsFailed += s.LookupsFailed
		sum.Instances = append(sum.Instances, s.Instances...)
	}
	for _, name := range order {
		collect(name, sums[name], to)
	}
}

func collect(name string, s *whittle.UpstreamStatus, to Scrape) {
	var ready, ejected, unhealthy, panicking float64
	for _, i := range s.Instances {
		switch {
		case i.Unhealthy:
			unhealthy++
		case i.Ejected:
			ejected++
		default:
			ready++
		}
	}
	if s.Panic {
		panicking = 1
	}
	to.Gauge(descInstances, ready, name, "ready")
	to.Gauge(descInstances, ejected, name, "ejected")
	to.Gauge(descInstances, unhealthy, name, "unhealthy")
	to.Gauge(descPanic, panicking, name)
	to.Counter(descElsewhere, s.Elsewhere, name)
	to.Counter(descEjections, s.Ejections, name)
	to.Counter(descChecks, s.ChecksFailed, name)
	to.Counter(descLookups, s.LookupsFailed, name)
}
