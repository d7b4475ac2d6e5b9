package load

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"whittle"
)

// Quick is a plan of one request, for whoever has no plan file. Its texts may
// hold {{ templates }} as those of an Artillery plan.
type Quick struct {
	// URL is absolute; its scheme and host become the plan's target.
	URL string
	// Method is GET unless given, or POST where there is a body.
	Method string
	// Headers are of the form "Name: value".
	Headers []string
	// Body is sent as it is; JSON too, with its content type. At most one of
	// the two; empty: none.
	Body, JSON string
	// Name groups the figures. Empty: method and path.
	Name string
	// Rate is of open arrivals per second, for Duration. 0: the model is closed.
	Rate     float64
	Duration time.Duration
	// Closed is who asks where there is no Rate. Zero Users: 1.
	Closed Closed
	// Think is how long a closed user waits between an answer and its next
	// request.
	Think time.Duration
	// Timeout bounds one request. 0: 10 s.
	Timeout time.Duration
	// Insecure accepts any TLS certificate.
	Insecure bool
}

// flags is where errors in a quick plan point.
const flags = "flags"

// Plan makes the plan. Errors have the code whittle.Invalid.
func (q Quick) Plan() (*Plan, error) {
	p, err := q.plan()
	if err != nil {
		code := whittle.CodeOf(err)
		return nil, whittle.Errorf(code, "%s", strings.ReplaceAll(err.Error(), flags+":1:1: ", ""))
	}
	return p, nil
}

func (q Quick) plan() (*Plan, error) {
	r := emptyReader(Source{}, flags)
	r.plan.Name = q.URL
	r.plan.HTTP = HTTPSettings{Timeout: q.Timeout, Insecure: q.Insecure}
	if q.Timeout == 0 {
		r.plan.HTTP.Timeout = defaultTimeout
	}
	if q.Think < 0 || q.Think > maxDuration {
		return nil, whittle.Errorf(whittle.Invalid, "a think time of %v is not within 0 and %v", q.Think, maxDuration)
	}
	if q.Timeout < 0 || q.Timeout > maxTimeout {
		return nil, whittle.Errorf(whittle.Invalid, "a timeout of %v is not within 0 and %v", q.Timeout, maxTimeout)
	}
	req, err := q.request(r)
	if err != nil {
		return nil, err
	}
	r.plan.Target, req.origin = req.origin, ""
	steps := []step{{request: req}}
	if q.Think > 0 {
		steps = append(steps, step{think: &think{pause: q.Think}})
	}
	r.plan.scenarios = []scenario{{weight: 1, steps: steps}}
	r.plan.weight = 1
	if err := r.finish(); err != nil {
		return nil, err
	}
	return q.paced(r.plan)
}

// paced gives the plan its arrivals or its users.
func (q Quick) paced(p *Plan) (*Plan, error) {
	c := q.Closed
	if q.Rate == 0 {
		c.Users = max(c.Users, 1)
		if c.Duration == 0 {
			c.Duration = q.Duration
		}
		closed, err := p.WithUsers(c)
		if err == nil {
			closed.groups[0].fresh = false
		}
		return closed, err
	}
	switch {
	case c != Closed{} || q.Think != 0:
		return nil, whittle.Errorf(whittle.Invalid, "either a rate of arrivals is given, or users, ramp, loops and think")
	case !(q.Rate > 0) || q.Rate > maxRate:
		return nil, whittle.Errorf(whittle.Invalid, "a rate of %v is not within 0 and %v arrivals per second", q.Rate, maxRate)
	case q.Duration <= 0 || q.Duration > maxDuration:
		return nil, whittle.Errorf(whittle.Invalid, "a rate needs a duration within 0 and %v", maxDuration)
	}
	return p.WithPhases(Constant(q.Rate, q.Duration)), nil
}

func (q Quick) request(r *reader) (*request, error) {
	at := &node{file: flags, line: 1, col: 1, kind: kindString, text: q.URL}
	if u, err := url.Parse(q.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, at.invalid("%q is not a URL such as http://127.0.0.1:8080/path", q.URL)
	}
	req := &request{method: strings.ToUpper(q.Method)}
	if err := r.url(req, at, nil); err != nil {
		return nil, err
	}
	if err := q.body(r, req, at); err != nil {
		return nil, err
	}
	switch {
	case req.method == "" && req.hasBody:
		req.method = http.MethodPost
	case req.method == "":
		req.method = http.MethodGet
	case !isToken([]byte(req.method)):
		return nil, at.invalid("%q is not a method", q.Method)
	}
	own := &node{file: flags, line: 1, col: 1, kind: kindMap}
	for _, h := range q.Headers {
		name, val, ok := strings.Cut(h, ":")
		if !ok {
			return nil, at.invalid("the header %q is not of the form \"Name: value\"", h)
		}
		text := &node{file: flags, line: 1, col: 1, kind: kindString, text: strings.TrimSpace(val)}
		own.fields = append(own.fields, field{strings.TrimSpace(name), 1, 1, text})
	}
	headers, err := r.headers(own)
	req.headers = mergeHeaders(req.headers, headers)
	req.name = q.Name
	if req.name == "" {
		u, _ := url.Parse(q.URL) // it was parsed above
		req.name = req.method + " " + max(u.Path, "/")
	}
	req.index = r.nameIndex(req.name)
	return req, err
}

func (q Quick) body(r *reader, req *request, at *node) error {
	text := q.Body
	if q.JSON != "" {
		if q.Body != "" {
			return at.invalid("a request has one body")
		}
		if !strings.Contains(q.JSON, "{{") && !json.Valid([]byte(q.JSON)) {
			return at.invalid("%.80q is not JSON", q.JSON)
		}
		text = q.JSON
		req.headers = []headerField{{"content-type", template(nil).literal("application/json")}}
	}
	var err error
	req.body, err = r.compileTemplate(at, text, asText)
	req.hasBody = text != ""
	return err
}

// emptyReader reads what is not an Artillery script into a plan.
func emptyReader(s Source, name string) *reader {
	return &reader{
		source: s, plan: &Plan{Name: name}, testID: "whittle",
		slots: map[string]int{}, defined: map[string]bool{}, used: map[string]*node{}, names: map[string]int{},
	}
}
