package transcode

import (
	"errors"
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
	file := &descriptorpb.FileDescriptorProto{}
	fatal.If(t, prototext.Unmarshal([]byte(fatal.Read(t, "testdata/contract.txtpb")), file))
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
	for _, c := range []struct {
		change      func(*whittle.RPC)
		field, says string
	}{
		{func(r *whittle.RPC) { r.Descriptor = []byte("{}") }, "candidate.rpc.descriptor", "read descriptor"},
		{func(r *whittle.RPC) { r.Descriptor = r.Descriptor[len(r.Descriptor)/2:] }, "candidate.rpc.descriptor", "read descriptor"}, // without the imports
		{func(r *whittle.RPC) { r.Method = "shop.v1.Shop/Nope" }, "candidate.rpc.method", "not in the descriptor"},
		{func(r *whittle.RPC) { r.Method = "shop.v1/Plain" }, "candidate.rpc.method", "not a method"},
		{func(r *whittle.RPC) { r.Method = "shop.v1.Shop/Watch" }, "candidate.rpc.method", "streams"},
		{func(r *whittle.RPC) { r.Protocol = "soap" }, "candidate.rpc.protocol", "soap"},
		{func(r *whittle.RPC) { r.Template = "{{.I32" }, "candidate.response.template", "parse template"},
		{func(r *whittle.RPC) { r.Template = "{{.sum}}" }, "candidate.response.template", "sum"},
		{func(r *whittle.RPC) { r.Body = "x" }, "candidate.request.body", `no field "x"`},
		{func(r *whittle.RPC) { r.Response = "x" }, "candidate.response.body", `no field "x"`},
		{func(r *whittle.RPC) { r.Content = "xml" }, "candidate.request.content", "xml"},
		{func(r *whittle.RPC) { r.Query = map[string]string{"q": "x"} }, "candidate.request.query.q", `"x"`},
		{func(r *whittle.RPC) { r.Query = map[string]string{"q": "inner"} }, "candidate.request.query.q", "text can fill"},
		{func(r *whittle.RPC) { r.Path = map[string]string{"q": "tags.x"} }, "candidate.request.path.q", `"tags.x"`},
		{func(r *whittle.RPC) { r.Nulls = []string{"$.at", "$.x"} }, "candidate.response.nulls[1]", `"x"`},
		{func(r *whittle.RPC) { r.Nulls = []string{"at"} }, "candidate.response.nulls[0]", "begins with $"},
		{func(r *whittle.RPC) { r.Nulls = []string{"$"} }, "candidate.response.nulls[0]", "names no field"},
		{func(r *whittle.RPC) { r.Nulls = []string{`$["at`} }, "candidate.response.nulls[0]", "names and [*]"},
		{func(r *whittle.RPC) { r.Nulls = []string{"$..at"} }, "candidate.response.nulls[0]", "names and [*]"},
		{func(r *whittle.RPC) { r.Nulls = []string{"$.on.x"} }, "candidate.response.nulls[0]", "nothing lies below"},
		{func(r *whittle.RPC) { r.Nulls = []string{"$.inner[*].at"} }, "candidate.response.nulls[0]", "lists and maps"},
		{func(r *whittle.RPC) { r.Absent = []string{"$.tags.at"} }, "candidate.response.absent[0]", "lists and maps"},
		{func(r *whittle.RPC) { r.Absent = []string{"$.inner[0]"} }, "candidate.response.absent[0]", "names and [*]"},
	} {
		rpc := whittle.RPC{Protocol: whittle.Twirp, Descriptor: contract(t), Method: "shop.v1.Shop/Rich"}
		c.change(&rpc)
		_, err := New(rpc)
		e, ok := errors.AsType[*whittle.Error](err)
		if !ok || e.Field != c.field || !strings.Contains(e.Error(), c.says) {
			t.Errorf("New = %v with %+v, want %s at %s", err, e, c.says, c.field)
		}
	}
}

// HTTP2 reports whether the candidate can be called over HTTP/2 only.
func (t *Transcoder) HTTP2() bool { return t.rpc.Protocol == whittle.GRPC }

// orders is a contract as whittle new makes one.
const orders = `
file { name: "o.proto" package: "o" syntax: "proto3"
  message_type { name: "Order"
    field { name: "id" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL json_name: "id" }
    field { name: "user_name" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "userName" }
    field { name: "hint" number: 3 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "hint" oneof_index: 0 proto3_optional: true }
    field { name: "tags" number: 4 type: TYPE_STRING label: LABEL_REPEATED json_name: "tags" }
    field { name: "inner" number: 5 type: TYPE_MESSAGE type_name: ".o.Inner" label: LABEL_OPTIONAL json_name: "inner" }
    field { name: "price" number: 6 type: TYPE_DOUBLE label: LABEL_OPTIONAL json_name: "price" }
    oneof_decl { name: "_hint" } }
  message_type { name: "Inner" field { name: "n" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL json_name: "n" } }
  message_type { name: "Small"
    field { name: "times" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL json_name: "times" }
    field { name: "user_name" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "userName" } }
  service { name: "S"
    method { name: "Put" input_type: ".o.Order" output_type: ".o.Inner" }
    method { name: "Count" input_type: ".o.Small" output_type: ".o.Inner" } } }`

// TestLossless: what a candidate would write of the message is what the user
// wrote, or the request is refused.
func TestLossless(t *testing.T) {
	set := &descriptorpb.FileDescriptorSet{}
	fatal.If(t, prototext.Unmarshal([]byte(orders), set))
	descriptor, err := proto.Marshal(set)
	fatal.If(t, err)
	with := func(change func(*whittle.RPC)) func(*whittle.RPC) {
		return func(r *whittle.RPC) { r.Method = "o.S/Put"; change(r) }
	}
	put := with(func(*whittle.RPC) {})
	list := with(func(r *whittle.RPC) {
		r.Body, r.Query = "tags", map[string]string{"id": "id", "price": "price", "name": "user_name"}
	})
	count := func(r *whittle.RPC) { r.Method = "o.S/Count" }
	form := func(r *whittle.RPC) { r.Method, r.Content = "o.S/Count", whittle.BodyForm }
	byQuery := func(r *whittle.RPC) { r.Method, r.Content = "o.S/Count", whittle.BodyIgnored }
	for _, c := range []struct {
		name    string
		change  func(*whittle.RPC)
		pattern string
		r       *whittle.Request
		kept    bool
	}{
		{"all of it", put, "", sent(asJSON, "/", `{"price":1.50,"tags":["a"],"id":7,"userName":"u","hint":"","inner":{"n":0}}`), true},
		{"what can be absent", put, "", sent(asJSON, "/", `{"price":1.0,"tags":[],"id":9007199254740993,"userName":""}`), true},
		{"a number is missing", put, "", sent(asJSON, "/", `{"price":1,"tags":[],"userName":""}`), false},
		{"a text is missing", put, "", sent(asJSON, "/", `{"price":1,"tags":[],"id":1}`), false},
		{"a list is missing", put, "", sent(asJSON, "/", `{"price":1,"userName":"","id":1}`), false},
		{"a number is missing below", put, "", sent(asJSON, "/", `{"price":1,"tags":[],"id":1,"userName":"","inner":{}}`), false},
		{"null where absent", put, "", sent(asJSON, "/", `{"price":1,"tags":[],"id":1,"userName":"","hint":null}`), false},
		{"null for a number", put, "", sent(asJSON, "/", `{"price":1,"tags":[],"id":null,"userName":""}`), false},
		{"a number as a text", put, "", sent(asJSON, "/", `{"price":1,"tags":[],"id":"1","userName":""}`), false},
		{"a name of proto", put, "", sent(asJSON, "/", `{"price":1,"tags":[],"id":1,"user_name":""}`), false},
		{"more digits than a double has", put, "", sent(asJSON, "/", `{"price":0.1000000000000000055,"tags":[],"id":1,"userName":""}`), false},
		{"null where null", with(func(r *whittle.RPC) { r.AskedNulls = []string{"$.hint"} }), "", sent(asJSON, "/", `{"price":1,"tags":[],"id":1,"userName":"","hint":null}`), true},
		{"absent where null", with(func(r *whittle.RPC) { r.AskedNulls = []string{"$.hint"} }), "", sent(asJSON, "/", `{"price":1,"tags":[],"id":1,"userName":""}`), false},
		{"a list may be left out", with(func(r *whittle.RPC) { r.AskedAbsent = []string{"$.tags"} }), "", sent(asJSON, "/", `{"price":1,"id":1,"userName":""}`), true},
		{"empty where left out", with(func(r *whittle.RPC) { r.AskedAbsent = []string{"$.tags"} }), "", sent(asJSON, "/", `{"price":1,"id":1,"userName":"","tags":[]}`), false},

		{"of single values", count, "", sent(asJSON, "/", `{"times":0,"userName":""}`), true},
		{"missing among single values", count, "", sent(asJSON, "/", `{"userName":""}`), false},
		{"nothing among single values", count, "", sent(asJSON, "/", `{}`), false},
		{"null among single values", count, "", sent(asJSON, "/", `{"times":null,"userName":""}`), false},
		{"a name of proto among single values", count, "", sent(asJSON, "/", `{"times":1,"user_name":""}`), false},
		{"no body", count, "", sent("", "/", ""), false},
		{"an unknown name", count, "", sent(asJSON, "/", `{"times":1,"userName":"","more":1}`), false},
		{"an unknown parameter", count, "", sent(asJSON, "/?x=1", `{"times":1,"userName":""}`), false},

		{"a query", byQuery, "", sent("", "/?userName=a+b&times=7", ""), true},
		{"a query without a number", byQuery, "", sent("", "/?userName=a", ""), false},
		{"a query of another writing", byQuery, "", sent("", "/?userName=a&times=007", ""), false},
		{"a query with two values", byQuery, "", sent("", "/?userName=a&userName=b&times=7", ""), false},
		{"a query that is no text", byQuery, "", sent("", "/?userName=a%ff&times=7", ""), false},
		{"a query in many scripts", byQuery, "", sent("", "/?userName=%C3%A4%E2%82%AC%22&times=7", ""), true},
		{"a form that is no text", form, "", sent(asForm, "/", "times=7&userName=%ff"), false},
		{"a path", byQuery, "/u/{times}", sent("", "/u/7?userName=a", ""), true},
		{"a path of another writing", byQuery, "/u/{times}", sent("", "/u/1e1?userName=a", ""), false},
		{"a path with a body", func(r *whittle.RPC) { count(r); r.Path = map[string]string{"n": "times"} }, "/u/{n}", sent(asJSON, "/u/7", `{"userName":"a"}`), true},
		{"a form", form, "", sent(asForm, "/", "times=7&userName=a"), true},
		{"a form without a text", form, "", sent(asForm, "/", "times=7"), false},
		{"a query with both names of a field", byQuery, "", sent("", "/?userName=a&user_name=b&times=7", ""), false},
		{"a form with both names of a field", form, "", sent(asForm, "/", "times=7&userName=a&user_name=b"), false},
		{"a path and a query for one field", byQuery, "/u/{times}", sent("", "/u/7?userName=a&times=8", ""), false},

		{"a whole number", func(r *whittle.RPC) { r.Method, r.Body = "o.S/Put", "inner" }, "", sent(asJSON, "/?id=1&price=2&userName=", `{"n":1}`), false},
		{"a whole list", list, "", sent(asJSON, "/?id=1&price=2&name=", `["a"]`), true},
		{"a whole list that is null", list, "", sent(asJSON, "/?id=1&price=2&name=", `null`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			rpc := whittle.RPC{Protocol: whittle.Connect, Descriptor: descriptor, Lossless: true}
			c.change(&rpc)
			_, err := newTranscoder(t, rpc, Pattern(c.pattern)).Request(c.r)
			fatal.Same(t, err == nil, c.kept, "kept: %v", err)
			if err != nil && whittle.CodeOf(err) != whittle.Invalid {
				t.Errorf("%v is no refusal", err)
			}
		})
	}
}
