package server

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"whittle/systems/count/rpc"
)

// newConnect returns Connect, gRPC and gRPC-Web, which share a path and are recognized
// apart by content type.
func newConnect(s *service, m *metrics, maxBody int) (string, http.Handler) {
	translate := func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, in connect.AnyRequest) (connect.AnyResponse, error) {
			begun := time.Now()
			out, err := next(ctx, in)
			m.observe(in.Peer().Protocol, begun, err)
			if err != nil {
				return nil, connectError(err)
			}
			return out, nil
		}
	}
	return rpc.NewCarvedHandler(s,
		connect.WithInterceptors(connect.UnaryInterceptorFunc(translate)),
		connect.WithCodec(plainJSON("json")),
		connect.WithCodec(plainJSON("json; charset=utf-8")),
		connect.WithReadMaxBytes(maxBody),
	)
}

// newHealth serves gRPC's health check for the whole process and for the one
// service; Watch is left out, and a client gets that error in its protocol.
func newHealth(ready func() bool, maxBody int) (string, http.Handler) {
	const procedure = "/grpc.health.v1.Health/Check"
	check := func(_ context.Context, in *connect.Request[healthpb.HealthCheckRequest]) (*connect.Response[healthpb.HealthCheckResponse], error) {
		if name := in.Msg.GetService(); name != "" && name != rpc.CarvedName {
			return nil, connect.NewError(connect.CodeNotFound, nil)
		}
		out := &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}
		if ready() {
			out.Status = healthpb.HealthCheckResponse_SERVING
		}
		return connect.NewResponse(out), nil
	}
	return procedure, connect.NewUnaryHandler(procedure, check, connect.WithReadMaxBytes(maxBody))
}
