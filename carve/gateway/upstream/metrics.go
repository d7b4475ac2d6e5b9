package upstream

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// counts are what happened at an upstream since it was made.
type counts struct {
	// elsewhere counts requests that went to another instance, since no connection
	// could be opened to the first.
	elsewhere, ejections, checksFailed, lookupsFailed atomic.Int64
}

// State is what an upstream has at a moment, and what happened at it since it was
// made.
type State struct {
	// Upstream is its first URL.
	Upstream  string
	Instances []Instance
	// Panic says that so few instances are fit that all of them get requests.
	Panic bool
	// Elsewhere counts requests that went to another instance, since no connection
	// could be opened to the first.
	Elsewhere, Ejections, ChecksFailed, LookupsFailed int64
}

// Instance is one of an upstream's servers.
type Instance struct {
	Address string
	// Running is how many requests are under way there.
	Running            int64
	Unhealthy, Ejected bool
}

// State reports how the upstream and its instances are.
func (u *shared) State() State {
	u.mu.Lock()
	defer u.mu.Unlock()
	g := u.group.Load()
	s := State{
		Upstream: u.name(), Panic: g.panics(),
		Elsewhere: u.elsewhere.Load(), Ejections: u.ejections.Load(),
		ChecksFailed: u.checksFailed.Load(), LookupsFailed: u.lookupsFailed.Load(),
	}
	for _, i := range g.all {
		s.Instances = append(s.Instances, Instance{i.address, i.load(), i.unhealthy, i.ejected})
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
		s := u.State()
		t := sums[s.Upstream]
		if t == nil {
			t = &totals{}
			sums[s.Upstream], order = t, append(order, s.Upstream)
		}
		t.add(&s)
	}
	for _, name := range order {
		sums[name].collect(name, ch)
	}
}

// totals are States summed up.
type totals struct {
	State
	ready, ejected, unhealthy int
}

func (t *totals) add(s *State) {
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
