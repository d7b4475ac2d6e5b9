// Package transcode turns a JSON request into a call of a protobuf service, and the
// service's response into the form that the monolith's clients expect. The contract
// comes from a descriptor at run time; no generated code is needed. It turns bytes into
// bytes and makes no calls.
//
// # Requests
//
// A JSON body becomes the method's message by the proto3 JSON mapping: fields by their
// JSON or proto name, numbers also as strings, unknown fields left out, as a monolith
// would that reads only what it knows. An empty body is an empty message. Query
// parameters fill fields where there is no body, and wildcards of the route's pattern
// always; where those are not called as their fields are, RPC.Query and RPC.Path say
// which they fill, and a parameter that is named there is read where there is a body
// too; RPC.Form does so for a form. With RPC.Strict an unknown name is an error and not
// left out, for candidates that ask the monolith, which may know it. RPC.Body names the
// field that is the whole body: a list, a number, a text. RPC.Words are what enum
// values are called in JSON; an enum with words is read from these alone, and not from
// names, numbers or null. What does not fit (a word that an enum does not have, a
// fraction for an integer, null, an array, a body that is not declared to be JSON) is
// an error, so that the monolith serves it in its own way.
//
// A candidate that asks the monolith itself has nothing to ask it with but the message.
// With RPC.Lossless a request is an error, too, of which the message does not hold all:
// one that, written from the message again, would have a zero where nothing stood,
// nothing where null stood, or 7 where 007 stood.
//
// All end-to-end headers go along (authorization, cookies, trace context, what a user
// is kept by) but those that describe the body, negotiate the response, or belong to
// the RPC protocols themselves.
//
// # Answers
//
// A message becomes JSON or text by a template. In JSON every number stays a number,
// 64-bit ones too, with all of their digits: a client that reads them as doubles loses
// what is beyond 2^53, as it would with the monolith. Fields that are zero are present,
// in the order of the contract; unset fields that can distinguish unset from zero
// (messages, optional) are left out. A template sees fields by their proto and their
// JSON names; enums as words, or as names where they have none, bytes as base64,
// messages as maps, unset ones as nil. It does not escape: in HTML, write {{html
// .Name}} for a text.
//
// A value of an enum with words that has none itself (the unset one, a number of a
// later contract) makes no response but a failure, which names the field.
//
// RPC.Response names the field that is the whole body: a list, a scalar, a text.
// RPC.Nulls and RPC.Absent are the fields whose absence is written otherwise.
//
// An RPC error becomes the HTTP status of its code by the module's one table.
//
// # Failures, word for word
//
// A monolith's clients know its failures by their bodies too. With RPC.Verbatim an RPC
// error may carry the whole response that its user is to get, under these names:
//
//	http_status        200 to 599, in decimal
//	http_content_type  possibly empty
//	http_body          the body, where it is UTF-8
//	http_body_base64   the body, where it is not
//
// Twirp has them in the error's metadata. Connect and gRPC have them as the members of
// a google.protobuf.Struct among the error's details. The body has at most 1 MiB, and
// what the way itself bears: gRPC puts it into a trailer. An error without them, or
// with such as HTTP cannot send, has the status of its code.
package transcode

import (
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"whittle"
)

const (
	// maxDepth bounds the nesting of messages, in requests and in responses.
	maxDepth = 100
	// maxRendered bounds a mapped response, in bytes: zero fields and templates
	// can make a long response of a short message.
	maxRendered = 16 << 20
)

// Transcoder serves one method of one candidate. It is safe for concurrent use.
type Transcoder struct {
	rpc     whittle.RPC
	in, out protoreflect.MessageType
	types   *dynamicpb.Types
	path    string // of the procedure
	timeout time.Duration
	pattern []wildcard
	render  *renderer
	words   *words
	// body and response are the fields that are a whole body. Nil: the message is.
	body, response protoreflect.FieldDescriptor
	unset          *absence
	keeps          *keeping // nil: a request may lose something
}

// Option adds what is known of the route beyond its RPC.
type Option func(*Transcoder)

// Timeout is sent to the candidate with each call, where the protocol has a
// header for it (gRPC, Connect), so that it stops work nobody waits for.
// 0: nothing is sent.
func Timeout(d time.Duration) Option {
	return func(t *Transcoder) { t.timeout = d }
}

// Pattern is the route's path pattern; its wildcards fill the fields of the
// same name ("/users/{user_id}"; Go's wildcards have no dots, so top-level
// fields only). A wildcard without such a field is left out.
func Pattern(p string) Option {
	return func(t *Transcoder) { t.pattern = wildcards(p, t.rpc.Path, t.in.Descriptor()) }
}

// New reads the contract and holds the template against it. Its errors are
// Invalid with the Field counted from the route ("candidate.rpc.method").
func New(rpc whittle.RPC, options ...Option) (*Transcoder, error) {
	t, client, server, err := Messages(rpc, options...)
	if err == nil && (client || server) {
		err = whittle.Errorf(whittle.Unsupported, "method %q streams", rpc.Method).
			WithField("candidate.rpc.method").WithHint("only methods with one message each way can be put behind a route")
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Messages is New for any method, also for one that streams: it turns single messages of
// a stream. Client and server say which side streams.
func Messages(rpc whittle.RPC, options ...Option) (t *Transcoder, client, server bool, err error) {
	files, err := readDescriptor(rpc.Descriptor)
	if err != nil {
		return nil, false, false, err
	}
	method, err := findMethod(files, rpc.Method)
	if err != nil {
		return nil, false, false, err
	}
	t, err = transcoderOf(rpc, files, method, options)
	return t, method.IsStreamingClient(), method.IsStreamingServer(), err
}

func transcoderOf(rpc whittle.RPC, files *protoregistry.Files, method protoreflect.MethodDescriptor, options []Option) (*Transcoder, error) {
	var err error
	t := &Transcoder{
		rpc:   rpc,
		in:    dynamicpb.NewMessageType(method.Input()),
		out:   dynamicpb.NewMessageType(method.Output()),
		types: dynamicpb.NewTypes(files),
	}
	switch rpc.Protocol {
	case whittle.Twirp, whittle.TwirpJSON:
		if rpc.Prefix == "" {
			t.rpc.Prefix = "/twirp"
		}
	case whittle.Connect, whittle.GRPC:
	default:
		return nil, whittle.Errorf(whittle.Unsupported, "unknown RPC protocol %q", rpc.Protocol).WithField("candidate.rpc.protocol")
	}
	if rpc.Lossless {
		t.rpc.Strict = true
	}
	if rpc.Status == 0 {
		t.rpc.Status = 200
	}
	if rpc.ContentType == "" {
		t.rpc.ContentType = "application/json"
	}
	t.path = strings.TrimRight(t.rpc.Prefix, "/") + "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
	if err := t.mapping(); err != nil {
		return nil, err
	}
	if t.render, err = newRenderer(rpc.Template, t.out, t.words); err != nil {
		return nil, err
	}
	for _, o := range options {
		o(t)
	}
	t.keeps, err = newKeeping(t)
	return t, err
}

func readDescriptor(set []byte) (*protoregistry.Files, error) {
	var fds descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &fds); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read descriptor: %w", err).WithField("candidate.rpc.descriptor")
	}
	files, err := protodesc.NewFiles(&fds)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read descriptor: %w", err).WithField("candidate.rpc.descriptor")
	}
	return files, nil
}

func findMethod(files *protoregistry.Files, name string) (protoreflect.MethodDescriptor, error) {
	full := strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", ".")
	d, err := files.FindDescriptorByName(protoreflect.FullName(full))
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "method %q is not in the descriptor", name).WithField("candidate.rpc.method")
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, whittle.Errorf(whittle.Invalid, "%q is not a method", name).WithField("candidate.rpc.method")
	}
	return m, nil
}
