// Package accesslog writes a line for each request, with the fields that the config names,
// redacted.
package accesslog

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"whittle"
)

// Redactor takes what is secret out of a request or a response; see package redact. The path
// of a request and the detail of a failure can hold secrets, since both may have been chosen
// by whoever sent them.
type Redactor interface {
	Request(*whittle.Request)
	Response(*whittle.Response)
}

// Names are the fields that a line may have, in addition to header:NAME.
var Names = []string{
	"request_id", "method", "host", "path", "proto", "tls", "peer", "client", "route", "side", "status", "bytes_in", "bytes_out",
	"took", "upstream", "upstream_time", "user_agent", "referer", "preview", "failure", "detail",
}

// Default are the fields of a line where nobody has chosen any.
var Default = slices.DeleteFunc(slices.Clone(Names), func(name string) bool { return name == "tls" || name == "client" || name == "referer" })

// RequestHeader begins the fields that are headers of the request.
const RequestHeader = "header:"

// Log writes lines. It is safe for concurrent use.
type Log struct {
	out    *slog.Logger
	fields []string
	redact Redactor
	// headers are the names in fields that are headers, canonically.
	headers []string
}

// New makes a log of fields of Names, or headers. A nil redact leaves lines as they are.
func New(out *slog.Logger, fields []string, redact Redactor) *Log {
	l := &Log{out: out, fields: fields, redact: redact}
	for _, f := range fields {
		if name, ok := strings.CutPrefix(f, RequestHeader); ok {
			l.headers = append(l.headers, http.CanonicalHeaderKey(name))
		}
		if name, ok := asHeader[f]; ok {
			l.headers = append(l.headers, name)
		}
	}
	return l
}

// Headers are the request's headers that a line has, canonically.
func (l *Log) Headers() []string { return l.headers }

// asHeader are the fields that are headers with a name of their own.
var asHeader = map[string]string{"user_agent": "User-Agent", "referer": "Referer"}

// Entry is what is known of a request when it has ended.
type Entry struct {
	RequestID string
	// Path has no query. Peer has the port of who is connected; Client is who the client is
	// by what trusted proxies say.
	Method, Host, Path string
	// Escaped is the path as it was sent; empty: as Path.
	Escaped             string
	Proto, Peer, Client string
	// TLS is the version, as crypto/tls numbers it; 0: plain.
	TLS uint16
	// Route is the name of the one that matched; empty: none.
	Route string
	// Side is empty where no upstream was asked.
	Side string
	// Status is what the client got; 0: nothing.
	Status int
	// In and Out are the bytes of the request's body and of the response's.
	In, Out int64
	// Took is from the request's head to the response's end.
	Took time.Duration
	// Upstream is the address that responded, or the upstream's where none did, and
	// UpstreamTime what it took, without waiting for the client.
	Upstream     string
	UpstreamTime time.Duration
	Preview      bool
	Failure      whittle.Failure
	Detail       string
	// Header is the request's.
	Header map[string][]string
}

// Write writes a request's line.
func (l *Log) Write(ctx context.Context, e *Entry) {
	header := l.redacted(e)
	attrs := make([]slog.Attr, 0, len(l.fields))
	for _, name := range l.fields {
		if a, ok := e.attr(name, header); ok {
			attrs = append(attrs, a)
		}
	}
	l.out.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
}

// redacted takes secrets out of the entry's path and detail, and gives the headers that
// are logged, without theirs.
func (l *Log) redacted(e *Entry) whittle.Header {
	q := whittle.Request{Target: e.Path, Header: chosen(e.Header, l.headers)}
	a := whittle.Response{Detail: e.Detail}
	if l.redact != nil {
		if sent := (whittle.Request{Target: e.Escaped}); e.Escaped != "" {
			// A slash of a secret is only known for one in what was sent.
			if l.redact.Request(&sent); sent.Target != e.Escaped {
				q.Target = unescaped(sent.Target)
			}
		}
		l.redact.Request(&q)
		if e.Detail != "" {
			l.redact.Response(&a)
		}
	}
	e.Path, e.Detail = q.Target, a.Detail
	return q.Header
}

func unescaped(path string) string {
	if p, err := url.PathUnescape(path); err == nil {
		return p
	}
	return path
}

func chosen(h map[string][]string, names []string) whittle.Header {
	if len(names) == 0 {
		return nil
	}
	out := make(whittle.Header, len(names))
	for _, name := range names {
		if v := h[name]; len(v) > 0 {
			out[name] = slices.Clone(v)
		}
	}
	return out
}

// attr gives a field; false: the request has none.
func (e *Entry) attr(name string, header whittle.Header) (slog.Attr, bool) {
	text := func(s string) (slog.Attr, bool) { return slog.String(name, s), s != "" }
	if h, ok := strings.CutPrefix(name, RequestHeader); ok {
		return text(strings.Join(header[http.CanonicalHeaderKey(h)], ", "))
	}
	switch name {
	case "request_id":
		return text(e.RequestID)
	case "method":
		return slog.String(name, e.Method), true
	case "host":
		return slog.String(name, e.Host), true
	case "path":
		return slog.String(name, e.Path), true
	case "proto":
		return slog.String(name, e.Proto), true
	case "tls":
		return slog.String(name, tls.VersionName(e.TLS)), e.TLS != 0
	case "peer":
		return slog.String(name, e.Peer), true
	case "client":
		return slog.String(name, e.Client), true
	case "route":
		return slog.String(name, e.Route), true
	case "side":
		return text(e.Side)
	case "status":
		return slog.Int(name, e.Status), true
	case "bytes_in":
		return slog.Int64(name, e.In), true
	case "bytes_out":
		return slog.Int64(name, e.Out), true
	case "took":
		return seconds(name, e.Took), true
	case "upstream":
		return text(e.Upstream)
	case "upstream_time":
		return seconds(name, e.UpstreamTime), e.Upstream != ""
	case "preview":
		return slog.Bool(name, true), e.Preview
	case "failure":
		return text(string(e.Failure))
	case "detail":
		return text(e.Detail)
	}
	return text(strings.Join(header[asHeader[name]], ", "))
}

// seconds is a duration as log readers take it, to the microsecond.
func seconds(name string, d time.Duration) slog.Attr {
	return slog.Float64(name, math.Round(d.Seconds()*1e6)/1e6)
}
