package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"whittle/internal/label"
	"whittle/systems/count/rpc"
)

// metrics counts calls that reached the service; bodies that could not be read
// are refused before it.
type metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newMetrics(r *prometheus.Registry) *metrics {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "count_calls_total", Help: "Calls served, by protocol and code.",
			ConstLabels: prometheus.Labels{label.Key: rpc.CarvedCountProcedure}, // as in profiles
		}, []string{"protocol", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "count_call_seconds", Help: "Time to serve a call, by protocol.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 18), // 0.1 ms to 13 s
		}, []string{"protocol"}),
	}
	r.MustRegister(m.calls, m.seconds, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observe(protocol string, begun time.Time, err error) {
	code := "ok"
	if err != nil {
		c, _ := public(err)
		code = c.String()
	}
	m.calls.WithLabelValues(protocol, code).Inc()
	m.seconds.WithLabelValues(protocol).Observe(time.Since(begun).Seconds())
}
