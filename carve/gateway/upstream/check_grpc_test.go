package upstream

import (
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// TestChecksByGRPC: an instance is healthy as long as a real gRPC server says SERVING of
// the service, or of itself.
func TestChecksByGRPC(t *testing.T) {
	const service = "shop.v1.Cart"
	serve := func(with bool) (string, *grpchealth.Server) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		fatal.If(t, err)
		s, h := grpc.NewServer(), grpchealth.NewServer()
		if with {
			healthpb.RegisterHealthServer(s, h)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.Serve(l) // until Stop
		}()
		t.Cleanup(func() {
			s.Stop()
			<-ended
		})
		return l.Addr().String(), h
	}
	for _, asked := range []string{service, ""} {
		address, says := serve(true)
		without, _ := serve(false)
		u, err := New(whittle.Upstream{
			URL: "http://" + address, Others: []string{"http://" + without},
			Health: whittle.Health{GRPC: true, Service: asked, Interval: 2 * time.Millisecond, Timeout: 10 * time.Second, Healthy: 1, Unhealthy: 1},
		}, true, nil)
		fatal.If(t, err)
		t.Cleanup(u.Close)
		is := func(address string, healthy bool) func() bool {
			return func() bool {
				for _, i := range u.Status().Instances {
					if i.Address == address {
						return i.Unhealthy != healthy
					}
				}
				return false
			}
		}
		process.Until(t, "a server without such a service is unhealthy", is(without, false))
		if asked != "" {
			process.Until(t, "a service that is not known is unhealthy", is(address, false))
		}
		for _, status := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING, healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_UNKNOWN} {
			says.SetServingStatus(asked, status)
			process.Until(t, status.String(), is(address, status == healthpb.HealthCheckResponse_SERVING))
		}
	}
}
