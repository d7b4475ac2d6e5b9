package load

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
	"whittle/load/report"
	"whittle/load/wire"
)

// healthDescriptor is the contract of gRPC's own health service.
func healthDescriptor(t *testing.T) []byte {
	t.Helper()
	b, err := proto.Marshal(&descriptorpb.FileDescriptorSet{
		File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(grpc_health_v1.File_grpc_health_v1_health_proto)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func startHealth(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	h := health.NewServer()
	h.SetServingStatus("up", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(srv, h)
	done := make(chan error)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Stop()
		<-done
	})
	return "http://" + l.Addr().String()
}

func TestUnaryGRPC(t *testing.T) {
	t.Parallel()
	url := startHealth(t)
	for _, pool := range []int{0, 2} {
		p := parsed(t, `
config: {phases: [{duration: 0.2, arrivalCount: 20}], http: {timeout: 60}}
scenarios:
- flow:
  - post: {url: /grpc.health.v1.Health/Check, name: up, json: {service: "up"}, capture: {json: $.status, as: status}, expect: {statusCode: 200, equals: ["{{ status }}", SERVING]}}
  - post: {url: /grpc.health.v1.Health/Check, name: unknown, json: {service: "{{ status }}"}, expect: {statusCode: 404}}
  - post: {url: /grpc.health.v1.Health/Check, name: all, body: ""}
  - post: {url: /grpc.health.v1.Health/Check, name: wrong, json: {service: [1]}}`)
		r := run(t, p, Options{Target: url, Protocol: wire.GRPC, Descriptor: healthDescriptor(t), Pool: pool})
		if r.Completed != 60 || r.Codes["200"] != 40 || r.Codes["404"] != 20 || r.Errors[report.ErrorContract] != 20 || r.Failed != 20 {
			t.Errorf("pool %d: %d completed, codes %v, errors %v", pool, r.Completed, r.Codes, r.Errors)
		}
	}
}

func TestAPlanIsHeldAgainstTheContract(t *testing.T) {
	for flow, want := range map[string]string{
		"get: {url: /grpc.health.v1.Health/Check}":                    "a gRPC call is a post",
		"post: {url: '/grpc.health.v1.Health/{{ $uuid }}', json: {}}": "a gRPC call is a post",
		"post: {url: /grpc.health.v1.Health/Chek, json: {}}":          "Chek",
	} {
		p := parsed(t, "scenarios: [{flow: [{"+flow+"}]}]")
		_, err := Run(t.Context(), p, Options{Target: "http://127.0.0.1:1", Protocol: wire.GRPC, Descriptor: healthDescriptor(t)})
		if err == nil || !strings.Contains(err.Error(), want) || whittle.CodeOf(err) == whittle.Internal {
			t.Errorf("%s: %v, want %q", flow, err, want)
		}
	}
}
