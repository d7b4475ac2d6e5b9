package load

import (
	"context"
	"time"
)

// variable is filled for each virtual user: from one of its choices at random.
type variable struct {
	slot    int
	choices []value
}

// scenario is what a virtual user does, chosen by weight.
type scenario struct {
	name   string
	weight float64
	steps  []step
}

// step is one entry of a flow; exactly one of its fields is set.
type step struct {
	request *request
	think   *think
	loop    *loop
	action  action
}

// action is a step of a kind that Artillery's flows do not have.
type action interface {
	// act does it, and reports whether the user goes on.
	act(ctx context.Context, w *worker) bool
	// inner are the steps within it.
	inner() []step
}

type think struct {
	pause time.Duration
}

// loop repeats steps: count times, or once for each item of over.
type loop struct {
	count int64
	over  []value
	steps []step
}

type headerField struct {
	name  string // lower case
	value template
}

// request is one HTTP request as the plan has it, before a target is known.
type request struct {
	// name groups figures: the plan's name for it, else method and URL as
	// written.
	name   string
	index  int // in the plan's list of names
	method string
	// origin is scheme and host of an absolute URL, empty for a relative one.
	origin string
	// path with query; begins with "/" or "?" once the target is put before it.
	path    template
	headers []headerField
	body    template
	hasBody bool
	expect  []expectation
}

// expectation is one condition on an answer; a failed one counts as an error
// of the kind "expectation".
type expectation struct {
	statuses []int
	negate   bool
	// contentType is looked for in the answer's content type; empty: any.
	contentType string
}

func (e *expectation) holds(a *answer) bool {
	if e.contentType != "" {
		return matchesType(a.header("content-type"), e.contentType)
	}
	for _, s := range e.statuses {
		if a.status == s {
			return !e.negate
		}
	}
	return e.negate
}
