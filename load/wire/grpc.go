package wire

import (
	"net/http"
	"strings"

	"whittle"
	"whittle/carve/transcode"
	"whittle/load/plan"
)

// grpcCalls turns a plan's JSON requests into unary gRPC calls, and the responses
// back into JSON, so that captures and expectations work on them.
type grpcCalls struct {
	methods map[string]*transcode.Transcoder // by path
}

// contractError says that a request could not be built: its body does not fit the
// contract, or what the plan renders is no valid request.
type contractError struct{ err error }

func (e *contractError) Error() string { return e.err.Error() }
func (e *contractError) Unwrap() error { return e.err }

// newGRPCCalls looks up the method of every request of the plan.
func newGRPCCalls(p *plan.Plan, descriptor []byte) (*grpcCalls, error) {
	c := &grpcCalls{methods: map[string]*transcode.Transcoder{}}
	for _, r := range p.Requests() {
		path, ok := r.Path.Constant()
		if !ok || r.Address != nil || r.Method != http.MethodPost {
			return nil, whittle.Errorf(whittle.Invalid, "request %q: a gRPC call is a post to /package.Service/Method", r.Name)
		}
		if c.methods[path] != nil {
			continue
		}
		t, err := transcode.New(whittle.RPC{Protocol: whittle.GRPC, Descriptor: descriptor, Method: strings.TrimPrefix(path, "/")})
		if err != nil {
			return nil, whittle.Errorf(whittle.CodeOf(err), "request %q: %w", r.Name, err)
		}
		c.methods[path] = t
	}
	return c, nil
}

// encode turns a JSON request into a gRPC call.
func (c *grpcCalls) encode(out *http2Request, q *request) error {
	r := out.request
	path, _ := q.Path.Constant()
	t := c.methods[path]
	if t == nil { // only after a redirect, which gRPC does not have
		return &contractError{whittle.Errorf(whittle.Invalid, "no method at %s", r.URL.Path)}
	}
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	sent, err := t.Request(&whittle.Request{
		Method: r.Method, Target: r.URL.RequestURI(), Host: r.Host, Header: whittle.Header(r.Header), Body: out.body,
	})
	if err != nil {
		return &contractError{err}
	}
	r.Header, out.body = http.Header(sent.Header), sent.Body
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = q.endpoint.prefix+sent.Target, "", ""
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
