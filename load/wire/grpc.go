package wire

import (
	"net/http"
	"strings"

	"whittle"
	"whittle/carve/transcode"
	"whittle/load/plan"
)

// grpcCalls turns a plan's JSON requests into gRPC calls, and the responses
// back into JSON, so that captures and expectations work on them.
type grpcCalls struct {
	methods map[string]grpcMethod // by path
	streams Streams
}

// grpcMethod is a method, and which of its sides streams.
type grpcMethod struct {
	*transcode.Transcoder

	client, server bool
}

// contractError says that a request could not be built: its body does not fit the
// contract, or what the plan renders is no valid request.
type contractError struct{ err error }

func (e *contractError) Error() string { return e.err.Error() }
func (e *contractError) Unwrap() error { return e.err }

// newGRPCCalls looks up the method of every request of the plan.
func newGRPCCalls(p *plan.Plan, descriptor []byte, streams Streams) (*grpcCalls, error) {
	c, turns := &grpcCalls{methods: map[string]grpcMethod{}, streams: streams}, false
	for _, r := range p.Requests() {
		path, ok := r.Path.Constant()
		if !ok || r.Address != nil || r.Method != http.MethodPost {
			return nil, whittle.Errorf(whittle.Invalid, "request %q: a gRPC call is a post to /package.Service/Method", r.Name)
		}
		if _, known := c.methods[path]; known {
			continue
		}
		t, client, server, err := transcode.Messages(whittle.RPC{Protocol: whittle.GRPC, Descriptor: descriptor, Method: strings.TrimPrefix(path, "/")})
		if err != nil {
			return nil, whittle.Errorf(whittle.CodeOf(err), "request %q: %w", r.Name, err)
		}
		c.methods[path] = grpcMethod{t, client, server}
		turns = turns || client && server
	}
	if streams.Turns > 0 && !turns {
		return nil, whittle.Errorf(whittle.Invalid, "no request is of a method whose client and server both stream, which take turns")
	}
	return c, nil
}

// encode turns a JSON request into a gRPC call.
func (c *grpcCalls) encode(out *http2Request, q *request) error {
	r := out.request
	path, _ := q.Path.Constant()
	t, known := c.methods[path]
	if !known { // only after a redirect, which gRPC does not have
		return &contractError{whittle.Errorf(whittle.Invalid, "no method at %s", r.URL.Path)}
	}
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	in := whittle.Request{Method: r.Method, Target: r.URL.RequestURI(), Host: r.Host, Header: whittle.Header(r.Header), Body: out.body}
	if t.client {
		if err := c.encodeStream(out, t, in); err != nil {
			return &contractError{err}
		}
		in.Body = nil // the head alone
	}
	sent, err := t.Request(&in)
	if err != nil {
		return &contractError{err}
	}
	r.Header = http.Header(sent.Header)
	if !t.client {
		out.body = sent.Body
	}
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = q.endpoint.prefix+sent.Target, "", ""
	if t.server {
		out.read = func(resp *http.Response, keep int, came, stop func()) (*streamed, error) {
			return c.readStream(t, resp, keep, came, stop)
		}
		return nil
	}
	out.decode = func(resp *http.Response, body []byte) (int, http.Header, []byte, error) {
		a := t.Response(&whittle.Response{
			Status: resp.StatusCode, Header: whittle.Header(resp.Header), Trailer: whittle.Header(resp.Trailer), Body: body,
		})
		if a.Failure != whittle.NoFailure {
			return 0, nil, nil, malformed("%s", a.Detail)
		}
		return a.Status, http.Header(a.Header), a.Body, nil
	}
	return nil
}
