package gateway

import (
	"log/slog"
	"time"

	"whittle/carve/gateway/forward"
)

// accessAttrs are the fields of one access record. The query is left out: it
// is where secrets end up.
func accessAttrs(c tracked, res forward.Result, took time.Duration) []slog.Attr {
	r := c.request
	attrs := []slog.Attr{
		slog.String("method", r.Method),
		slog.String("host", r.Host),
		slog.String("path", r.URL.Path),
		slog.String("proto", r.Proto),
		slog.String("peer", r.RemoteAddr),
		slog.String("route", c.entry.name),
		slog.String("side", res.Side.String()),
		slog.Int("status", res.Sent),
		slog.Duration("took", took),
	}
	if res.Failure != "" {
		attrs = append(attrs, slog.String("failure", string(res.Failure)), slog.String("detail", res.Detail))
	}
	return attrs
}
