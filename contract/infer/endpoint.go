package infer

import (
	"maps"
	"net/url"
	"slices"

	"whittle"
	"whittle/contract"
	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
	"whittle/record/capture"
)

const (
	// maxStatuses bounds the statuses of one endpoint, maxExample the bytes of
	// the body that a failure's example keeps.
	maxStatuses = 32
	maxExample  = 4 << 10
)

// endpoint is what was seen of one method and path pattern.
type endpoint struct {
	method   string
	segments []pattern.Segment
	// first is its place in the order in which endpoints came.
	first int
	seen  int
	path  []*param // one of each wildcard
	query params
	body  contents
	// responses are by status.
	responses map[int]*responses
	// plain says that there was a 2xx, so that the fields below are of 2xx
	// responses alone. Until then redirects count as the success: a login by
	// form has no other.
	plain bool
	// failed counts the exchanges without a response, cut those whose body was
	// not recorded whole.
	failed, cut int
	// headers counts the successes' headers that no message carries, asked their
	// requests' that say who asks.
	headers, asked tally
	repeats        repeats
	echoes         echoes
}

// responses are those of one status.
type responses struct {
	contents

	n       int
	types   tally
	example whittle.Response
}

func newEndpoint(method string, segments []pattern.Segment, first int) *endpoint {
	e := &endpoint{method: method, segments: segments, first: first, responses: map[int]*responses{}}
	for _, s := range segments {
		if s.Wildcard {
			e.path = append(e.path, &param{})
		}
	}
	return e
}

// see takes one exchange that falls under the endpoint.
func (e *endpoint) see(x *capture.Entry, path []string, query url.Values, b *shape.Bounds) {
	e.seen++
	if x.Response.Failure != whittle.NoFailure {
		e.failed++
		return
	}
	if x.Request.Truncated || x.Response.Truncated {
		e.cut++
		return
	}
	a := e.responses[x.Response.Status]
	if a == nil {
		if len(e.responses) == maxStatuses {
			return
		}
		a = &responses{contents: contents{responses: true}, example: exampleOf(&x.Response)}
		e.responses[x.Response.Status] = a
	}
	a.n++
	a.types.add(x.Response.Header.Get("Content-Type"), 1)
	switch plain := x.Response.Status/100 == 2; {
	case plain && !e.plain:
		e.forget()
		e.plain = true
	case !plain && (e.plain || !contract.Redirects(x.Response.Status)):
		// A refused request does not show what requests look like.
		return
	}
	e.learn(x, a, path, query, b)
}

// forget discards what was learned from redirected requests, now that there is
// a response that is no redirect.
func (e *endpoint) forget() {
	for i := range e.path {
		e.path[i] = &param{}
	}
	e.query, e.body, e.headers, e.asked = params{}, contents{}, tally{}, tally{}
	e.repeats, e.echoes = repeats{}, echoes{}
}

// learn takes an exchange that succeeded.
func (e *endpoint) learn(x *capture.Entry, a *responses, path []string, query url.Values, b *shape.Bounds) {
	wildcards := e.wildcards(path)
	for i, v := range wildcards {
		e.path[i].see(v)
	}
	seeValues(&e.query, query)
	request := e.body.see(x.Request.Header, x.Request.Body, b)
	response := a.see(x.Response.Header, x.Response.Body, b)
	for name := range x.Response.Header {
		if !carriedElsewhere[name] {
			e.headers.add(name, 1)
		}
	}
	for _, name := range contract.Credentials {
		if x.Request.Header.Get(name) != "" {
			e.asked.add(name, 1)
		}
	}
	e.repeats.see(x, response)
	e.echoes.see(e, wildcards, query, request, response, x.Response.Body)
}

// carriedElsewhere are the headers that do not concern the response's meaning,
// or that every server generates.
var carriedElsewhere = map[string]bool{
	"Content-Type": true, "Content-Length": true, "Date": true, "Connection": true, "Keep-Alive": true, "Server": true,
	"Transfer-Encoding": true, "X-Powered-By": true, "Etag": true, "Content-Encoding": true,
}

func exampleOf(a *whittle.Response) whittle.Response {
	c := *a
	if len(c.Body) > maxExample {
		c.Body, c.Truncated = c.Body[:maxExample], true
	}
	c.Body = slices.Clone(c.Body)
	c.Header = maps.Clone(c.Header)
	return c
}

// wildcards are the path's texts at the wildcards.
func (e *endpoint) wildcards(path []string) []string {
	var out []string
	for i, s := range e.segments {
		if s.Wildcard && i < len(path) {
			out = append(out, path[i])
		}
	}
	return out
}

// success is the status of the responses that the method gives: the 2xx that was
// seen most often, without any 2xx the redirect, 0 where there was neither.
func (e *endpoint) success() int {
	best := 0
	for _, status := range slices.Sorted(maps.Keys(e.responses)) {
		if e.succeeds(status) && (best == 0 || e.responses[status].n > e.responses[best].n) {
			best = status
		}
	}
	return best
}

// succeeds reports whether a status is one of the endpoint's successes.
func (e *endpoint) succeeds(status int) bool {
	return status/100 == 2 || !e.plain && contract.Redirects(status)
}

// absorb merges another endpoint's exchanges into this one. The other's literal
// at the segment becomes a value of the wildcard there.
func (e *endpoint) absorb(o *endpoint, at int) {
	e.count(o)
	switch {
	case e.plain && !o.plain:
		return // nothing of it is a success
	case o.plain && !e.plain:
		e.forget()
		e.plain = true
	}
	param := 0
	for i, s := range o.segments {
		switch {
		case i == at && !s.Wildcard:
			for range o.successes() {
				e.path[param].see(s.Literal)
			}
		case s.Wildcard:
			e.path[param].absorb(o.path[param])
		}
		if e.segments[i].Wildcard {
			param++
		}
	}
	e.query.absorb(&o.query)
	e.body.absorb(&o.body)
	e.headers.absorb(&o.headers)
	e.asked.absorb(&o.asked)
	e.repeats.absorb(&o.repeats)
}

// count adds another endpoint's exchanges, whether or not they succeeded.
func (e *endpoint) count(o *endpoint) {
	e.first = min(e.first, o.first)
	e.seen += o.seen
	for status, a := range o.responses {
		mine := e.responses[status]
		if mine == nil {
			mine = &responses{example: a.example}
			e.responses[status] = mine
		}
		mine.absorb(&a.contents)
		mine.n += a.n
		mine.types.absorb(&a.types)
	}
	e.failed += o.failed
	e.cut += o.cut
}

func (e *endpoint) successes() int {
	n := 0
	for status, a := range e.responses {
		if e.succeeds(status) {
			n += a.n
		}
	}
	return n
}
