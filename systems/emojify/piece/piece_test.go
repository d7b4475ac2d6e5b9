package piece

import (
	"bytes"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"whittle/internal/fatal"
	"whittle/systems/emojify/rpc"
)

// frames cuts bytes as a network might.
func frames(b []byte, size int) (s mem.BufferSlice) {
	for len(b) > 0 {
		n := min(size, len(b))
		s = append(s, mem.SliceBuffer(b[:n]))
		b = b[n:]
	}
	return s
}

// FuzzPieceCodec holds the short way to what the long one reads.
func FuzzPieceCodec(f *testing.F) {
	whole, err := proto.Marshal(&rpc.GetResponse{Size: 5, Modified: timestamppb.New(time.Unix(1, 2)), Data: []byte("bytes")})
	fatal.If(f, err)
	f.Add(whole, uint8(3))
	f.Add(append(bytes.Clone(whole), whole...), uint8(1)) // fields twice
	f.Add(protowire.AppendFixed32(protowire.AppendTag(nil, 7, protowire.Fixed32Type), 1), uint8(9))
	f.Add(protowire.AppendTag(protowire.AppendTag(nil, 9, protowire.StartGroupType), 9, protowire.EndGroupType), uint8(9))
	f.Add([]byte{0x1a, 0xff, 0xff, 0xff, 0xff, 0x0f}, uint8(2)) // four gigabytes, it says
	f.Add([]byte{0x18, 1}, uint8(2))                            // data that is no bytes
	c := NewCodec()
	f.Fuzz(func(t *testing.T, b []byte, size uint8) {
		var got, want rpc.GetResponse
		wanted := proto.Unmarshal(b, &want)
		if err := c.Unmarshal(frames(b, int(size)+1), &got); (err == nil) != (wanted == nil) {
			t.Fatalf("error %v, want %v", err, wanted)
		}
		for _, m := range []*rpc.GetResponse{&got, &want} {
			m.ProtoReflect().SetUnknown(nil) // of another length, where a varint was longer than it had to be
		}
		if wanted == nil && !proto.Equal(&got, &want) {
			t.Fatalf("read %v, want %v", &got, &want)
		}
		c.Buffers.Release(got.GetData())
	})
}
