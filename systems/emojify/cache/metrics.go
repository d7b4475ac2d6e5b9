package cache

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"whittle"
	"whittle/internal/label"
)

// metrics counts and labels every call, and gives its error a gRPC code.
type metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newMetrics(store *Store, r prometheus.Registerer) *metrics {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cache_calls_total", Help: "Calls served, by method and code.",
		}, []string{label.Key, "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cache_call_seconds", Help: "Time to the end of a call, by method.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 18), // 0.1 ms to 13 s
		}, []string{label.Key}),
	}
	r.MustRegister(m.calls, m.seconds)
	for _, g := range []struct {
		name, help string
		value      func(Stats) float64
	}{
		{"cache_items", "Items on disk.", func(s Stats) float64 { return float64(s.Items) }},
		{"cache_bytes", "What they take, in bytes.", func(s Stats) float64 { return float64(s.Bytes) }},
	} {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help},
			func() float64 { return g.value(store.Stats()) }))
	}
	for _, c := range []struct {
		name, help string
		value      func(Stats) uint64
	}{
		{"cache_hits_total", "Items found.", func(s Stats) uint64 { return s.Hits }},
		{"cache_misses_total", "Items not found, or expired.", func(s Stats) uint64 { return s.Misses }},
		{"cache_expired_total", "Items removed for their age.", func(s Stats) uint64 { return s.Expired }},
		{"cache_evicted_total", "Items removed to make room.", func(s Stats) uint64 { return s.Evicted }},
		{"cache_written_total", "Items written.", func(s Stats) uint64 { return s.Writes }},
		{"cache_written_bytes_total", "Bytes of items written.", func(s Stats) uint64 { return s.WrittenBytes }},
		{"cache_read_bytes_total", "Bytes of items read.", func(s Stats) uint64 { return s.ReadBytes }},
	} {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: c.name, Help: c.help},
			func() float64 { return float64(c.value(store.Stats())) }))
	}
	return m
}

func (m *metrics) unary(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (out any, err error) {
	m.observe(ctx, info.FullMethod, func(ctx context.Context) error {
		out, err = next(ctx, in)
		err = translated(err)
		return err
	})
	return out, err
}

func (m *metrics) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	m.observe(ss.Context(), info.FullMethod, func(context.Context) error {
		err = translated(next(srv, ss))
		return err
	})
	return err
}

func (m *metrics) observe(ctx context.Context, method string, call func(context.Context) error) {
	begun := time.Now()
	label.Do(ctx, method, func(ctx context.Context) {
		err := call(ctx)
		m.calls.WithLabelValues(method, status.Code(err).String()).Inc()
		m.seconds.WithLabelValues(method).Observe(time.Since(begun).Seconds())
	})
}

// grpcCodes has the codes that arise here.
var grpcCodes = map[whittle.Code]codes.Code{
	whittle.Invalid:           codes.InvalidArgument,
	whittle.NotFound:          codes.NotFound,
	whittle.ResourceExhausted: codes.ResourceExhausted,
	whittle.Canceled:          codes.Canceled,
	whittle.DeadlineExceeded:  codes.DeadlineExceeded,
	whittle.Unavailable:       codes.Unavailable,
}

// translated returns err in gRPC's terms: the code, and what a client may read.
func translated(err error) error {
	coded, ok := errors.AsType[*whittle.Error](err)
	if !ok {
		return err // nil, or gRPC's own
	}
	code, known := grpcCodes[coded.Code]
	switch {
	case !known:
		return status.Error(codes.Internal, "internal error")
	case coded.Message == "":
		return status.Error(code, coded.Code.String()) // the cause is not for clients
	}
	return status.Error(code, coded.Message)
}
