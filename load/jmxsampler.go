package load

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
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
func (j *jmxReader) sampler(e *element, env surroundings) ([]step, error) {
	err := j.only(e, samplerProperties...)
	if err != nil {
		return nil, err
	}
	if env, err = env.with(j, e.below); err != nil {
		return nil, err
	}
	for _, c := range e.below {
		if !j.surrounds(c) {
			return nil, j.refuse(c)
		}
	}
	s := &sample{e, env.defaults}
	q := &request{headers: env.headers, bare: env.cookies == nil}
	if q.method = strings.ToUpper(strings.TrimSpace(s.find("HTTPSampler.method").text)); q.method == "" {
		q.method = "GET"
	}
	if !isToken([]byte(q.method)) {
		return nil, e.where("HTTPSampler.method").invalid("%q is not a method", q.method)
	}
	q.follow = s.find("HTTPSampler.follow_redirects").text == "true" || s.find("HTTPSampler.auto_redirects").text == "true"
	if err := j.content(s, q); err != nil {
		return nil, err
	}
	if err := j.timeout(s, q); err != nil {
		return nil, err
	}
	if env.cookies != nil {
		if q.cookies, err = j.ownCookies(env.cookies); err != nil {
			return nil, err
		}
	}
	if s.find("HTTPSampler.use_keepalive").text == "false" || env.closing {
		q.headers = mergeHeaders(q.headers, []headerField{{"connection", template(nil).literal("close")}})
	}
	if err := j.judgement(q, env); err != nil {
		return nil, err
	}
	if err := j.samplerName(e, q, env.prefix); err != nil {
		return nil, err
	}
	return append(waiting(env.waits), step{request: q}), nil
}

// samplerName groups figures by the sampler's label, as JMeter's listeners do.
func (j *jmxReader) samplerName(e *element, q *request, prefix string) error {
	t, err := j.compile(e.at, e.label, asText)
	if err != nil {
		return err
	}
	name, ok := t.constant()
	if !ok {
		name = e.label
	}
	if q.name = prefix + name; name == "" {
		q.name = prefix + q.method + " " + e.value("HTTPSampler.path")
	}
	q.index = j.nameIndex(q.name)
	return nil
}

// timeout takes a response timeout for the whole request: whittle's clock runs
// from sending to the last byte.
func (j *jmxReader) timeout(s *sample, q *request) error {
	p := s.find("HTTPSampler.response_timeout")
	if p.text == "" {
		return nil
	}
	t, err := j.compile(p.at, p.text, asText)
	if err != nil {
		return err
	}
	text, ok := t.constant()
	ms, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if !ok || err != nil || ms < 0 || ms > maxTimeout.Milliseconds() {
		return p.at.invalid("a response timeout is a number of milliseconds up to %d, not %q", maxTimeout.Milliseconds(), p.text)
	}
	q.timeout = time.Duration(ms) * time.Millisecond
	return nil
}

// content reads where a sampler sends and what.
func (j *jmxReader) content(s *sample, q *request) error {
	switch enc := strings.ToUpper(s.find("HTTPSampler.contentEncoding").text); enc {
	case "", "UTF-8", "UTF8", "US-ASCII":
	default:
		return s.find("HTTPSampler.contentEncoding").at.errorf(whittle.Unsupported, "the content encoding %s is not supported: texts are sent in UTF-8", enc)
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
	var query template
	var err error
	hasBody := q.method == "POST" || q.method == "PUT" || q.method == "PATCH"
	switch {
	case raw:
		for _, a := range arguments {
			part, err := j.compile(a.where("Argument.value"), a.value("Argument.value"), asText)
			if err != nil {
				return err
			}
			q.body = q.body.join(part)
		}
		q.hasBody = len(q.body) > 0
	case hasBody:
		if q.body, err = j.pairs(arguments); err != nil {
			return err
		}
		q.hasBody = len(arguments) > 0
		if q.hasBody && !q.has("content-type") {
			q.headers = mergeHeaders(q.headers, []headerField{{"content-type", template(nil).literal("application/x-www-form-urlencoded")}})
		}
	default:
		if query, err = j.pairs(arguments); err != nil {
			return err
		}
	}
	return j.address(s, q, query)
}

// pairs writes arguments as a query or a form.
func (j *jmxReader) pairs(arguments []*tag) (template, error) {
	var t template
	for _, a := range arguments {
		enc := asText
		if a.is("HTTPArgument.always_encode") {
			enc = inQuery
		}
		name, err := j.compile(a.where("Argument.name"), a.value("Argument.name"), enc)
		if err != nil {
			return nil, err
		}
		val, err := j.compile(a.where("Argument.value"), a.value("Argument.value"), enc)
		if err != nil {
			return nil, err
		}
		if len(t) > 0 {
			t = t.literal("&")
		}
		t = t.join(name)
		if len(val) > 0 || a.value("HTTPArgument.use_equals") != "false" {
			t = t.literal("=").join(val)
		}
	}
	return t, nil
}

// address puts a sampler's URL together. A path may be a whole URL.
func (j *jmxReader) address(s *sample, q *request, query template) error {
	p := s.find("HTTPSampler.path")
	text := strings.TrimSpace(p.text)
	base := s.base()
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		end := originLength(text)
		base, text = text[:end], text[end:]
	}
	origin, err := j.compile(p.at, base, inTarget)
	if err != nil {
		return err
	}
	path, err := j.compile(p.at, text, inTarget)
	if err != nil {
		return err
	}
	path = withQuery(rooted(path), text, query)
	fixed, ok := origin.constant()
	if !ok {
		q.address = origin.join(path)
		return nil
	}
	if fixed != "" {
		if q.origin, err = plainOrigin(fixed); err != nil {
			return s.where("HTTPSampler.domain").invalid("%v", err)
		}
	}
	q.path = path
	return nil
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
func plainOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", whittle.Errorf(whittle.Invalid, "%q is no server's address", text)
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Port() == "80" && u.Scheme == "http" || u.Port() == "443" && u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	text = u.String()
	_, err = parseEndpoint(text, false)
	return text, err
}

// rooted makes a path begin with "/", also one that is known only when it is
// rendered.
func rooted(path template) template {
	if len(path) == 0 || path[0].eval == nil {
		if len(path) > 0 && strings.HasPrefix(path[0].literal, "/") {
			return path
		}
		return template(nil).literal("/").join(path)
	}
	return template{{enc: asText, eval: func(s *scope) value {
		text := string(path.render(nil, s))
		if !strings.HasPrefix(text, "/") {
			text = "/" + text
		}
		return textValue(text)
	}}}
}
