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

// Collect reports upstreams. Those with one URL and different settings are one here.
func Collect(all []*Upstream, ch chan<- prometheus.Metric) {
	var order []string
	sums := map[string]*totals{}
	for _, u := range all {
		s := u.Status()
		t := sums[s.URL]
		if t == nil {
			t = &totals{}
			sums[s.URL], order = t, append(order, s.URL)
		}
		t.add(&s)
	}
	for _, name := range order {
		sums[name].collect(name, ch)
	}
}

// totals are the states of upstreams summed up.
type totals struct {
	whittle.UpstreamStatus
	ready, ejected, unhealthy int
}

func (t *totals) add(s *whittle.UpstreamStatus) {
	t.Panic = t.Panic || s.Panic
	t.Elsewhere += s.Elsewhere
	t.Ejections += s.Ejections
	t.ChecksFailed += s.ChecksFailed
	t.LookupsFailed += s.LookupsFailed
	for _, i := range s.Instances {
		switch {
		case i.Unhealthy:
			t.unhealthy++
		case i.Ejected:
			t.ejected++
		default:
			t.ready++
		}
	}
}

func (t *totals) collect(name string, ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), append([]string{name}, labels...)...)
	}
	gauge(descInstances, t.ready, "ready")
	gauge(descInstances, t.ejected, "ejected")
	gauge(descInstances, t.unhealthy, "unhealthy")
	panicking := 0
	if t.Panic {
		panicking = 1
	}
	gauge(descPanic, panicking)
	for _, c := range []struct {
		desc  *prometheus.Desc
		value int64
	}{{descElsewhere, t.Elsewhere}, {descEjections, t.Ejections}, {descChecks, t.ChecksFailed}, {descLookups, t.LookupsFailed}} {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(c.value), name)
	}
}
