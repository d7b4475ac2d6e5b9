package plan

import (
	"math/rand/v2"
	"time"

	"whittle/load/expr"
)

// Variable is filled for each virtual user: from one of its choices at random.
type Variable struct {
	Slot    int
	Choices []expr.Value
	// Texts stand beside choices where a choice has expressions in it; nil for
	// a constant, and as a whole where all are.
	Texts []expr.Template
}

// Scenario is what a virtual user does, chosen by weight.
type Scenario struct {
	Name   string
	Weight float64
	Steps  []Step
}

// Step is one entry of a flow; exactly one of its fields is set.
type Step struct {
	Request  *Request
	Think    *Think
	Loop     *Loop
	Parallel *Parallel
	Log      *expr.Template
	Action   Action
}

// Think is a pause.
type Think struct {
	Pause time.Duration
	// Text gives the pause where it has expressions in it, else nil.
	Text expr.Template
	// The pause varies evenly by so much to either side, or by such a part of
	// itself.
	Jitter     time.Duration
	JitterPart float64
}

// Loop repeats steps: count times from the number first on, or once for each
// item of over, or as long as while holds.
type Loop struct {
	First, Count int64
	// Times gives "count" or "first-end" where it has expressions in it.
	Times expr.Template
	// Over is a list, or overValue finds one; at most one of them is set.
	Over      []expr.Value
	OverValue func(*expr.Scope) expr.Value
	While     expr.Condition
	// Counter and element are the slots of $loopCount and $loopElement, plus
	// one; 0: nobody looks.
	Counter, Element int
	Steps            []Step
}

// Parallel has several steps under way at once, at most limit of them.
type Parallel struct {
	Branches []Step
	Limit    int
}

// HeaderField is a header, or a cookie.
type HeaderField struct {
	Name  string // lower case
	Value expr.Template
}

// Request is one HTTP request as the plan has it, before a target is known.
type Request struct {
	// Name groups figures: the plan's name for it, else method and URL as
	// written.
	Name   string
	Index  int // in the plan's list of names
	Method string
	// Origin is scheme and host of an absolute URL, empty for a relative one.
	Origin string
	// Path with query; begins with "/" or "?" once the target is put before it.
	Path expr.Template
	// Address is the whole URL where its host is known only when it is
	// rendered; origin and path are then empty, and query is what comes behind.
	Address, Query expr.Template
	Headers        []HeaderField
	// Cookies are put in the virtual user's jar before the request is sent.
	Cookies []HeaderField
	Body    expr.Template
	HasBody bool
	// Skip says, before anything is sent, that this user leaves the request
	// out. Nil: it never does.
	Skip func(*expr.Scope) bool
	// FollowRedirects takes a redirect for a response that is still to come.
	FollowRedirects bool
	// NoCookies requests neither send nor keep cookies.
	NoCookies bool
	// Timeout bounds this request; 0: as the plan's others.
	Timeout  time.Duration
	Captures []Capture
	Expect   []Expectation
}

// ReadsBody says whether somebody looks at the response's body.
func (r *Request) ReadsBody() bool {
	for i := range r.Captures {
		if r.Captures[i].Body {
			return true
		}
	}
	for i := range r.Expect {
		if r.Expect[i].Body {
			return true
		}
	}
	return false
}

// Choose picks a scenario by weight.
func (p *Plan) Choose(rng *rand.Rand) *Scenario {
	if len(p.Scenarios) == 1 {
		return &p.Scenarios[0]
	}
	x := rng.Float64() * p.Weight
	for i := range p.Scenarios {
		if x -= p.Scenarios[i].Weight; x < 0 {
			return &p.Scenarios[i]
		}
	}
	return &p.Scenarios[len(p.Scenarios)-1]
}
