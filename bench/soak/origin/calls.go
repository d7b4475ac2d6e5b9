package origin

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"whittle/bench/soak/plan"
)

// Raw is a gRPC codec of messages that are bytes.
type Raw struct{}

// Marshal, Unmarshal and Name are those of encoding.Codec.
func (Raw) Marshal(v any) ([]byte, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return *b, nil
}

func (Raw) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	*b = append([]byte(nil), data...)
	return nil
}

func (Raw) Name() string { return "raw" }

// ServeCalls serves gRPC until ctx ends. Its connections last for seconds only, so
// that some end while a call is on its way to them.
func ServeCalls(ctx context.Context, l net.Listener) error {
	s := grpc.NewServer(grpc.ForceServerCodec(Raw{}), grpc.UnknownServiceHandler(call),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 4 * time.Second, MaxConnectionAgeGrace: patience}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}))
	stop := context.AfterFunc(ctx, s.Stop)
	defer stop()
	if err := s.Serve(l); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// call responds to each message with one of the plan's, and ends with the plan's status.
func call(_ any, s grpc.ServerStream) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	text := md.Get(plan.Header)
	if len(text) != 1 {
		return status.Error(codes.InvalidArgument, "it has no plan")
	}
	p, err := plan.Parse(text[0])
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	_ = s.SetHeader(metadata.Pairs(plan.Of, fmt.Sprint(p.Number))) // nothing was sent yet
	s.SetTrailer(metadata.Pairs(plan.Of+"-End", fmt.Sprint(p.Number)))
	want := p.Request()
	for i := 0; ; i++ {
		var got []byte
		if err := s.RecvMsg(&got); err == io.EOF { //nolint:errorlint // RecvMsg's own
			break
		} else if err != nil {
			return err
		}
		if len(got) != p.Upload || !want.Match(0, got) {
			return status.Error(codes.DataLoss, "the message is not what was sent")
		}
		reply := append([]byte(p.Event(i)), got...)
		if err := s.SendMsg(&reply); err != nil {
			return err
		}
	}
	if p.Number%10 == 0 {
		return status.Error(codes.FailedPrecondition, fmt.Sprint("as planned ", p.Number))
	}
	return nil
}
