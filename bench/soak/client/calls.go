package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"whittle/bench/soak/origin"
	"whittle/bench/soak/plan"
)

// Calls is a gRPC channel that many users share.
type Calls struct {
	Addr string

	mu   sync.Mutex // guards the following
	conn *grpc.ClientConn
	rec  *recorder
}

func (c *Calls) channel() (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		return c.conn, nil
	}
	var err error
	c.conn, err = grpc.NewClient("passthrough:///"+c.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(origin.Raw{}), grpc.MaxCallRecvMsgSize(16<<20)), grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 50 * time.Millisecond}, MinConnectTimeout: patience}),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.rec = record(nc)
			return c.rec, nil
		}))
	return c.conn, err
}

// User is one of those who share it.
func (c *Calls) User(name string) User { return &caller{c, name} }

type caller struct {
	c    *Calls
	name string
}

func (u *caller) Tape() Tape {
	u.c.mu.Lock()
	defer u.c.mu.Unlock()
	return u.c.rec.Tape()
}

// Close closes the channel, for all who share it.
func (u *caller) Close() {
	u.c.mu.Lock()
	conn := u.c.conn
	u.c.conn = nil
	u.c.mu.Unlock()
	if conn != nil {
		_ = conn.Close() // nothing is under way any more
	}
}

func (u *caller) Ask(ctx context.Context, plans []*plan.Plan) []Outcome {
	return oneByOne(ctx, plans, u.call)
}

// Service is that of a route.
func Service(route string) string {
	if route == "" {
		route = "through"
	}
	return "/soak." + route + "/Do"
}

func (u *caller) call(ctx context.Context, p *plan.Plan) Outcome {
	conn, err := u.c.channel()
	if err != nil {
		return unsent(err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, plan.Header, p.Text(), "x-user", u.name)
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, Service(p.Route), grpc.WaitForReady(false))
	if err != nil {
		return callFailed(err)
	}
	messages := 1
	if p.Way == plan.CallStream {
		messages = p.Length
	}
	body := p.Request()
	sent := body.Bytes()
	for i := range messages {
		if err := s.SendMsg(&sent); err != nil && err != io.EOF { //nolint:errorlint // io.EOF: RecvMsg has the reason
			return callFailed(err)
		}
		if p.Way == plan.Call {
			_ = s.CloseSend() // always nil
		}
		var got []byte
		if err := s.RecvMsg(&got); err != nil {
			return callFailed(err)
		}
		if !bytes.Equal(got, append([]byte(p.Event(i)), sent...)) {
			return Outcome{Class: Wrong, Text: fmt.Sprintf("message %d is %.100q", i, got)}
		}
	}
	_ = s.CloseSend() // as above
	var none []byte
	return callEnded(p, s, s.RecvMsg(&none))
}

// callEnded holds the end of a call to the plan.
func callEnded(p *plan.Plan, s grpc.ClientStream, err error) Outcome {
	planned, text := codes.OK, ""
	if p.Number%10 == 0 {
		planned, text = codes.FailedPrecondition, fmt.Sprint("as planned ", p.Number)
	}
	if err == io.EOF { //nolint:errorlint // RecvMsg's own
		err = nil
	}
	st := status.Convert(err)
	if st.Code() != planned || st.Message() != text {
		return callFailed(err)
	}
	head, _ := s.Header() // what is missing is found below
	want := fmt.Sprint(p.Number)
	if of := head.Get(plan.Of); len(of) != 1 || of[0] != want {
		return Outcome{Class: Mixed, Text: fmt.Sprintf("the response of call %v", of)}
	}
	if of := s.Trailer().Get(plan.Of + "-End"); len(of) != 1 || of[0] != want {
		return Outcome{Class: Wrong, Text: fmt.Sprintf("trailer %v", s.Trailer())}
	}
	return Outcome{}
}

func callFailed(err error) Outcome {
	if err == nil {
		return Outcome{Class: Wrong, Text: "it ended well, and was to fail"}
	}
	out := Outcome{Class: Broken, Text: err.Error(), Uncertain: true}
	if status.Code(err) == codes.DataLoss {
		out.Class = Damaged
	}
	return out
}
