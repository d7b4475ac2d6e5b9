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
	r.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "cache_bytes", Help: "What all items take, in bytes."},
			func() float64 { return float64(store.Stats().Bytes) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "cache_hits_total", Help: "Items found."},
			func() float64 { return float64(store.Stats().Hits) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "cache_misses_total", Help: "Items not found, or expired."},
			func() float64 { return float64(store.Stats().Misses) }),
	)
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
