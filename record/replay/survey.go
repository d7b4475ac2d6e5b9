package replay

import (
	"context"
	"strings"
	"time"

	"whittle"
	"whittle/record/capture"
)

// survey is the result of the first reading of the log.
type survey struct {
	total       int64
	first, last time.Time
	routes      map[*subject]*routeSurvey
}

// routeSurvey is one route's part of it.
type routeSurvey struct {
	n, again, json int64
	// tokens counts the requests with a redaction token in place of a
	// credential.
	tokens int64
	// headers are the responses' headers that may be compared; bare says that
	// some response had none but its content type.
	headers map[string]seenHeader
	bare    bool
	// method is that of a request that may change something, or GET where there
	// is none.
	method string
}

// seenHeader says whether any response has the header, and whether it contains
// a redaction token in one.
type seenHeader struct{ seen, tokens bool }

// headersSeenMost bounds the header names that are tracked for one route.
const headersSeenMost = 256

func (r *routeSurvey) seeHeaders(h whittle.Header, compares func(string) bool) {
	for name, values := range h {
		if known := r.headers[name].seen; len(values) > 0 && compares(name) && (known || len(r.headers) < headersSeenMost) {
			tokens := strings.Contains(strings.Join(values, " "), tokenMark)
			r.headers[name] = seenHeader{true, r.headers[name].tokens || tokens}
		}
	}
	others := len(h)
	if _, ok := h["Content-Type"]; ok {
		others--
	}
	r.bare = r.bare || others == 0
}

// takeSurvey reads the log once.
func takeSurvey(ctx context.Context, log Log, d *router) (*survey, error) {
	s := &survey{routes: map[*subject]*routeSurvey{}}
	known := make(map[capture.RequestKey]struct{})
	for e, err := range log.Entries(ctx) {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return nil, err
		}
		s.total++
		if s.first.IsZero() || e.At.Before(s.first) {
			s.first = e.At
		}
		if e.At.After(s.last) {
			s.last = e.At
		}
		sub, skip := d.place(e)
		if skip != "" {
			continue
		}
		r := s.routes[sub]
		if r == nil {
			r = &routeSurvey{method: e.Request.Method, headers: map[string]seenHeader{}}
			s.routes[sub] = r
		}
		if r.n++; !sub.caller.Harmless(e.Request.Method) {
			r.method = e.Request.Method
		}
		if isJSON(&e.Response) {
			r.json++
		}
		if lacksCredential(&e.Request, d.given) {
			r.tokens++
		}
		if e.Response.Failure == whittle.NoFailure {
			r.seeHeaders(e.Response.Header, sub.compares)
		}
		k := capture.KeyOf(&e.Request)
		if _, again := known[k]; again {
			r.again++
		} else if len(known) < seenMost {
			known[k] = struct{}{}
		}
	}
	if ctx.Err() != nil { // an archive's entries end then, and nothing says so
		return nil, whittle.Errorf(whittle.Canceled, "read the log: %w", ctx.Err())
	}
	if s.total == 0 {
		none := whittle.Errorf(whittle.Invalid, "%s holds no exchange", log.Name())
		if damage := log.Damage(); len(damage) > 0 {
			return nil, none.WithHint("what it had could not be read: " + damage[0])
		}
		return nil, none.WithHint("whittle record ls LOG shows what a log holds")
	}
	return s, nil
}

func isJSON(a *whittle.Response) bool {
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// unsendable returns why an exchange cannot be replayed on any route; empty: it
// can.
func unsendable(e *capture.Entry) string {
	switch {
	case e.Served == whittle.Candidate:
		return whittle.SkipServed
	case e.Response.Failure.Neutral():
		return whittle.SkipCanceled
	case e.Request.Truncated:
		return whittle.SkipTooLarge
	case e.Response.Failure == whittle.NoFailure && (e.Response.Status < 200 || isStream(e)):
		return whittle.SkipStreaming
	}
	return ""
}

func isStream(e *capture.Entry) bool {
	return strings.HasPrefix(e.Response.Header.Get("Content-Type"), "text/event-stream")
}

// Bounds of the responses that noise is learned from: their number for each
// route, and their bytes over all routes.
const (
	repeatsMost  = 8192
	repeatsBytes = 32 << 20
	// seenMost bounds the distinct requests that the first reading tracks.
	seenMost = 1 << 18
)

// repeats remembers the last recorded response to each of the latest requests.
// Where a log has a request several times, this shows what the monolith changes
// by itself. The oldest request is forgotten first.
type repeats struct {
	last   map[capture.RequestKey]*whittle.Response
	oldest []capture.RequestKey // in the order of their first coming
	bytes  *int64               // of all routes' together
}

func newRepeats(bytes *int64) *repeats {
	return &repeats{last: map[capture.RequestKey]*whittle.Response{}, bytes: bytes}
}

// see returns the previous response to the same request, nil where none is
// known, and remembers this one.
func (r *repeats) see(e *capture.Entry) *whittle.Response {
	if e.Response.Failure != whittle.NoFailure || e.Response.Truncated || e.Request.Truncated {
		return nil
	}
	k := capture.KeyOf(&e.Request)
	before, known := r.last[k]
	if !known {
		r.oldest = append(r.oldest, k)
	} else {
		*r.bytes -= int64(len(before.Body))
	}
	response := e.Response // not the whole entry is kept
	r.last[k] = &response
	*r.bytes += int64(len(e.Response.Body))
	for len(r.oldest) > 1 && (len(r.oldest) > repeatsMost || *r.bytes > repeatsBytes) {
		oldest := r.oldest[0]
		r.oldest = r.oldest[1:]
		*r.bytes -= int64(len(r.last[oldest].Body))
		delete(r.last, oldest)
	}
	return before
}
