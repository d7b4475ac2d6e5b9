// Package trace exports spans of requests over OTLP, as the config says.
package trace

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/gateway"
)

// tracer implements gateway.Tracer over OpenTelemetry.
type tracer struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
}

// New exports spans as the config says. Without an endpoint the tracer
// is nil: trace headers pass through untouched. The function returned flushes
// and ends the export.
func New(ctx context.Context, c config.Trace) (gateway.Tracer, func(context.Context) error, error) {
	if c.Endpoint == "" {
		return nil, func(context.Context) error { return nil }, nil
	}
	// The config has the collector's base URL, as OTEL_EXPORTER_OTLP_ENDPOINT would.
	endpoint, err := url.JoinPath(c.Endpoint, "v1/traces")
	if err != nil {
		return nil, nil, whittle.Errorf(whittle.Invalid, "start tracing: %w", err).WithField("trace.otlp")
	}
	exporter, err := otlptrace.New(ctx, &collector{url: endpoint})
	if err != nil {
		return nil, nil, whittle.Errorf(whittle.Invalid, "start tracing: %w", err).WithField("trace.otlp")
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.Sample.Percent()/100))),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "whittle"))),
	)
	return newOTelTracer(provider), provider.Shutdown, nil
}

func newOTelTracer(p trace.TracerProvider) *tracer {
	return &tracer{
		tracer:     p.Tracer("whittle/carve/gateway"),
		propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}
}

// knownMethod is a request's method as OpenTelemetry's conventions for HTTP spans
// have it: one that is not registered is "_OTHER", or a client could make names
// of spans without end.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "_OTHER"
}

// Start begins a server span under the request's own trace context.
func (t *tracer) Start(ctx context.Context, route, method string, header whittle.Header) (context.Context, gateway.Span) {
	carrier := propagation.HeaderCarrier(http.Header(header))
	name, known := route, knownMethod(method)
	name = cmp.Or(name, known)
	ctx, s := t.tracer.Start(t.propagator.Extract(ctx, carrier), name,
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", known), attribute.String("http.route", route)))
	t.propagator.Inject(ctx, carrier)
	return ctx, span{s}
}

type span struct{ trace.Span }

// End closes the span; a server error or an upstream's failure marks it.
func (s span) End(status int, failure whittle.Failure) {
	s.SetAttributes(attribute.Int("http.response.status_code", status))
	if failure != whittle.NoFailure {
		s.SetAttributes(attribute.String("error.type", string(failure)))
	}
	if status >= 500 || (failure != whittle.NoFailure && failure != whittle.FailedCanceled) {
		s.SetStatus(codes.Error, string(failure))
	}
	s.Span.End()
}
