package api

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

// pieceCodec is gRPC's codec for protobuf, but for what makes up nearly all of
// the traffic: the bytes of a piece go from the network's buffers into one that
// serves again. By the usual way they are copied twice, the second time into
// memory that the garbage collector is left with.
type pieceCodec struct {
	encoding.CodecV2
	buffers *bufferPool
}

func newPieceCodec(b *bufferPool) pieceCodec {
	return pieceCodec{encoding.GetCodecV2(encodingproto.Name), b}
}

// Unmarshal reads a message. The bytes of a piece are the caller's, to release
// to the buffers once they are of no more use.
func (c pieceCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(*rpc.GetResponse); ok && c.piece(data, m) {
		return nil
	}
	return c.CodecV2.Unmarshal(data, v) // which knows every oddity, and what to say of it
}

// dataField is GetResponse.data's number.
const dataField = 3

// piece reads a message of which it knows every field's type, and reports whether
// it could.
func (c pieceCodec) piece(data mem.BufferSlice, m *rpc.GetResponse) bool {
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
			c.buffers.put(piece)
			piece = c.buffers.get(int(n))
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

func (c pieceCodec) gaveUp(piece []byte) bool {
	c.buffers.put(piece)
	return false
}

// usualPiece is what the cache sends at once, and the size of new buffers.
const usualPiece = 256 << 10

// bufferPool are for pieces, and used again.
type bufferPool struct{ pool sync.Pool }

// get returns n bytes, with anything in them.
func (b *bufferPool) get(n int) []byte {
	if p, ok := b.pool.Get().(*[]byte); ok && cap(*p) >= n {
		return (*p)[:n]
	}
	return make([]byte, n, max(n, usualPiece))
}

// put takes a buffer back. What is smaller than usual came another way.
func (b *bufferPool) put(piece []byte) {
	if cap(piece) >= usualPiece {
		b.pool.Put(&piece)
	}
}
