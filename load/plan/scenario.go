package plan

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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
	Request *Request
	Think   *Think
	Loop    *Loop
	Log     *expr.Template
	Action  Action
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
	// Again is asked after each round. Nil: it is not.
	Again func(ctx context.Context, u User) bool
	// Counter and Element are the slots of $loopCount and $loopElement, plus one;
	// 0: they are not used.
	Counter, Element int
	Steps            []Step
}

// HeaderField is a header, or a cookie.
type HeaderField struct {
	Name  string // lower case
	Value expr.Template
	// Absent reports that it is left out. Nil: it never is.
	Absent func(*expr.Scope) bool
	// Path, Domain and Secure are a cookie's: to which paths and servers it goes, empty
	// for all, and whether it goes by TLS alone.
	Path, Domain string
	Secure       bool
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
	// WholeURL says that an Address without a scheme begins with a slash, or is none.
	WholeURL bool
	Headers  []HeaderField
	// Cookies are put in the virtual user's jar before the request is sent.
	Cookies []HeaderField
	// KeepCookies says that a cookie which the jar has already stays as it is.
	KeepCookies bool
	Body        expr.Template
	HasBody     bool
	// ContentType is the body's, sent where the headers have none.
	ContentType string
	// Skip reports, before anything is sent, whether the user skips the request.
	// Nil: never.
	Skip func(*expr.Scope) bool
	// FollowRedirects says that a redirect is followed to its final response.
	FollowRedirects bool
	// Redirect says by which method a redirect is followed; false: it is not. Nil: as
	// browsers do.
	Redirect func(method string, status int) (next string, follow bool)
	// Illegal says why a request of a rendered target is not sent; empty: it is. Nil: all
	// are.
	Illegal func(target string) string
	// Logins are what the request logs in with, unasked: the first whose URL its own begins
	// with. Nil: it does not, but for what the base URL has.
	Logins []Login
	// NoCookies says that the request neither sends nor stores cookies.
	NoCookies bool
	// NoEmptyCookies says that a cookie which its response sets to nothing is removed.
	NoEmptyCookies bool
	// Timeout bounds this request. 0: the plan's timeout.
	Timeout time.Duration
	// BlindRedirects says that a request keeps its first cookies on the way of redirects,
	// and that cookies which a redirect sets are not kept.
	BlindRedirects bool
	// KeepMethod says that a redirect other than 303 keeps method and body.
	KeepMethod bool
	// Prepare is called before the request is sent, and returns the request to send
	// in its place. Respond is called with each response, after the captures. Nil: nothing
	// is called.
	Prepare func(ctx context.Context, u User) (*Request, error)
	Respond func(ctx context.Context, u User, a *expr.Response) error
	// EndsOnExpect says that a response that fails Expect ends the user.
	EndsOnExpect bool
	Captures     []Capture
	// CapturesErrors says that the captures see a request that got no response, as a
	// response without status, headers and body.
	CapturesErrors bool
	Expect         []Expectation
}

// ReadsBody reports whether a capture or an expectation reads the response's body.
func (r *Request) ReadsBody() bool {
	return r.Respond != nil || slices.ContainsFunc(r.Captures, func(c Capture) bool { return c.Body }) ||
		slices.ContainsFunc(r.Expect, func(e Expectation) bool { return e.Body })
}

// Choose picks a scenario by weight.
func (p *Plan) Choose(rng *rand.Rand) *Scenario {
	if len(p.Scenarios) == 1 {
		return &p.Scenarios[0]
	}
	x, last := rng.Float64()*p.Weight, 0
	for i := range p.Scenarios {
		w := p.Scenarios[i].Weight
		if x -= w; x < 0 {
			return &p.Scenarios[i]
		}
		if w > 0 {
			last = i
		}
	}
	return &p.Scenarios[last] // by rounding
}

// Action is a step that only one kind of plans has. One Action serves all users: their
// state is in User.State.
type Action interface {
	// Act runs the step, and reports whether the user continues.
	Act(ctx context.Context, u User) bool
	// Inner returns the steps inside it.
	Inner() []Step
}

// User is a running virtual user, as an action sees it; expressions see its first
// part.
type User interface {
	expr.User
	// Scope has the user's variables; its User is this one.
	Scope() *expr.Scope
	// RunSteps runs a flow, and reports whether the user continues.
	RunSteps(ctx context.Context, steps []Step) bool
	// Due is when the user's next step is due. PauseUntil postpones it, and waits.
	// False: the user's time was over before.
	Due() time.Time
	PauseUntil(ctx context.Context, until time.Time) bool
	// TimeUp reports whether the user must stop before its next step. Stop makes
	// it end.
	TimeUp() bool
	Stop()
	// StopAll ends all users after their present steps; now aborts their requests.
	StopAll(now bool)
	// Loop is which loop of its flow the user is in, from 0.
	Loop() int64
	// RequestsSent is the number of requests it has sent so far.
	RequestsSent() int64
	// GroupIndex is the index of its group; InGroup and InFlight are the numbers of
	// running users in the group and in the run.
	GroupIndex() int
	InGroup() int64
	InFlight() int64
	ClearCookies()
	// WaitedForScript notes how long the user waited for other users' scripts.
	// ScriptFailed counts an error of a script outside of a request, and reports
	// whether the user continues.
	WaitedForScript(d time.Duration)
	ScriptFailed(ctx context.Context, err error) bool
	// Sampled says how a step went that is a sample as requests are, and sent nothing: kind
	// and err are of its failure, empty where it succeeded. It reports whether the user
	// continues.
	Sampled(kind string, err error) bool
	// Concludes says whether what the user's last samples are part of has failed; Failures
	// is how many samples have.
	Concludes(failed bool)
	Failures() int64
}

// LoopRange parses "5" or "3-8"; as in Artillery, the end is exclusive.
func LoopRange(s string) (first, count int64, ok bool) {
	s = strings.TrimSpace(s)
	from, to, ranged := strings.Cut(s, "-")
	if !ranged {
		from, to = "0", s
	}
	a, err1 := strconv.ParseFloat(strings.TrimSpace(from), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(to), 64)
	if err1 != nil || err2 != nil || a != math.Trunc(a) || b != math.Trunc(b) || a < 0 || b > MaxLoops || a > b {
		return 0, 0, false
	}
	return int64(a), int64(b - a), true
}

// Length is how long this pause is for this user.
func (t *Think) Length(s *expr.Scope) time.Duration {
	d := t.Pause
	if t.Text != nil {
		var ok bool
		text := string(t.Text.Render(nil, s))
		if f, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && f != math.Trunc(f) {
			text += "ms" // as in Artillery, only a whole number is one of seconds
		}
		if d, ok = ParseDuration(text); !ok || d < 0 || d > MaxDuration {
			return 0 // as in Artillery: a text that is no number is no pause
		}
	}
	if by := float64(t.Jitter) + t.JitterPart*float64(d); by > 0 {
		d += time.Duration((2*s.RNG.Float64() - 1) * by)
	}
	return max(d, 0)
}

// Payload is a CSV file whose rows are assigned to virtual users.
type Payload struct {
	Slots    []int // of the fields, in column order
	Rows     [][]expr.Value
	Sequence bool // row i mod n for user i, of a closed plan for the ith round of any; else at random
}

// Bounds on a CSV file.
const (
	MaxFileBytes = 64 << 20
	MaxRows      = 1_000_000
)

// Fill sets the variable for one virtual user.
func (v *Variable) Fill(s *expr.Scope) {
	i := 0
	if len(v.Choices) > 1 {
		i = s.RNG.IntN(len(v.Choices))
	}
	s.Values[v.Slot] = v.Choices[i]
	if v.Texts != nil && v.Texts[i] != nil {
		if d, ok := expr.ParseDocument(string(v.Texts[i].Render(nil, s))); ok {
			s.Values[v.Slot] = d.Value()
		}
	}
}

// Threshold is one bound of config.ensure: on one metric, or a condition over
// several.
type Threshold struct {
	Metric    string
	Max       float64
	Condition expr.Condition // nil for a metric's bound
	Text      string         // of the condition
	Optional  bool           // it is shown, and does not fail the run
}
