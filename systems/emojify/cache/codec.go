package cache

import (
	"sync"

	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"whittle/systems/emojify/rpc"
)

// pieceCodec is gRPC's codec for protobuf, but for what makes up nearly all of
// the traffic: a piece of an item goes from the buffer that it was read into to
// the network, and the buffer serves again. By the usual way each is copied
// into another, and both are for the garbage collector.
type pieceCodec struct {
	encoding.CodecV2
	buffers *buffers
}

func newPieceCodec(b *buffers) pieceCodec {
	return pieceCodec{encoding.GetCodecV2(encodingproto.Name), b}
}

// dataField is GetResponse.data's number.
const dataField = 3

// Marshal takes over the bytes of a piece, which must be from the buffers.
func (c pieceCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*rpc.GetResponse)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	data := m.GetData()
	m.Data = nil
	head, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	head = protowire.AppendTag(head, dataField, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(data)))
	return mem.BufferSlice{mem.SliceBuffer(head), mem.NewBuffer(&data, c.buffers)}, nil
}

// buffers are of pieceSize, and used again.
type buffers struct{ pool sync.Pool }

// Get returns n bytes, at most pieceSize, with anything in them.
func (b *buffers) Get(n int) *[]byte {
	p, ok := b.pool.Get().(*[]byte)
	if !ok {
		p = new(make([]byte, pieceSize))
	}
	*p = (*p)[:n]
	return p
}

// Put takes a buffer back.
func (b *buffers) Put(p *[]byte) { b.pool.Put(p) }
