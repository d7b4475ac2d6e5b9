// Package piece is the codec of pictures that go in pieces between emojify's API and its
// cache: the bytes of a piece are copied once on either side, and their buffers serve again.
package piece

import (
	"encoding/binary"
	"io"
	"sync"

	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"whittle/systems/emojify/rpc"
)

// Size is what one message of Get carries, and the size of buffers: a message costs more
// than its first 100 kB do, and many streams may have one each in memory.
const Size = 256 << 10

// Codec is gRPC's codec for protobuf, but for what makes up nearly all of the traffic.
// The bytes of a piece go from the buffer that they were read into to the network, and
// from the network's buffers into one that serves again. By the usual way they are
// copied twice on either side, the second time into memory that the garbage collector
// is left with.
type Codec struct {
	encoding.CodecV2
	Buffers *Buffers
}

// NewCodec makes a codec with buffers of its own.
func NewCodec() Codec {
	return Codec{encoding.GetCodecV2(encodingproto.Name), &Buffers{}}
}

// Marshal takes over the bytes of a piece, which must be from the buffers.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
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
	return mem.BufferSlice{mem.SliceBuffer(head), mem.NewBuffer(&data, c.Buffers)}, nil
}

// Unmarshal reads a message. The bytes of a piece are the caller's, to release
// to the buffers once they are of no more use.
func (c Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(*rpc.GetResponse); ok && c.piece(data, m) {
		return nil
	}
	return c.CodecV2.Unmarshal(data, v) // which knows every oddity, and what to say of it
}

// dataField is GetResponse.data's number.
const dataField = 3

// piece reads a message of which it knows every field's type, and reports whether
// it could.
func (c Codec) piece(data mem.BufferSlice, m *rpc.GetResponse) bool {
	r := data.Reader()
	defer func() { _ = r.Close() }() // never fails: it only lets the frames go
	var rest, piece []byte           // all other fields, as they came
	for r.Remaining() > 0 {
		tag, err := binary.ReadUvarint(r)
		if err != nil {
			return c.gaveUp(piece)
		}
		number, kind := protowire.DecodeTag(tag)
		if kind != protowire.VarintType && kind != protowire.BytesType || number < 1 {
			return c.gaveUp(piece)
		}
		n, err := binary.ReadUvarint(r)
		if err != nil || kind == protowire.BytesType && n > uint64(r.Remaining()) {
			return c.gaveUp(piece)
		}
		if number == dataField && kind == protowire.BytesType {
			c.Buffers.Release(piece)
			piece = *c.Buffers.Get(int(n))
			if _, err := io.ReadFull(r, piece); err != nil {
				return c.gaveUp(piece)
			}
			continue
		}
		rest = protowire.AppendVarint(protowire.AppendTag(rest, number, kind), n)
		if kind == protowire.BytesType {
			value := make([]byte, n)
			if _, err := io.ReadFull(r, value); err != nil {
				return c.gaveUp(piece)
			}
			rest = append(rest, value...)
		}
	}
	if proto.Unmarshal(rest, m) != nil {
		return c.gaveUp(piece)
	}
	if len(piece) > 0 {
		m.Data = piece
	}
	return true
}

func (c Codec) gaveUp(piece []byte) bool {
	c.Buffers.Release(piece)
	return false
}

// Buffers are for pieces, and used again.
type Buffers struct{ pool sync.Pool }

// Get returns n bytes with anything in them.
func (b *Buffers) Get(n int) *[]byte {
	p, ok := b.pool.Get().(*[]byte)
	if !ok || cap(*p) < n {
		p = new(make([]byte, max(n, Size)))
	}
	*p = (*p)[:n]
	return p
}

// Put takes a buffer back. What is smaller than usual came another way.
func (b *Buffers) Put(p *[]byte) {
	if cap(*p) >= Size {
		b.pool.Put(p)
	}
}

// Release is Put for the bytes of a buffer.
func (b *Buffers) Release(bytes []byte) { b.Put(&bytes) }
