package gateway

import (
	"context"

	"whittle"
)

// Tracer starts spans. Package cmd implements it over OpenTelemetry's SDK, so
// that the data path does not depend on it.
type Tracer interface {
	// Start begins a server span for a request of a route (its name, or "" for
	// what no route matched). header is the request's own: the parent is read
	// from its traceparent, and the new span's context is written into it, to
	// be sent upstream. The context returned is the request's from then on.
	Start(ctx context.Context, route, method string, header whittle.Header) (context.Context, Span)
}

// Span is one request's span.
type Span interface {
	// End closes it with the status that the client got (0: none) and the
	// upstream's failure, if any. Called once.
	End(status int, failure whittle.Failure)
}
