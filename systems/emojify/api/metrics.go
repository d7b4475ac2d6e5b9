package api

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"whittle/internal/label"
)

type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	attempts *prometheus.CounterVec
	jobs     *prometheus.CounterVec
	jobTime  prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	times := prometheus.ExponentialBuckets(0.0001, 2, 20) // 0.1 ms to 52 s
	auto := promauto.With(r)
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &metrics{
		requests: counters("http_requests_total", "Requests served, by route as profiles name it.", "method", "route", "code"),
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_seconds", Help: "Time to the end of a response.", Buckets: times,
		}, []string{"method", "route"}),
		attempts: counters("emojify_upstream_attempts_total", "Calls, by upstream and code.", "upstream", "code"),
		jobs:     counters("emojify_jobs_total", "Pictures worked on, by what came of it.", "code"),
		jobTime: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "emojify_job_seconds", Help: "Time to work on a picture.", Buckets: times,
		}),
	}
}

// watched counts the requests of one route, and labels them for profiles by
// the same words.
func (m *metrics) watched(method, route string, next http.Handler) http.Handler {
	seconds := m.seconds.WithLabelValues(method, route)
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, s := time.Now(), &statusWriter{ResponseWriter: w}
		defer func() { // also when the response was broken off
			m.requests.WithLabelValues(method, route, strconv.Itoa(s.status())).Inc()
			seconds.Observe(time.Since(begun).Seconds())
		}()
		next.ServeHTTP(s, r)
	})
	return label.Endpoint(method+" "+route, counted)
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	code int // 0: nothing was written yet
}

func (s *statusWriter) WriteHeader(code int) {
	if s.code == 0 && code >= 200 {
		s.code = code
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *statusWriter) Write(b []byte) (int, error) {
	s.code = cmp.Or(s.code, http.StatusOK)
	return s.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *statusWriter) status() int { return cmp.Or(s.code, http.StatusOK) }
