package transcode

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle"
	"whittle/internal/httpfield"
)

// Response maps a candidate's response back: a message to the route's status,
// content type and body; an RPC error to the HTTP status of its code with a
// body in plain text, or to the response that it carries, and the whole of it in
// Detail. What is not of the contract
// becomes the failure FailedMalform. A failure passes as it is, and Latency is
// kept always.
func (t *Transcoder) Response(a *whittle.Response) whittle.Response {
	switch {
	case a.Failure != whittle.NoFailure:
		return *a
	case a.Truncated:
		return whittle.Response{
			Latency: a.Latency, Failure: whittle.FailedTooLarge,
			Detail: fmt.Sprintf("the response is longer than the %d bytes that were read of it", len(a.Body)),
		}
	}
	body, err := t.mapped(a)
	switch {
	case err == nil && (t.rpc.Status == 204 || t.rpc.Status == 205):
		return t.with(a, t.rpc.Status, "", nil) // HTTP has no body there
	case err == nil && t.rpc.ContentType == whittle.NoContentType:
		return t.with(a, t.rpc.Status, "", body)
	case err == nil:
		return t.with(a, t.rpc.Status, t.rpc.ContentType, body)
	}
	if e, ok := errors.AsType[*rpcError](err); ok {
		mapped := t.with(a, e.status(), "text/plain; charset=utf-8", e.body())
		if v := e.response; v != nil && t.rpc.Verbatim {
			mapped = t.with(a, v.status, v.contentType, v.body)
		}
		mapped.Detail = string(t.rpc.Protocol) + " " + e.Error()
		return mapped
	}
	return whittle.Response{Latency: a.Latency, Failure: whittle.FailedMalform, Detail: string(t.rpc.Protocol) + ": " + err.Error()}
}

func (t *Transcoder) with(a *whittle.Response, status int, contentType string, body []byte) whittle.Response {
	h := inherit(a.Header, notReturned, prefixesNotReturned)
	if contentType != "" {
		h["Content-Type"] = []string{contentType}
	}
	return whittle.Response{Status: status, Header: h, Body: body, Latency: a.Latency}
}

// mapped gives the body of a mapped success, an *rpcError, or another error
// for what is malformed.
func (t *Transcoder) mapped(a *whittle.Response) ([]byte, error) {
	m := t.out.New()
	if err := t.decode(a, m); err != nil {
		return nil, err
	}
	if t.render.tmpl != nil {
		return t.render.render(m)
	}
	w := jsonWriter{b: make([]byte, 0, 64), types: t.types, words: t.words}
	err := t.whole(&w, m)
	return w.b, err
}

func (t *Transcoder) decode(a *whittle.Response, m protoreflect.Message) error {
	contentType := a.Header.Get("Content-Type")
	if e := a.Header.Get("Content-Encoding"); e != "" && e != "identity" && t.rpc.Protocol != whittle.GRPC {
		return fmt.Errorf("the response is encoded with %.60q, which was not asked for", e)
	}
	if t.rpc.Protocol == whittle.GRPC {
		if err := grpcStatus(a); err != nil {
			return err
		}
		if !httpfield.IsMedia(contentType, "application/grpc", "application/grpc+proto") {
			return fmt.Errorf("the response is %.60q, not application/grpc", contentType)
		}
		message, err := unframe(a.Body)
		if err != nil {
			return err
		}
		return unmarshal(message, m)
	}
	if a.Status != 200 {
		return errorOf(a)
	}
	switch t.rpc.Protocol {
	case whittle.TwirpJSON:
		if !httpfield.IsMedia(contentType, "application/json") {
			return fmt.Errorf("the response is %.60q, not application/json", contentType)
		}
		body, err := t.words.enums(a.Body, m.Descriptor(), known)
		if err == nil {
			err = t.unmarshalJSON(body, m)
		}
		if err != nil {
			return fmt.Errorf("read message: %w", err)
		}
		return nil
	case whittle.Twirp:
		if !httpfield.IsMedia(contentType, "application/protobuf") {
			return fmt.Errorf("the response is %.60q, not application/protobuf", contentType)
		}
	default:
		if !httpfield.IsMedia(contentType, "application/proto") {
			return fmt.Errorf("the response is %.60q, not application/proto", contentType)
		}
	}
	return unmarshal(a.Body, m)
}

// unmarshal reads what a candidate sent, which may be anything. The protobuf
// library panics on one kind of it (v1.36.12, unmarshalMap: a map entry with a
// second key of another wire type), and a candidate's lie must not end the
// gateway.
func unmarshal(b []byte, m protoreflect.Message) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read message: %v", r)
		}
	}()
	if err := (proto.UnmarshalOptions{RecursionLimit: maxDepth}).Unmarshal(b, m.Interface()); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	return nil
}

// unframe takes the one message out of a gRPC body.
func unframe(b []byte) ([]byte, error) {
	if len(b) < frameHeader {
		return nil, fmt.Errorf("the response has %d bytes, which is not one message", len(b))
	}
	if b[0] != 0 {
		return nil, errors.New("the message is compressed, which was not asked for")
	}
	if n := binary.BigEndian.Uint32(b[1:frameHeader]); uint64(n) != uint64(len(b)-frameHeader) {
		return nil, fmt.Errorf("the frame says %d bytes and %d follow", n, len(b)-frameHeader)
	}
	return b[frameHeader:], nil
}
