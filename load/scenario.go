package load

import (
	"context"
	"time"
)

// variable is filled for each virtual user: from one of its choices at random.
type variable struct {
	slot    int
	choices []value
	// texts stand beside choices where a choice has expressions in it; nil for
	// a constant, and as a whole where all are.
	texts []template
}

// scenario is what a virtual user does, chosen by weight.
type scenario struct {
	name   string
	weight float64
	steps  []step
}

// step is one entry of a flow; exactly one of its fields is set.
type step struct {
	request  *request
	think    *think
	loop     *loop
	parallel *parallel
	log      *template
	action   action
}

// action is a step of a kind that Artillery's flows do not have.
type action interface {
	// act does it, and reports whether the user goes on.
	act(ctx context.Context, w *worker) bool
	// inner are the steps within it.
	inner() []step
}

// think is a pause.
type think struct {
	pause time.Duration
	// text gives the pause where it has expressions in it, else nil.
	text template
	// The pause varies evenly by so much to either side, or by such a part of
	// itself.
	jitter     time.Duration
	jitterPart float64
}

// loop repeats steps: count times from the number first on, or once for each
// item of over, or as long as while holds.
type loop struct {
	first, count int64
	// times gives "count" or "first-end" where it has expressions in it.
	times template
	// over is a list, or overValue finds one; at most one of them is set.
	over      []value
	overValue func(*scope) value
	while     condition
	// counter and element are the slots of $loopCount and $loopElement, plus
	// one; 0: nobody looks.
	counter, element int
	steps            []step
}

// parallel has several steps under way at once, at most limit of them.
type parallel struct {
	branches []step
	limit    int
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
	path template
	// address is the whole URL where its host is known only when it is
	// rendered; origin and path are then empty, and query is what comes behind.
	address, query template
	headers        []headerField
	// cookies are put in the virtual user's jar before the request is sent.
	cookies []headerField
	body    template
	hasBody bool
	// skip says, before anything is sent, that this user leaves the request
	// out. Nil: it never does.
	skip func(*scope) bool
	// follow takes a redirect for an answer that is still to come.
	follow bool
	// bare requests neither send nor keep cookies.
	bare bool
	// timeout bounds this request; 0: as the plan's others.
	timeout  time.Duration
	captures []capture
	expect   []expectation
}

// readsBody says whether somebody looks at the answer's body.
func (r *request) readsBody() bool {
	for i := range r.captures {
		if r.captures[i].body {
			return true
		}
	}
	for i := range r.expect {
		if r.expect[i].body {
			return true
		}
	}
	return false
}
