package artillery

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// Quick is a plan of one request, for a run without a plan file. Its texts may
// hold {{ templates }} as those of an Artillery plan.
type Quick struct {
	// URL is absolute; its scheme and host become the plan's target.
	URL string
	Request
	// Rate is of open arrivals per second, for Duration. 0: the model is closed.
	Rate     float64
	Duration time.Duration
	// Closed are the users of the closed model, where there is no Rate. Zero Users:
	// 1.
	Closed plan.Closed
}

// Request is what is sent to a URL. The zero value is a GET.
type Request struct {
	// Method is GET unless given, or POST where there is a body.
	Method string
	// Headers are of the form "Name: value".
	Headers []string
	// JSON, Body and the contents of BodyFile are sent as they are, JSON with its
	// content type; one of them at most. They may hold {{ templates }}. Who makes a Quick
	// has read BodyFile.
	JSON, Body, BodyFile string
	// Name groups the figures. Empty: method and path.
	Name string
	// Timeout bounds one request. 0: 10 s.
	Timeout time.Duration
	// Think is how long a closed user waits between a response and its next request.
	Think time.Duration
	// Insecure accepts any TLS certificate.
	Insecure bool
}

// Given is the flag of the first setting that is set; empty: none is.
func (q *Request) Given() string {
	return cmp.Or(
		plan.FlagIf(q.Method != "", "--method"),
		plan.FlagIf(len(q.Headers) > 0, "--header"),
		plan.FlagIf(q.JSON != "", "--json-body"),
		plan.FlagIf(q.Body != "", "--body"),
		plan.FlagIf(q.BodyFile != "", "--body-file"),
		plan.FlagIf(q.Name != "", "--name"),
		plan.FlagIf(q.Timeout != 0, "--timeout"),
		plan.FlagIf(q.Think != 0, "--think"),
		plan.FlagIf(q.Insecure, "--insecure"),
	)
}

// flags is where errors in a quick plan point.
const flags = "flags"

var flagsPosition = plan.Position{File: flags, Line: 1, Col: 1}

// Plan makes the plan. Errors have the code whittle.Invalid.
func (q Quick) Plan() (*plan.Plan, error) {
	p, err := q.plan()
	if err != nil {
		return nil, whittle.Errorf(whittle.CodeOf(err), "%s", strings.ReplaceAll(err.Error(), flags+":1:1: ", ""))
	}
	return p, nil
}

func (q Quick) plan() (p *plan.Plan, err error) {
	defer whittle.Caught(&err)
	r := &reader{Builder: plan.NewBuilder(plan.Source{}, flags), testID: "whittle"}
	r.Plan.Name = q.URL
	r.Plan.HTTP = plan.HTTPSettings{Timeout: q.Timeout, Insecure: q.Insecure}
	if q.Timeout == 0 {
		r.Plan.HTTP.Timeout = plan.DefaultTimeout
	}
	if q.Think < 0 || q.Think > plan.MaxDuration {
		panic(whittle.Errorf(whittle.Invalid, "a think time of %v is not within 0 and %v", q.Think, plan.MaxDuration))
	}
	if q.Timeout < 0 || q.Timeout > plan.MaxTimeout {
		panic(whittle.Errorf(whittle.Invalid, "a timeout of %v is not within 0 and %v", q.Timeout, plan.MaxTimeout))
	}
	req := q.request(r)
	r.Plan.Target, req.Origin = req.Origin, ""
	steps := []plan.Step{{Request: req}}
	if q.Think > 0 {
		steps = append(steps, plan.Step{Think: &plan.Think{Pause: q.Think}})
	}
	r.Plan.Scenarios = []plan.Scenario{{Weight: 1, Steps: steps}}
	r.Plan.Weight = 1
	if all := r.Finish(); len(all) > 0 {
		panic(all[0].At.Invalid("{{ %s }}: nothing in the plan defines %s", all[0].Name, all[0].Name))
	}
	return q.withLoad(r.Plan), nil
}

// withLoad sets the plan's arrivals or its users.
func (q Quick) withLoad(p *plan.Plan) *plan.Plan {
	c := q.Closed
	if q.Rate == 0 {
		c.Users = max(c.Users, 1)
		if c.Duration == 0 {
			c.Duration = q.Duration
		}
		closed, err := p.WithUsers(c)
		whittle.Check(err)
		closed.Groups[0].Fresh = false
		return closed
	}
	switch {
	case c != plan.Closed{} || q.Think != 0:
		panic(whittle.Errorf(whittle.Invalid, "either a rate of arrivals is given, or users, ramp, loops and think"))
	case !(q.Rate > 0) || q.Rate > plan.MaxRate:
		panic(whittle.Errorf(whittle.Invalid, "a rate of %v is not within 0 and %v arrivals per second", q.Rate, plan.MaxRate))
	case q.Duration <= 0 || q.Duration > plan.MaxDuration:
		panic(whittle.Errorf(whittle.Invalid, "--rate needs --duration, above 0 and at most %v", plan.MaxDuration).WithHint("for example --duration 30s"))
	}
	return p.WithPhases(plan.Constant(q.Rate, q.Duration))
}

func (q Quick) request(r *reader) *plan.Request {
	at := &node{Position: flagsPosition, kind: expr.KindString, text: q.URL}
	if u, err := url.Parse(q.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		panic(at.Invalid("%q is not a URL such as http://127.0.0.1:8080/path", q.URL))
	}
	req := &plan.Request{Method: strings.ToUpper(q.Method)}
	r.url(req, at, nil)
	q.body(r, req, at)
	switch {
	case req.Method == "" && req.HasBody:
		req.Method = http.MethodPost
	case req.Method == "":
		req.Method = http.MethodGet
	case !httpguts.ValidHeaderFieldName(req.Method):
		panic(at.Invalid("%q is not a method", q.Method))
	}
	var own []plan.HeaderField
	for _, h := range q.Headers {
		name, val, ok := strings.Cut(h, ":")
		if !ok {
			panic(at.Invalid("the header %q is not of the form \"Name: value\"", h))
		}
		text := &node{Position: flagsPosition, kind: expr.KindString, text: strings.TrimSpace(val)}
		one := &node{Position: flagsPosition, kind: expr.KindMap, fields: []field{{strings.TrimSpace(name), flagsPosition, text}}}
		own = append(own, r.headers(one)...)
	}
	if named(own, "host") > 1 {
		panic(at.Invalid("the header host is given twice"))
	}
	req.Headers = append(slices.DeleteFunc(req.Headers, func(h plan.HeaderField) bool { return named(own, h.Name) > 0 }), own...) // each is sent
	req.Name = q.Name
	if req.Name == "" {
		u, _ := url.Parse(q.URL) // it was parsed above
		req.Name = req.Method + " " + max(u.Path, "/")
	}
	req.Index = r.NameIndex(req.Name)
	return req
}

// named counts the fields of a name.
func named(fields []plan.HeaderField, name string) (n int) {
	for i := range fields {
		if fields[i].Name == name {
			n++
		}
	}
	return n
}

func (q Quick) body(r *reader, req *plan.Request, at *node) {
	text := q.Body
	if q.JSON != "" {
		if q.Body != "" {
			panic(at.Invalid("a request has one body"))
		}
		if !strings.Contains(q.JSON, "{{") && !json.Valid([]byte(q.JSON)) {
			panic(at.Invalid("%.80q is not JSON", q.JSON))
		}
		text = q.JSON
		req.Headers = []plan.HeaderField{{Name: "content-type", Value: expr.Template(nil).Literal("application/json")}}
	}
	req.Body = r.compileTemplate(at, text, expr.AsText)
	req.HasBody = text != ""
}
