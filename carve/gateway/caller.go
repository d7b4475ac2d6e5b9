package gateway

import (
	"context"
	"maps"

	"whittle"
	"whittle/carve/gateway/upstream"
	"whittle/internal/httpfield"
)

// Caller sends requests to a route's candidate without a gateway, where no user
// waits. It uses the candidate's protocol, keeps the write contract, and stays
// within the upstream's bounds on time, length and connections. It never follows a
// redirect. It is safe for concurrent use.
type Caller struct {
	u     *upstream.Upstream
	codec codec
	safe  bool
}

// NewCaller makes the caller of a route that has a candidate, and opens
// nothing yet. Each request keeps its own Host. Errors
// carry a Field relative to the route.
func NewCaller(spec whittle.Route) (*Caller, error) {
	t, err := newCodec(&spec)
	if err != nil {
		return nil, err
	}
	at := *spec.Candidate
	at.WaitTimeout = at.Timeout                                   // nobody else can respond instead
	at.Health, at.Ejection = whittle.Health{}, whittle.Ejection{} // no instance is spared
	u, err := upstream.New(at, spec.RPC != nil && spec.RPC.Protocol == whittle.GRPC, nil)
	if err != nil {
		return nil, inField(err, "candidate")
	}
	return &Caller{u: u, codec: t, safe: spec.Safe}, nil
}

// Allows reports whether the route's write contract allows a request that no user
// made: its method is safe, the route is, or the candidate gets it as a dry run.
func (c *Caller) Allows(method string) bool { return c.Harmless(method) || c.codec.dryRunHeader != "" }

// Harmless reports whether a request changes nothing, wherever it is sent.
func (c *Caller) Harmless(method string) bool { return c.safe || httpfield.IsSafe(method) }

// Call sends q, which it leaves as it is, and holds the whole response, mapped to
// what the monolith's clients expect. The error says that q has no meaning in
// the candidate's contract; what goes wrong with the call is in the response.
func (c *Caller) Call(ctx context.Context, q *whittle.Request) (whittle.Response, error) {
	own := *q
	own.Header = make(whittle.Header, len(q.Header)+2)
	maps.Copy(own.Header, q.Header)
	for _, name := range httpfield.ConnectionNames(q.Header) {
		delete(own.Header, name)
	}
	out, err := c.codec.candidateRequest(&own)
	if err != nil {
		return whittle.Response{}, err
	}
	if c.Allows(q.Method) && out.Header != nil && out.Header["X-Idempotency-Key"] == nil {
		out.Header["X-Idempotency-Key"] = noValues
	}
	a := c.u.Call(ctx, out, 0, nil)
	if a.Failure == whittle.NoFailure {
		a = c.codec.mapped(&a)
	}
	return a, nil
}

// Close lets idle connections go; those in use are closed when they are done.
func (c *Caller) Close() { c.u.Close() }
