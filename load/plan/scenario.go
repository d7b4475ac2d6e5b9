package plan

import (
	"math/rand/v2"
	"time"

	"whittle/load/expr"
)

// Variable is set for each virtual user, to one of its choices at random.
type Variable struct {
	Slot    int
	Choices []expr.Value
	// Texts are the templates of choices that contain expressions; nil for a
	// constant choice, and the whole is nil where all are constant.
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
	// Text is the pause's template where it contains expressions, else nil.
	Text expr.Template
	// The pause varies uniformly by ±Jitter, or by ±JitterPart of itself.
	Jitter     time.Duration
	JitterPart float64
}

// Loop repeats steps: Count times, counting from First, or once for each item of
// Over, or as long as While holds.
type Loop struct {
	First, Count int64
	// Times is the template of "count" or "first-end" where it contains expressions.
	Times expr.Template
	// Over is a list, or OverValue returns one; at most one of them is set.
	Over      []expr.Value
	OverValue func(*expr.Scope) expr.Value
	While     expr.Condition
	// Counter and Element are the slots of $loopCount and $loopElement, plus one;
	// 0: they are not used.
	Counter, Element int
	Steps            []Step
}

// Parallel runs its branches concurrently, at most Limit of them at once.
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
	// Name groups requests in the report: the plan's name, else method and URL as
	// written.
	Name   string
	Index  int // in the plan's list of names
	Method string
	// Origin is scheme and host of an absolute URL, empty for a relative one.
	Origin string
	// Path with query; begins with "/" or "?" once the target is put before it.
	Path expr.Template
	// Address is the whole URL where its host is known only once it is rendered;
	// Origin and Path are then empty, and Query is appended.
	Address, Query expr.Template
	Headers        []HeaderField
	// Cookies are put in the virtual user's jar before the request is sent.
	Cookies []HeaderField
	Body    expr.Template
	HasBody bool
	// Skip reports, before anything is sent, whether the user skips the request.
	// Nil: never.
	Skip func(*expr.Scope) bool
	// FollowRedirects says that a redirect is followed to its final response.
	FollowRedirects bool
	// NoCookies says that the request neither sends nor stores cookies.
	NoCookies bool
	// Timeout bounds this request. 0: the plan's timeout.
	Timeout  time.Duration
	Captures []Capture
	Expect   []Expectation
}

// ReadsBody reports whether a capture or an expectation reads the response's body.
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
