// Package facebox finds faces. Its HTTP interface is that of Machine Box's
// FaceBox, so that either one can replace the other.
package facebox

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"whittle"
	"whittle/internal/label"
	"whittle/systems/emojify/picture"
)

// Options of a service. The zero value is fit for service.
type Options struct {
	Limits picture.Limits
	// Workers search at once. 0: as many as there are cores.
	Workers int
	// Waiting requests at most, with a body in memory each; more are asked to
	// come again. 0: four for each worker.
	Waiting int
	// Timeout bounds a request from its header on. 0: 15 s.
	Timeout time.Duration
	// Metrics. Nil: none.
	Metrics prometheus.Registerer
	// Log. Nil: slog.Default().
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.WithDefaults()
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	o.Waiting = cmp.Or(max(o.Waiting, 0), 4*o.Workers)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 15*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

// Service is FaceBox's API over a detector: POST /facebox/check, GET /healthz,
// /livez and /readyz. It keeps nothing of what it is sent.
type Service struct {
	o        Options
	detector *Detector
	inside   chan struct{} // a place for each request that has a body here
	cores    chan struct{} // a place for each search under way
	mux      *http.ServeMux
	checks   *prometheus.CounterVec
	seconds  prometheus.Histogram
	faces    prometheus.Counter
}

// New fails where the cascade was not built in.
func New(o Options) (*Service, error) {
	o = o.withDefaults()
	d, err := NewDetector(o.Limits)
	if err != nil {
		return nil, err
	}
	auto := promauto.With(o.Metrics)
	s := &Service{
		o: o, detector: d, mux: http.NewServeMux(),
		inside: make(chan struct{}, o.Workers+o.Waiting), cores: make(chan struct{}, o.Workers),
		checks: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "facebox_checks_total", Help: "Checks served, by code.",
		}, []string{"code"}),
		seconds: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "facebox_search_seconds", Help: "Time to search a picture, without waiting for a core.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14), // 1 ms to 8 s
		}),
		faces: auto.NewCounter(prometheus.CounterOpts{Name: "facebox_faces_total", Help: "Faces found."}),
	}
	s.mux.Handle("POST /facebox/check", label.Endpoint("POST /facebox/check", http.HandlerFunc(s.check)))
	for _, path := range []string{"GET /healthz", "GET /livez", "GET /readyz"} {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			write(w, http.StatusOK, map[string]bool{"success": true})
		})
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Server returns an HTTP server with the service's limits of time and size.
func (s *Service) Server() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5*time.Second + s.o.Timeout,
		WriteTimeout:      5*time.Second + s.o.Timeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
}

func (s *Service) check(w http.ResponseWriter, r *http.Request) {
	faces, err := s.response(w, r)
	if err == nil {
		s.checks.WithLabelValues("ok").Inc()
		s.faces.Add(float64(len(faces)))
		write(w, http.StatusOK, responseOf(faces))
		return
	}
	code, text := whittle.Public(err, nil)
	s.checks.WithLabelValues(code.String()).Inc()
	s.o.Log.Debug("responded with an error", "code", code.String(), "err", err)
	if code == whittle.Unavailable {
		w.Header().Set("Retry-After", strconv.Itoa(1))
	}
	status := code.HTTPStatus()
	if code == whittle.ResourceExhausted {
		status = http.StatusRequestEntityTooLarge // every bound here is one of size
	}
	write(w, status, response{Error: text, Faces: []foundFace{}})
}

func (s *Service) response(w http.ResponseWriter, r *http.Request) ([]Face, error) {
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Timeout)
	defer cancel()
	select {
	case s.inside <- struct{}{}:
		defer func() { <-s.inside }()
	default:
		return nil, whittle.Errorf(whittle.Unavailable, "too many pictures are waiting to be searched")
	}
	encoded, err := s.sent(w, r)
	if err != nil {
		return nil, err
	}
	// Before it waits: most of what is no picture shows at once.
	if _, err := picture.Inspect(encoded, s.o.Limits); err != nil {
		return nil, err
	}
	select {
	case s.cores <- struct{}{}:
		defer func() { <-s.cores }()
	case <-ctx.Done():
		return nil, picture.Ended(ctx.Err(), searching)
	}
	began := time.Now()
	defer func() { s.seconds.Observe(time.Since(began).Seconds()) }()
	return s.detector.Detect(ctx, encoded)
}

func write(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone
}
