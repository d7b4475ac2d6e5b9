package jmeter

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// samplerProperties are those of an HTTP sampler, or of the defaults for it,
// that are read or have no bearing on what is sent.
var samplerProperties = []string{
	"HTTPsampler.Arguments", "HTTPSampler.domain", "HTTPSampler.port", "HTTPSampler.protocol", "HTTPSampler.path", "HTTPSampler.method",
	"HTTPSampler.contentEncoding", "HTTPSampler.follow_redirects", "HTTPSampler.auto_redirects", "HTTPSampler.use_keepalive",
	"HTTPSampler.connect_timeout", "HTTPSampler.response_timeout", "HTTPSampler.postBodyRaw",
	// Which client JMeter uses, and how it fetches what whittle does not.
	"HTTPSampler.implementation", "HTTPSampler.concurrentPool", "HTTPSampler.concurrentDwn", "HTTPSampler.embedded_url_re",
	"HTTPSampler.embedded_url_exclude_re", "HTTPSampler.md5", "HTTPSampler.monitor", "HTTPSampler.ipSourceType",
	"HTTPSampler.BROWSER_COMPATIBLE_MULTIPART",
}

// sample is a sampler with the defaults in its scope.
type sample struct {
	*element
	defaults []*element // the innermost last
}

// prop finds a property of the sampler's own, or the innermost default for
// one that it leaves empty.
func (s *sample) find(name string) *tag {
	if p := s.prop(name); p != nil && strings.TrimSpace(p.text) != "" {
		return p
	}
	for _, d := range slices.Backward(s.defaults) {
		if p := d.prop(name); p != nil && strings.TrimSpace(p.text) != "" {
			return p
		}
	}
	return &tag{at: s.at}
}

// sampler reads one HTTP request and the timers before it.
func (j *reader) sampler(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, samplerProperties...)
	env = env.extended(j, e.below)
	for _, c := range e.below {
		if !j.readByScope(c) {
			panic(j.refuse(c))
		}
	}
	s := &sample{e, env.defaults}
	q := &plan.Request{Headers: env.headers, NoCookies: env.cookies == nil}
	if q.Method = strings.ToUpper(strings.TrimSpace(s.find("HTTPSampler.method").text)); q.Method == "" {
		q.Method = "GET"
	}
	if !httpguts.ValidHeaderFieldName(q.Method) {
		panic(e.where("HTTPSampler.method").Invalid("%q is not a method", q.Method))
	}
	q.FollowRedirects = s.find("HTTPSampler.follow_redirects").text == "true" || s.find("HTTPSampler.auto_redirects").text == "true"
	j.content(s, q)
	j.timeout(s, q)
	if env.cookies != nil {
		q.Cookies = j.ownCookies(env.cookies)
	}
	if s.find("HTTPSampler.use_keepalive").text == "false" || env.closing {
		q.Headers = plan.MergeHeaders(q.Headers, []plan.HeaderField{{Name: "connection", Value: expr.Template(nil).Literal("close")}})
	}
	j.addChecks(q, env)
	j.samplerName(e, q, env.prefix)
	return append(timerSteps(env.timers), plan.Step{Request: q})
}

// samplerName groups figures by the sampler's label, as JMeter's listeners do.
func (j *reader) samplerName(e *element, q *plan.Request, prefix string) {
	t := j.compile(e.at, e.label, expr.AsText)
	name, ok := t.Constant()
	if !ok {
		name = e.label
	}
	if q.Name = prefix + name; name == "" {
		q.Name = prefix + q.Method + " " + e.value("HTTPSampler.path")
	}
	q.Index = j.NameIndex(q.Name)
}

// timeout takes a response timeout for the whole request: whittle's clock runs
// from sending to the last byte.
func (j *reader) timeout(s *sample, q *plan.Request) {
	p := s.find("HTTPSampler.response_timeout")
	if p.text == "" {
		return
	}
	t := j.compile(p.at, p.text, expr.AsText)
	text, ok := t.Constant()
	ms, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if !ok || err != nil || ms < 0 || ms > plan.MaxTimeout.Milliseconds() {
		panic(p.at.Invalid("a response timeout is a number of milliseconds up to %d, not %q", plan.MaxTimeout.Milliseconds(), p.text))
	}
	q.Timeout = time.Duration(ms) * time.Millisecond
}

// content reads where a sampler sends and what.
func (j *reader) content(s *sample, q *plan.Request) {
	switch enc := strings.ToUpper(s.find("HTTPSampler.contentEncoding").text); enc {
	case "", "UTF-8", "UTF8", "US-ASCII":
	default:
		panic(s.find("HTTPSampler.contentEncoding").at.Errorf(whittle.Unsupported, "the content encoding %s is not supported: texts are sent in UTF-8", enc))
	}
	var arguments []*tag
	for _, e := range append(slices.Clone(s.defaults), s.element) {
		if t := e.prop("HTTPsampler.Arguments"); t != nil {
			if list := t.prop("Arguments.arguments"); list != nil {
				arguments = append(arguments, list.children...)
			}
		}
	}
	raw := s.is("HTTPSampler.postBodyRaw") || len(arguments) > 0 && !slices.ContainsFunc(arguments, func(a *tag) bool { return a.value("Argument.name") != "" })
	var query expr.Template
	switch {
	case raw:
		for _, a := range arguments {
			q.Body = q.Body.Join(j.compile(a.where("Argument.value"), a.value("Argument.value"), expr.AsText))
		}
		q.HasBody = len(q.Body) > 0
	case plan.MethodHasBody(q.Method):
		q.Body = j.pairs(arguments, expr.AsText)
		q.HasBody = len(arguments) > 0
		if q.HasBody && !q.HasHeader("content-type") {
			q.Headers = plan.MergeHeaders(q.Headers, []plan.HeaderField{{Name: "content-type", Value: expr.Template(nil).Literal("application/x-www-form-urlencoded")}})
		}
	default:
		query = j.pairs(arguments, expr.InTarget)
	}
	j.address(s, q, query)
}

// pairs writes arguments as a query or a form. As in JMeter, those that do not
// ask to be encoded are sent as they are, as far as their place allows.
func (j *reader) pairs(arguments []*tag, place expr.Encoding) expr.Template {
	var t expr.Template
	for _, a := range arguments {
		enc := place
		if a.is("HTTPArgument.always_encode") {
			enc = expr.InQuery
		}
		name := j.compile(a.where("Argument.name"), a.value("Argument.name"), enc)
		val := j.compile(a.where("Argument.value"), a.value("Argument.value"), enc)
		if len(t) > 0 {
			t = t.Literal("&")
		}
		t = t.Join(name)
		if len(val) > 0 || a.value("HTTPArgument.use_equals") != "false" {
			t = t.Literal("=").Join(val)
		}
	}
	return t
}

// address puts a sampler's URL together. A path may be a whole URL.
func (j *reader) address(s *sample, q *plan.Request, query expr.Template) {
	p := s.find("HTTPSampler.path")
	text := strings.TrimSpace(p.text)
	base := s.base()
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		end := plan.OriginLength(text)
		base, text = text[:end], text[end:]
	}
	origin := j.compile(p.at, base, expr.InTarget)
	path := j.compile(p.at, text, expr.InTarget)
	path = plan.WithQuery(rooted(path), text, query)
	fixed, ok := origin.Constant()
	if !ok {
		q.Address = origin.Join(path)
		return
	}
	if fixed != "" {
		q.Origin = plainOrigin(s.where("HTTPSampler.domain"), fixed)
	}
	q.Path = path
}

// base is a sampler's scheme and server as they are written, empty for the
// plan's target.
func (s *sample) base() string {
	domain := strings.TrimSpace(s.find("HTTPSampler.domain").text)
	if domain == "" {
		return ""
	}
	protocol := strings.TrimSpace(s.find("HTTPSampler.protocol").text)
	if protocol == "" {
		protocol = "http"
	}
	if strings.Contains(domain, ":") && !strings.HasPrefix(domain, "[") && !strings.Contains(domain, "${") {
		domain = "[" + domain + "]" // an IPv6 address
	}
	if port := strings.TrimSpace(s.find("HTTPSampler.port").text); port != "" {
		domain += ":" + port
	}
	return protocol + "://" + domain
}

// plainOrigin is an origin without the port that its scheme implies.
func plainOrigin(at plan.Position, text string) string {
	u, err := url.Parse(text)
	if err != nil {
		panic(at.Invalid("%q is no server's address", text))
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Port() == "80" && u.Scheme == "http" || u.Port() == "443" && u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	if _, err = plan.ParseBase(u.String()); err != nil {
		panic(at.Invalid("%v", err))
	}
	return u.String()
}

// rooted makes a path begin with "/", also one that is known only when it is
// rendered.
func rooted(path expr.Template) expr.Template {
	if text, fixed := path.Beginning(); fixed {
		if strings.HasPrefix(text, "/") {
			return path
		}
		return expr.Template(nil).Literal("/").Join(path)
	}
	return expr.Template(nil).Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		text := string(path.Render(nil, s))
		if !strings.HasPrefix(text, "/") {
			text = "/" + text
		}
		return expr.TextValue(text)
	}}, expr.AsText)
}
