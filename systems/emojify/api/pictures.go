package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"whittle"
	"whittle/systems/emojify/piece"
	"whittle/systems/emojify/rpc"
)

// putPiece is what one message of Put carries.
const putPiece = 128 << 10

// pictures is the cache service, as this one uses it.
type pictures struct {
	client     rpc.CacheServiceClient
	health     healthpb.HealthClient
	up         *upstream
	debugPrint bool
	buffers    *piece.Buffers
	codec      grpc.CallOption
}

func newPictures(conn grpc.ClientConnInterface, up *upstream, debugPrint bool) *pictures {
	c := piece.NewCodec()
	return &pictures{
		rpc.NewCacheServiceClient(conn), healthpb.NewHealthClient(conn), up, debugPrint,
		c.Buffers, grpc.ForceCodecV2(c),
	}
}

// picture is one that comes from the cache. It must be closed.
type picture struct {
	size     int64
	modified time.Time
	next     []byte // what has come and was not taken
	taken    []byte // what was, until the next piece
	from     *pictures
	stream   grpc.ServerStreamingClient[rpc.GetResponse]
	cancel   context.CancelFunc
}

// open asks for a picture and has its first piece; NotFound where the cache
// has none.
func (p *pictures) open(ctx context.Context, id string) (found *picture, err error) {
	err = p.up.do(ctx, func(attempt context.Context) error {
		found, err = p.attempt(ctx, attempt, id)
		return err
	})
	return found, err
}

// attempt has the stream outlive the attempt: it ends with ctx.
func (p *pictures) attempt(ctx, attempt context.Context, id string) (*picture, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := context.AfterFunc(attempt, cancel)
	defer late()
	stream, err := p.client.Get(ctx, &rpc.GetRequest{Key: id}, p.codec)
	if err != nil {
		cancel()
		return nil, coded(err)
	}
	first, err := p.receive(stream)
	if err == nil && !late() {
		err = context.Cause(attempt) // too late by a hair
	}
	if err != nil {
		cancel()
		return nil, coded(err)
	}
	return &picture{
		size: first.GetSize(), modified: first.GetModified().AsTime(), next: first.GetData(),
		from: p, stream: stream, cancel: cancel,
	}, nil
}

// receive takes the next response of the cache.
func (p *pictures) receive(stream grpc.ServerStreamingClient[rpc.GetResponse]) (*rpc.GetResponse, error) {
	d, err := stream.Recv()
	if p.debugPrint {
		// A line that was forgotten after debugging, kept as it was to show what
		// it costs: it has all of the message made into text.
		fmt.Println("err", d, err)
	}
	return d, err
}

// piece returns the next bytes, io.EOF after the last. They hold until the next
// call.
func (p *picture) piece() ([]byte, error) {
	p.from.buffers.Release(p.taken)
	p.taken, p.next = p.next, nil
	if len(p.taken) > 0 {
		return p.taken, nil
	}
	late := time.AfterFunc(p.from.up.timeout, p.cancel)
	defer late.Stop()
	m, err := p.from.receive(p.stream)
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, coded(err)
	}
	p.taken = m.GetData()
	return p.taken, nil
}

// close ends the stream, finished or not.
func (p *picture) close() {
	p.cancel()
	p.from.buffers.Release(p.taken)
	p.from.buffers.Release(p.next)
	p.taken, p.next = nil, nil
}

// exists reports whether the cache has a picture.
func (p *pictures) exists(ctx context.Context, id string) (there bool, err error) {
	err = p.up.do(ctx, func(ctx context.Context) error {
		out, err := p.client.Exists(ctx, &rpc.ExistsRequest{Key: id})
		there = out.GetExists()
		return coded(err)
	})
	return there, err
}

// put keeps a picture.
func (p *pictures) put(ctx context.Context, id string, picture []byte) error {
	return p.up.do(ctx, func(ctx context.Context) error {
		stream, err := p.client.Put(ctx)
		if err != nil {
			return coded(err)
		}
		key := id // in the first message only
		for part := range slices.Chunk(picture, putPiece) {
			if err := stream.Send(&rpc.PutRequest{Key: key, Data: part}); err != nil {
				break // what went wrong is in the response
			}
			key = ""
		}
		out, err := stream.CloseAndRecv()
		if err == nil && out.GetSize() != int64(len(picture)) {
			return whittle.Errorf(whittle.Unavailable, "the cache kept %d of %d bytes", out.GetSize(), len(picture))
		}
		return coded(err)
	})
}

// ready asks the cache how it is, once.
func (p *pictures) ready(ctx context.Context) error {
	out, err := p.health.Check(ctx, &healthpb.HealthCheckRequest{Service: rpc.CacheService_ServiceDesc.ServiceName})
	if err != nil {
		return coded(err)
	}
	if out.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return whittle.Errorf(whittle.Unavailable, "the cache is %s", out.GetStatus())
	}
	return nil
}

// codesOf has gRPC's codes in whittle's words; all others are Internal.
var codesOf = map[codes.Code]whittle.Code{
	codes.Canceled:          whittle.Canceled,
	codes.InvalidArgument:   whittle.Invalid,
	codes.NotFound:          whittle.NotFound,
	codes.ResourceExhausted: whittle.ResourceExhausted,
	codes.DeadlineExceeded:  whittle.DeadlineExceeded,
	codes.Unavailable:       whittle.Unavailable,
}

// coded returns an error of gRPC's in whittle's terms, nil for nil.
func coded(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return whittle.Errorf(whittle.DeadlineExceeded, "ask the cache: %w", err)
	}
	code := codesOf[status.Code(err)]
	switch code {
	case whittle.NotFound:
		return whittle.Errorf(code, "there is no such picture")
	case whittle.Unavailable:
		return &whittle.Error{Code: code, Message: "the cache cannot be reached", Err: err}
	case whittle.ResourceExhausted:
		return &whittle.Error{Code: code, Message: "the picture is too large for the cache", Err: err}
	}
	return whittle.Errorf(code, "ask the cache: %w", err)
}
