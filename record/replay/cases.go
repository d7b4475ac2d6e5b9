package replay

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"whittle"
	"whittle/carve/compare"
	"whittle/record/capture"
)

// Bounds of what becomes tests.
const (
	casesMost  = 500
	casesBytes = 32 << 20
)

// Cases collects the exchanges that become tests: those whose responses differ,
// or all of them. It takes distinct requests only, and one request of each
// shape before a second one of any shape. It belongs to one replay.
type Cases struct {
	cover  bool
	sample capture.Sample[*testCase]
	// given are the headers that the replay sets on every request; they may be
	// secret.
	given whittle.Header
	show  compare.Redactor // nil: everything may be seen
}

// NewCases returns an empty collection. With cover it takes every exchange that
// was sent, else only those that differ.
func NewCases(cover bool) *Cases {
	return &Cases{cover: cover, sample: capture.Sample[*testCase]{Room: casesMost, Bytes: casesBytes}}
}

// testCase is one file below testdata; the made test (tests.go.txt) reads it.
type testCase struct {
	Shape    string       `json:"shape"`
	Request  caseRequest  `json:"request"`
	Response caseResponse `json:"response"`
	Compare  caseRules    `json:"compare"`

	route string
}

type caseRequest struct {
	Method string         `json:"method"`
	Target string         `json:"target"`
	Host   string         `json:"host,omitempty"`
	Header whittle.Header `json:"header,omitempty"`
	caseBody
}

type caseResponse struct {
	Status      int    `json:"status"`
	ContentType string `json:"content_type,omitempty"`
	// Header has the headers named in caseRules.Headers, and the date.
	Header whittle.Header `json:"header,omitempty"`
	caseBody
}

type caseRules struct {
	Kind      string   `json:"kind"`
	Headers   []string `json:"headers,omitempty"`
	Ignore    []string `json:"ignore,omitempty"`
	Unordered []string `json:"unordered,omitempty"`
	Tolerance float64  `json:"tolerance,omitempty"`
	Accept    []string `json:"accept,omitempty"`
}

type caseBody struct {
	Body       string `json:"body,omitempty"`
	BodyBase64 string `json:"body_base64,omitempty"`
}

func bodyOf(b []byte) caseBody {
	if utf8.Valid(b) {
		return caseBody{Body: string(b)}
	}
	return caseBody{BodyBase64: base64.StdEncoding.EncodeToString(b)}
}

// see considers one exchange that was sent.
func (c *Cases) see(x *whittle.Exchange, to *subject, input capture.RequestKey, shape string, differs bool) {
	if !differs && !c.cover || x.Monolith.Failure != whittle.NoFailure {
		return
	}
	size := len(x.Request.Body) + len(x.Monolith.Body)
	c.sample.See(input, shape, size, func() (*testCase, bool) { return c.of(x, to, shape) })
}

// of makes a test of an exchange; it returns false where the exchange is
// incomplete.
func (c *Cases) of(x *whittle.Exchange, to *subject, shape string) (*testCase, bool) {
	q, a := x.Request, x.Monolith
	if c.show != nil {
		c.show.Request(&q)
		c.show.Response(&a)
	}
	if q.Truncated || a.Truncated {
		return nil, false
	}
	rules := rulesOf(&to.spec.Compare, &a)
	return &testCase{
		Shape: shape, route: to.spec.Name,
		Request: caseRequest{
			Method: q.Method, Target: q.Target, Host: q.Host, Header: c.header(q.Header), caseBody: bodyOf(q.Body),
		},
		Response: caseResponse{Status: a.Status, ContentType: a.Header.Get("Content-Type"), Header: these(a.Header, append([]string{"Date"}, rules.Headers...)), caseBody: bodyOf(a.Body)},
		Compare:  rules,
	}, true
}

// header removes the headers of the connection, those that a proxy adds, and
// those that the replay was given.
func (c *Cases) header(h whittle.Header) whittle.Header {
	out := whittle.Header{}
	for name, values := range h {
		_, given := c.given[name]
		switch name {
		case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Expect", "Host",
			"Forwarded", "X-Real-Ip", "Traceparent", "Tracestate":
			continue
		}
		if !given && !strings.HasPrefix(name, "X-Forwarded-") {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// these returns the headers of h that have one of the names.
func these(h whittle.Header, names []string) whittle.Header {
	out := whittle.Header{}
	for _, name := range names {
		if values := h[name]; len(values) > 0 {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// clientHeaders are the headers that a made test compares where a route
// compares all: clients act on them. A recording alone does not show which
// others the monolith generates for each response.
var clientHeaders = []string{
	"Location", "Set-Cookie", "Www-Authenticate", "Cache-Control", "Content-Disposition", "Content-Language", "Link",
	"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers",
}

// caseHeaders returns the names of the headers that a test compares.
func caseHeaders(c *whittle.Comparison) []string {
	names := slices.Clone(c.Headers)
	if c.AllHeaders {
		names = append(names, clientHeaders...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !c.ComparesHeader(name) })
}

func rulesOf(c *whittle.Comparison, recorded *whittle.Response) caseRules {
	r := caseRules{Kind: string(c.Kind), Headers: caseHeaders(c), Ignore: slices.Clone(c.Ignore), Unordered: slices.Clone(c.Unordered), Tolerance: c.Tolerance}
	switch {
	case c.Kind == whittle.Statistical,
		c.Kind == whittle.Exact && bytes.Contains(recorded.Body, []byte(tokenMark)), // a token is not what the service returns
		len(c.IgnoreText) > 0 && (c.Kind == whittle.Exact || !json.Valid(recorded.Body)):
		r.Kind = "head"
	}
	accept := map[string]bool{}
	for _, e := range c.Expect {
		switch {
		case e.Kind == whittle.FoundField && e.Path != "":
			r.Ignore = append(r.Ignore, e.Path)
		case e.Kind == whittle.FoundStatus && (e.From == "" || e.From == statusText(recorded)):
			accept["status"] = true
		case e.Kind == whittle.FoundContentType:
			accept["content_type"] = true
		case e.Kind == whittle.FoundHeader:
			r.Headers = slices.DeleteFunc(r.Headers, func(name string) bool { return e.Path == "" || e.Path == name })
		}
	}
	r.Accept = slices.Sorted(maps.Keys(accept))
	return r
}

// learned removes from the comparison what the monolith was seen to change by
// itself: "$.id (value)", and headers.
func (r *caseRules) learned(noise, headers []string) {
	r.Headers = slices.DeleteFunc(r.Headers, func(name string) bool { return slices.Contains(headers, name) })
	if r.Kind != string(whittle.JSON) {
		return
	}
	for _, n := range noise {
		path, way, ok := strings.Cut(n, " (")
		switch {
		case !ok || path == "$..*" || path == "$":
		case way == "order)":
			r.Unordered = append(r.Unordered, path)
		default:
			r.Ignore = append(r.Ignore, path)
		}
	}
	slices.Sort(r.Ignore)
	r.Ignore = slices.Compact(r.Ignore)
}
