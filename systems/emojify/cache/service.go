package cache

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"whittle"
	"whittle/systems/emojify/piece"
	"whittle/systems/emojify/rpc"
)

// maxMessage bounds a message that is received.
const maxMessage = 1 << 20

// service is the contract over a store.
type service struct {
	rpc.UnimplementedCacheServiceServer
	store   *Store
	buffers *piece.Buffers
}

// Exists has the generated signature.
func (s *service) Exists(_ context.Context, in *rpc.ExistsRequest) (*rpc.ExistsResponse, error) {
	key, err := ParseKey(in.GetKey())
	if err != nil {
		return nil, err
	}
	return &rpc.ExistsResponse{Exists: s.store.Exists(key)}, nil
}

// Get has the generated signature.
func (s *service) Get(in *rpc.GetRequest, out grpc.ServerStreamingServer[rpc.GetResponse]) error {
	key, err := ParseKey(in.GetKey())
	if err != nil {
		return err
	}
	item, err := s.store.Get(key)
	if err != nil {
		return err
	}
	defer func() { _ = item.Close() }() // it was only read
	first := true
	for rest := item.Size; rest > 0; {
		// Send takes it over: see piece.Codec.
		m := &rpc.GetResponse{Data: *s.buffers.Get(int(min(rest, piece.Size)))}
		if first {
			first, m.Size, m.Modified = false, item.Size, timestamppb.New(item.Modified)
		}
		if _, err := io.ReadFull(item, m.GetData()); err != nil {
			return whittle.Errorf(whittle.Unavailable, "read item: %w", err)
		}
		rest -= int64(len(m.GetData()))
		if err := out.Send(m); err != nil {
			return whittle.Errorf(whittle.Canceled, "send item: %w", err)
		}
	}
	return nil
}

// Put has the generated signature. The caller's deadline bounds it: a sender that hangs
// without one keeps one of the store's writers.
func (s *service) Put(in grpc.ClientStreamingServer[rpc.PutRequest, rpc.PutResponse]) error {
	first, err := in.Recv()
	if err != nil {
		return received(err)
	}
	key, err := ParseKey(first.GetKey())
	if err != nil {
		return err
	}
	size, err := s.store.Put(in.Context(), key, &pieces{in: in, rest: first.GetData()})
	if err != nil {
		return err
	}
	if err := in.SendAndClose(&rpc.PutResponse{Size: size}); err != nil {
		return whittle.Errorf(whittle.Canceled, "send response: %w", err)
	}
	return nil
}

// pieces reads an item from a stream.
type pieces struct {
	in   grpc.ClientStreamingServer[rpc.PutRequest, rpc.PutResponse]
	rest []byte
}

// received gives the error of a stream its code; io.EOF is its end.
func received(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if status.Code(err) == codes.DeadlineExceeded {
		return whittle.Errorf(whittle.DeadlineExceeded, "the item did not arrive in time")
	}
	return whittle.Errorf(whittle.Canceled, "receive item: %w", err)
}

// Read returns what has arrived.
func (p *pieces) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		m, err := p.in.Recv()
		if err != nil {
			return 0, received(err)
		}
		if m.GetKey() != "" {
			return 0, whittle.Errorf(whittle.Invalid, "only the first message names a key")
		}
		p.rest = m.GetData()
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
