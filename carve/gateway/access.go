package gateway

import (
	"context"
	"log/slog"
	"time"

	"whittle"
	"whittle/carve/gateway/forward"
)

// Redactor takes what is secret out of a request or a response; see package
// redact. The path of a request and the detail of a failure can hold secrets,
// since both may have been chosen by whoever sent them.
type Redactor interface {
	Request(*whittle.Request)
	Response(*whittle.Response)
}

// loggedPath is a request's path without its secrets.
func (g *Gateway) loggedPath(path string) string {
	if g.opts.Redact == nil {
		return path
	}
	q := whittle.Request{Target: path}
	g.opts.Redact.Request(&q)
	return q.Target
}

// loggedDetail is why a request failed, without secrets.
func (g *Gateway) loggedDetail(detail string) string {
	if g.opts.Redact == nil || detail == "" {
		return detail
	}
	a := whittle.Response{Detail: detail}
	g.opts.Redact.Response(&a)
	return a.Detail
}

// accessAttrs are the fields of one access record. The query is left out: it
// is where secrets end up.
func (g *Gateway) accessAttrs(c *tracked, res *forward.Result, took time.Duration) []slog.Attr {
	r := c.request
	attrs := []slog.Attr{
		slog.String("method", r.Method),
		slog.String("host", r.Host),
		slog.String("path", g.loggedPath(r.URL.Path)),
		slog.String("proto", r.Proto),
		slog.String("peer", r.RemoteAddr),
		slog.String("route", c.entry.name),
		slog.String("side", res.Side.String()),
		slog.Int("status", res.Sent),
		slog.Duration("took", took),
	}
	if c.preview {
		attrs = append(attrs, slog.Bool("preview", true))
	}
	if res.Failure != "" {
		attrs = append(attrs, slog.String("failure", string(res.Failure)), slog.String("detail", g.loggedDetail(res.Detail)))
	}
	return attrs
}

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
