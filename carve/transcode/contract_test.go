package transcode

import (
	"errors"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"whittle"
	"whittle/internal/fatal"
)

// contract is testdata/contract.txtpb with its imports, as buf build writes it.
func contract(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/contract.txtpb")
	fatal.If(t, err)
	file := &descriptorpb.FileDescriptorProto{}
	fatal.If(t, prototext.Unmarshal(text, file))
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto),
		protodesc.ToFileDescriptorProto(wrapperspb.File_google_protobuf_wrappers_proto),
		protodesc.ToFileDescriptorProto(structpb.File_google_protobuf_struct_proto),
		file,
	}}
	b, err := proto.Marshal(set)
	fatal.If(t, err)
	return b
}

func shop(t testing.TB, protocol whittle.Protocol, method string, options ...Option) *Transcoder {
	t.Helper()
	return newTranscoder(t, whittle.RPC{Protocol: protocol, Descriptor: contract(t), Method: "shop.v1.Shop/" + method}, options...)
}

func newTranscoder(t testing.TB, rpc whittle.RPC, options ...Option) *Transcoder {
	t.Helper()
	tr, err := New(rpc, options...)
	fatal.If(t, err)
	return tr
}

func post(target, body string) *whittle.Request {
	r := &whittle.Request{Method: "POST", Target: target, Header: whittle.Header{}, Body: []byte(body)}
	if body != "" {
		r.Header["Content-Type"] = []string{"application/json"}
	}
	return r
}

// message reads what a call's body carries.
func message(t testing.TB, tr *Transcoder, body []byte) protoreflect.Message {
	t.Helper()
	m := tr.in.New()
	if err := proto.Unmarshal(body, m.Interface()); err != nil {
		t.Fatalf("the body is not a message: %v", err)
	}
	return m
}

// wire is the message that JSON stands for, in bytes.
func wire(t testing.TB, tr *Transcoder, json string) []byte {
	t.Helper()
	m := tr.out.New()
	fatal.If(t, (protojson.UnmarshalOptions{Resolver: tr.types}).Unmarshal([]byte(json), m.Interface()))
	b, err := proto.Marshal(m.Interface())
	fatal.If(t, err)
	return b
}

func TestNewRefuses(t *testing.T) {
	good := whittle.RPC{Protocol: whittle.Twirp, Descriptor: contract(t), Method: "shop.v1.Shop/Plain"}
	for _, c := range []struct {
		name   string
		change func(*whittle.RPC)
		field  string
		says   string
	}{
		{"bytes that are no descriptor", func(r *whittle.RPC) { r.Descriptor = []byte("{}") }, "candidate.rpc.descriptor", "read descriptor"},
		{"a missing import", func(r *whittle.RPC) {
			r.Descriptor = append([]byte(nil), r.Descriptor[len(r.Descriptor)/2:]...)
		}, "candidate.rpc.descriptor", "read descriptor"},
		{"an unknown method", func(r *whittle.RPC) { r.Method = "shop.v1.Shop/Nope" }, "candidate.rpc.method", "not in the descriptor"},
		{"a message for a method", func(r *whittle.RPC) { r.Method = "shop.v1/Plain" }, "candidate.rpc.method", "not a method"},
		{"a stream", func(r *whittle.RPC) { r.Method = "shop.v1.Shop/Watch" }, "candidate.rpc.method", "streams"},
		{"an unknown protocol", func(r *whittle.RPC) { r.Protocol = "soap" }, "candidate.rpc.protocol", "soap"},
		{"a broken template", func(r *whittle.RPC) { r.Template = "{{.I32" }, "candidate.response.template", "parse template"},
		{"an unknown field", func(r *whittle.RPC) { r.Template = "{{.sum}}" }, "candidate.response.template", "sum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rpc := good
			c.change(&rpc)
			_, err := New(rpc)
			e, ok := errors.AsType[*whittle.Error](err)
			if !ok {
				t.Fatalf("New = %v, want a coded error", err)
			}
			if e.Field != c.field || !strings.Contains(e.Error(), c.says) {
				t.Errorf("New = %q with field %q, want %q with field %q", e, e.Field, c.says, c.field)
			}
		})
	}
}

// HTTP2 reports whether the candidate can be called over HTTP/2 only.
func (t *Transcoder) HTTP2() bool { return t.rpc.Protocol == whittle.GRPC }
