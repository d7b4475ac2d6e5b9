package load

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpctest "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
	"whittle/load/report"
	"whittle/load/wire"
)

// streamer is gRPC's own test service, as far as it streams.
type streamer struct {
	grpctest.UnimplementedTestServiceServer
	mu    sync.Mutex
	ended []error // guarded by mu: of streams without end
}

func payload(n int32) *grpctest.StreamingOutputCallResponse {
	return &grpctest.StreamingOutputCallResponse{Payload: &grpctest.Payload{Body: bytes.Repeat([]byte{0}, int(n))}}
}

// StreamingOutputCall sends a message of each size; -1 stands for an error, -2 for no end.
func (s *streamer) StreamingOutputCall(in *grpctest.StreamingOutputCallRequest, out grpc.ServerStreamingServer[grpctest.StreamingOutputCallResponse]) error {
	for _, p := range in.ResponseParameters {
		for endless := p.Size == -2; endless; {
			if err := out.Send(payload(1000)); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.ended = append(s.ended, err)
				return err
			}
		}
		if p.Size == -1 {
			return status.Error(codes.Unavailable, "gone away")
		}
		if err := out.Send(payload(p.Size)); err != nil {
			return err
		}
	}
	return nil
}

func (s *streamer) StreamingInputCall(in grpc.ClientStreamingServer[grpctest.StreamingInputCallRequest, grpctest.StreamingInputCallResponse]) error {
	sum := 0
	for {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return in.SendAndClose(&grpctest.StreamingInputCallResponse{AggregatedPayloadSize: int32(sum)})
		}
		if err != nil {
			return err
		}
		sum += len(m.Payload.GetBody())
	}
}

// FullDuplexCall responds to each message as StreamingOutputCall does. A size of -3 stands
// for the end of the call, and a status for a response that waits for the client's end.
func (s *streamer) FullDuplexCall(both grpc.BidiStreamingServer[grpctest.StreamingOutputCallRequest, grpctest.StreamingOutputCallResponse]) error {
	var late []*grpctest.StreamingOutputCallRequest
	for {
		m, err := both.Recv()
		if errors.Is(err, io.EOF) {
			for _, m := range late {
				if err := s.StreamingOutputCall(m, both); err != nil {
					return err
				}
			}
			return nil
		}
		if err != nil {
			return err
		}
		if m.ResponseStatus != nil {
			late = append(late, m)
			continue
		}
		if len(m.ResponseParameters) > 0 && m.ResponseParameters[0].Size == -3 {
			return nil
		}
		if err := s.StreamingOutputCall(m, both); err != nil {
			return err
		}
	}
}

func startStreamer(t *testing.T) (s *streamer, url string, descriptor []byte) {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add(grpctest.File_grpc_testing_test_proto)
	seen := map[string]bool{}
	var files []*descriptorpb.FileDescriptorProto
	for _, f := range set.File {
		if !seen[f.GetName()] {
			seen[f.GetName()] = true
			files = append(files, f)
		}
	}
	descriptor, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = new(streamer)
	srv := grpc.NewServer()
	grpctest.RegisterTestServiceServer(srv, s)
	done := make(chan error)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Stop()
		<-done
	})
	return s, "http://" + l.Addr().String(), descriptor
}

const streamURL = "{url: /grpc.testing.TestService/"

// Streams of a server's, of a client's and of both are JSON lists, on a connection of the
// user's own and on a shared one.
func TestGRPCStreams(t *testing.T) {
	t.Parallel()
	_, url, descriptor := startStreamer(t)
	for _, c := range []struct{ request, want string }{ // "": it is as expected
		{`StreamingOutputCall, json: {responseParameters: [{size: 1}, {size: 3}]}, expect: {statusCode: 200, contentType: application/json}, match: {json: '$[1].payload.body', value: AAAA}`, ""},
		{`StreamingOutputCall, json: {responseParameters: [{size: 1}, {size: 3}]}, match: {json: '$.length', value: 2}`, ""},
		{`StreamingOutputCall, json: {}, match: {json: '$.length', value: 0}`, ""},
		{`StreamingOutputCall, body: "", match: {json: '$.length', value: 0}`, ""},
		{`StreamingOutputCall, json: {responseParameters: [{size: 1}, {size: -1}]}, expect: {statusCode: 503}`, ""},
		{`StreamingOutputCall, json: {responseParameters: [{size: -1}]}, expect: {statusCode: 503}`, ""},
		{`StreamingOutputCall, json: {responseParameters: [{size: 100000}, {size: 900000}, {size: 900000}]}, expect: {statusCode: 200}`, ""},
		{`StreamingOutputCall, json: [{}]`, report.ErrorContract},
		{`StreamingInputCall, json: [{payload: {body: AAAA}}, {payload: {body: AA==}}, {}], match: {json: $.aggregatedPayloadSize, value: 4}`, ""},
		{`StreamingInputCall, json: {payload: {body: AAAA}}, match: {json: $.aggregatedPayloadSize, value: 3}`, ""},
		{`StreamingInputCall, json: [], match: {json: $.aggregatedPayloadSize, value: 0}`, ""},
		{`StreamingInputCall, json: [{payload: {body: AAAA}}, {payload: 7}]`, report.ErrorContract},
		{`StreamingInputCall, body: "[{", headers: {content-type: application/json}`, report.ErrorContract},
		{`FullDuplexCall, json: [{responseParameters: [{size: 1}]}, {}, {responseParameters: [{size: 2}, {size: 3}]}], match: {json: '$[2].payload.body', value: AAAA}`, ""},
		{`FullDuplexCall, json: [{responseParameters: [{size: 1}]}, {responseParameters: [{size: -1}]}], expect: {statusCode: 503}`, ""},
		{`HalfDuplexCall, json: [], expect: {statusCode: 501}`, ""},
	} {
		for _, pool := range []int{0, 1} {
			p := parsed(t, "config: {phases: [{duration: 0.01, arrivalCount: 3}], http: {timeout: 60}}\nscenarios: [{flow: [{post: "+streamURL+c.request+"}}]}]")
			r := run(t, p, Options{Target: url, Protocol: wire.GRPC, Descriptor: descriptor, Pool: pool})
			if c.want == "" && (r.Completed != 3 || r.Failed != 0) || c.want != "" && r.Errors[c.want] != 3 {
				t.Errorf("%s, pool %d: %d completed, %v, %v, %v", c.request, pool, r.Completed, r.Codes, r.Errors, r.ErrorSamples)
			}
			if strings.Contains(c.request, "payload: 7") && !strings.Contains(r.ErrorSamples[c.want], "message 2: ") {
				t.Errorf("%q does not say which message", r.ErrorSamples)
			}
		}
	}
}

// A stream without end is over after so many messages, or after its time, and the server
// learns of it; without such a bound it is a timeout.
func TestGRPCStreamsWithoutEnd(t *testing.T) {
	t.Parallel()
	s, url, descriptor := startStreamer(t)
	const call = streamURL + "StreamingOutputCall, json: {responseParameters: [{size: -2}]}, "
	for _, c := range []struct {
		streams wire.Streams
		expect  string
		kind    string
	}{
		{wire.Streams{Messages: 5}, "match: {json: '$.length', value: 5}", ""},
		{wire.Streams{Messages: 1}, "match: {json: '$.length', value: 1}", ""},
		{wire.Streams{Time: 50 * time.Millisecond}, "expect: {statusCode: 200}", ""},
		{wire.Streams{Messages: 2, Time: time.Hour}, "match: {json: '$[1].payload.body', value: '{{ body }}'}", ""},
		{wire.Streams{}, "expect: {statusCode: 200}", report.ErrorTimeout},
	} {
		for _, pool := range []int{0, 1} {
			p := parsed(t, "config: {phases: [{duration: 0.01, arrivalCount: 2}], http: {timeout: 0.5}, variables: {body: '"+strings.Repeat("A", 1334)+"=="+"'}}\nscenarios: [{flow: [{post: "+call+c.expect+"}}]}]")
			if c.kind == "" {
				p.HTTP.Timeout = time.Minute
			}
			r := run(t, p, Options{Target: url, Protocol: wire.GRPC, Descriptor: descriptor, Pool: pool, Streams: c.streams})
			if c.kind == "" && (r.Completed != 2 || r.Failed != 0) || r.Errors[c.kind] != map[bool]int64{true: 2}[c.kind != ""] {
				t.Errorf("%+v, pool %d: %d completed, %v, %v", c.streams, pool, r.Completed, r.Errors, r.ErrorSamples)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) == 0 {
		t.Error("the server learns of no end")
	}
}

func TestGRPCStreamsPauseBetweenMessages(t *testing.T) {
	t.Parallel()
	_, url, descriptor := startStreamer(t)
	const pause = 20 * time.Millisecond
	p := parsed(t, "scenarios: [{flow: [{post: "+streamURL+"StreamingInputCall, json: [{}, {payload: {body: AAAA}}, {}]}}]}]")
	r := run(t, p, Options{Target: url, Protocol: wire.GRPC, Descriptor: descriptor, Streams: wire.Streams{Pause: pause}})
	// The server may read late, so the gaps that it sees say nothing.
	if r.Failed != 0 || r.Latency.Intended.Min < 2*pause {
		t.Errorf("%v, %v in all", r.Errors, r.Latency.Intended.Min)
	}
}

// Where client and server take turns, a message waits for the responses to those before it:
// a server that responds at the client's end alone has a client that waits for it, and one
// that responds at once has a conversation. The server may end it at any time.
func TestGRPCStreamsInTurns(t *testing.T) {
	t.Parallel()
	_, url, descriptor := startStreamer(t)
	const one, two, late, failed, over = "{responseParameters: [{size: 1}]}", "{responseParameters: [{size: 1}, {size: 2}]}", "{responseStatus: {}, responseParameters: [{size: 1}]}", "{responseParameters: [{size: -1}]}", "{responseParameters: [{size: -3}]}"
	for _, c := range []struct {
		messages []string
		streams  wire.Streams
		expect   string
		kind     string
	}{
		{[]string{one, one, one}, wire.Streams{Turns: 1}, "match: {json: $.length, value: 3}", ""},
		{[]string{two, two}, wire.Streams{Turns: 2}, "match: {json: $.length, value: 4}", ""},
		{[]string{two, one, one}, wire.Streams{Turns: 1}, "match: {json: $.length, value: 4}", ""},
		{[]string{one}, wire.Streams{Turns: 1, Pause: time.Millisecond}, "match: {json: $.length, value: 1}", ""},
		{nil, wire.Streams{Turns: 1}, "match: {json: $.length, value: 0}", ""},
		{[]string{one, failed, one}, wire.Streams{Turns: 1}, "expect: {statusCode: 503}", ""},
		{[]string{one, over, one}, wire.Streams{Turns: 1}, "match: {json: $.length, value: 1}", ""},
		{[]string{one, over, one}, wire.Streams{Turns: 1, Pause: 10 * time.Millisecond}, "match: {json: $.length, value: 1}", ""},
		{[]string{over, one}, wire.Streams{Pause: time.Hour}, "match: {json: $.length, value: 0}", ""},
		{[]string{one, one, one, one}, wire.Streams{Turns: 1, Messages: 2}, "match: {json: $.length, value: 2}", ""},
		// The last message of a client has nobody that waits for it.
		{[]string{one, late}, wire.Streams{Turns: 1}, "match: {json: $.length, value: 2}", ""},
		{[]string{late, late}, wire.Streams{}, "match: {json: $.length, value: 2}", ""},
		{[]string{late, late}, wire.Streams{Turns: 1}, "expect: {statusCode: 200}", report.ErrorTimeout},
		{[]string{one, one}, wire.Streams{Turns: 2}, "expect: {statusCode: 200}", report.ErrorTimeout},
		{[]string{one, one}, wire.Streams{Turns: 2, Time: 50 * time.Millisecond}, "match: {json: $.length, value: 1}", ""},
	} {
		for _, pool := range []int{0, 1} {
			p := parsed(t, "config: {phases: [{duration: 0.01, arrivalCount: 2}], http: {timeout: 0.5}}\nscenarios: [{flow: [{post: "+streamURL+"FullDuplexCall, json: ["+strings.Join(c.messages, ", ")+"], "+c.expect+"}}]}]")
			if c.kind == "" {
				p.HTTP.Timeout = time.Minute
			}
			r := run(t, p, Options{Target: url, Protocol: wire.GRPC, Descriptor: descriptor, Pool: pool, Streams: c.streams})
			if c.kind == "" && (r.Completed != 2 || r.Failed != 0) || r.Errors[c.kind] != map[bool]int64{true: 2}[c.kind != ""] {
				t.Errorf("%v, %+v, pool %d: %d completed, %v, %v, %v", c.messages, c.streams, pool, r.Completed, r.Codes, r.Errors, r.ErrorSamples)
			}
		}
	}
}

func TestStreamsGoWithGRPC(t *testing.T) {
	for _, o := range []Options{
		{Streams: wire.Streams{Messages: -1}, Protocol: wire.GRPC, Descriptor: healthDescriptor(t)},
		{Streams: wire.Streams{Pause: -1}, Protocol: wire.GRPC, Descriptor: healthDescriptor(t)},
		{Streams: wire.Streams{Turns: -1}, Protocol: wire.GRPC, Descriptor: healthDescriptor(t)},
		{Streams: wire.Streams{Turns: 1}, Protocol: wire.GRPC, Descriptor: healthDescriptor(t)}, // which has no such method
		{Streams: wire.Streams{Time: 1}},
		{Streams: wire.Streams{Messages: 1}, Protocol: wire.HTTP2},
	} {
		o.Target = "http://127.0.0.1:1"
		if _, err := Run(t.Context(), parsed(t, "scenarios: [{flow: [{post: {url: /grpc.health.v1.Health/Check, json: {}}}]}]"), o); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%+v: %v", o.Streams, err)
		}
	}
}
