package cache

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"whittle"
	"whittle/systems/emojify/piece"
	"whittle/systems/emojify/rpc"
)

const (
	// maxMessage bounds a message that is received.
	maxMessage = 1 << 20
	// putWithin bounds a Put from its first message on, so that a sender that
	// hangs does not keep one of the store's writers.
	putWithin = 30 * time.Second
)

// service is the contract over a store.
type service struct {
	rpc.UnimplementedCacheServiceServer
	store   *Store
	buffers *piece.Buffers
	// receiving are the goroutines that wait for a sender. Each ends with its
	// stream.
	receiving sync.WaitGroup
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

// Put has the generated signature.
func (s *service) Put(in grpc.ClientStreamingServer[rpc.PutRequest, rpc.PutResponse]) error {
	ctx, cancel := context.WithTimeout(in.Context(), putWithin)
	defer cancel()
	p := &pieces{next: make(chan arrival), done: ctx.Done()}
	s.receiving.Go(func() { p.receive(in) })
	first, err := p.take()
	if err != nil {
		return err
	}
	key, err := ParseKey(first.GetKey())
	if err != nil {
		return err
	}
	p.rest = first.GetData()
	size, err := s.store.Put(ctx, key, p)
	if err != nil {
		return err
	}
	if err := in.SendAndClose(&rpc.PutResponse{Size: size}); err != nil {
		return whittle.Errorf(whittle.Canceled, "send response: %w", err)
	}
	return nil
}

type arrival struct {
	m   *rpc.PutRequest
	err error
}

// pieces reads an item from a stream, for no longer than done is open.
type pieces struct {
	next chan arrival
	done <-chan struct{}
	rest []byte
}

// receive ends with the stream, or when nobody takes what it has.
func (p *pieces) receive(in grpc.ClientStreamingServer[rpc.PutRequest, rpc.PutResponse]) {
	for {
		m, err := in.Recv()
		select {
		case p.next <- arrival{m, err}:
		case <-p.done:
			return
		}
		if err != nil {
			return
		}
	}
}

func (p *pieces) take() (*rpc.PutRequest, error) {
	select {
	case got := <-p.next:
		switch {
		case errors.Is(got.err, io.EOF):
			return nil, io.EOF
		case got.err != nil:
			return nil, whittle.Errorf(whittle.Canceled, "receive item: %w", got.err)
		}
		return got.m, nil
	case <-p.done:
		return nil, whittle.Errorf(whittle.DeadlineExceeded, "the item did not arrive in time")
	}
}

// Read returns what has arrived.
func (p *pieces) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		m, err := p.take()
		if err != nil {
			return 0, err
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
