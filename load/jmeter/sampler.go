package jmeter

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
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
	"HTTPSampler.BROWSER_COMPATIBLE_MULTIPART", "HTTPSampler.DO_MULTIPART_POST", "HTTPsampler.Files", "HTTPSampler.image_parser",
	// What the body says already.
	"GraphQLHTTPSampler.operationName", "GraphQLHTTPSampler.query", "GraphQLHTTPSampler.variables",
	"HTTPSampler.header_manager", // which JMeter drops when a test begins
	// Where a newer JMeter keeps what an older one wrote elsewhere.
	"HTTPSampler.proxyScheme", "HTTPSampler.proxyHost", "HTTPSampler.proxyPort", "HTTPSampler.proxyUser", "HTTPSampler.proxyPass",
	"HTTPSampler.FILE_NAME", "HTTPSampler.FILE_FIELD", "HTTPSampler.MIMETYPE", "HTTPSampler.useragent", "HTTPSampler.mimetype",
}

// sample is a sampler with the defaults in its scope.
type sample struct {
	*element
	defaults []*element // the innermost first
}

// find gives a property of the sampler's own, or the innermost default for one that it
// leaves empty; an empty tag at the sampler's place where there is none.
func (s *sample) find(name string) *tag {
	if p := s.prop(name); p != nil && strings.TrimSpace(p.text) != "" {
		return p
	}
	for _, d := range s.defaults {
		if p := d.prop(name); p != nil && strings.TrimSpace(p.text) != "" {
			return p
		}
	}
	return &tag{at: s.at}
}

// isFound reports whether a property is "true" for the sampler.
func (s *sample) isFound(name string) bool { return strings.TrimSpace(s.find(name).text) == "true" }

// sampler reads one HTTP request and the timers before it.
func (j *reader) sampler(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, samplerProperties...)
	env = env.extended(j, e.below)
	s := &sample{e, env.defaults}
	q := &plan.Request{Headers: env.headers, NoCookies: env.cookies == nil, NoEmptyCookies: true, Redirect: redirected, Illegal: illegalTarget, CapturesErrors: true}
	j.sends[e] = q
	ahead, after := j.belowSampler(e, env)
	method := j.fixedOf(s.find("HTTPSampler.method"), "HTTPSampler.method")
	if q.Method = method; method == "" {
		q.Method = http.MethodGet
	}
	if !httpguts.ValidHeaderFieldName(q.Method) {
		panic(e.where("HTTPSampler.method").Invalid("%q is not a method", q.Method))
	}
	q.FollowRedirects = s.isFound("HTTPSampler.follow_redirects")
	if s.isFound("HTTPSampler.auto_redirects") {
		q.FollowRedirects, q.BlindRedirects, q.Redirect = true, true, redirectedByClient
	}
	if p := s.find("HTTPSampler.implementation"); p.text == "Java" {
		panic(p.at.Errorf(whittle.Unsupported, "%s: Java's own HTTP client is not supported: choose HttpClient4", e.title()))
	}
	if p := s.find("HTTPSampler.proxyHost"); strings.TrimSpace(p.text) != "" {
		panic(p.at.Errorf(whittle.Unsupported, "%s: a proxy is not supported: its time would be in every figure", e.title()))
	}
	if s.isFound("HTTPSampler.image_parser") {
		panic(s.find("HTTPSampler.image_parser").at.Errorf(whittle.Unsupported, "%s: embedded resources are not supported: give those that count a sampler each", e.title()))
	}
	j.content(s, q)
	if s.noHost() {
		j.notSent(e, q, s.domain(), "is no name of a server")
	}
	j.timeout(s, q)
	if server, err := url.Parse(q.Origin); err == nil && env.cookies != nil { // one that is known has been parsed before
		q.Cookies, q.KeepCookies = j.ownCookies(env.cookies, server.Hostname()), true
	}
	q.Logins = j.logins(env.auths)
	j.closing(s, q)
	j.addChecks(q, env)
	j.samplerName(e, q, env.prefix)
	steps := slices.Concat(ahead, timerSteps(env.timers)) // in JMeter's order: a timer sees what a script before it has set
	steps = append(steps, plan.Step{Request: q})
	if env.hasScripts() {
		after = append([]plan.Step{behind(q)}, after...)
	}
	return append(steps, after...)
}

// notSent makes a request one that is not sent, as JMeter does not send it.
func (j *reader) notSent(e *element, q *plan.Request, what, why string) {
	j.noteOf(e, "is not sent, as by JMeter: %q %s", what, why)
	q.Illegal = func(string) string { return noURLHas(cmp.Or(what, "missing server")) }
}

// closing makes a request close its connection where the sampler or a header says so. The
// header's other values are not sent.
func (j *reader) closing(s *sample, q *plan.Request) {
	closes := !s.isFound("HTTPSampler.use_keepalive")
	q.Headers = slices.DeleteFunc(slices.Clone(q.Headers), func(h plan.HeaderField) bool {
		text, _ := h.Value.Constant()
		closes = closes || h.Name == "connection" && strings.EqualFold(text, "close")
		return h.Name == "connection"
	})
	if closes {
		q.Headers = append(q.Headers, plan.HeaderField{Name: "connection", Value: expr.Template(nil).Literal("close")})
	}
}

// redirected says which redirects JMeter follows, and by which method.
func redirected(method string, status int) (string, bool) {
	if status == http.StatusTemporaryRedirect && method != http.MethodGet && method != http.MethodHead {
		return "", false
	}
	if method != http.MethodHead {
		method = http.MethodGet
	}
	return method, true
}

// redirectedByClient says which redirects JMeter's HTTP client follows by itself, and by
// which method.
func redirectedByClient(method string, status int) (string, bool) {
	switch method {
	case http.MethodGet, http.MethodHead:
		return method, true
	case http.MethodPost, http.MethodDelete:
		if status >= http.StatusTemporaryRedirect {
			return method, true
		}
		return http.MethodGet, true
	}
	return "", false
}

func noURLHas(what string) string {
	return "a URL has no " + what + "; encode it, or see that every variable in it has a value"
}

// illegalTarget finds a character that no URL has: JMeter sends no such request.
func illegalTarget(target string) string {
	if i := strings.IndexAny(target, "\"<>\\^`{|}"); i >= 0 {
		return noURLHas(target[i : i+1])
	}
	path, _, _ := strings.Cut(target, "?")
	if i := strings.IndexAny(path, "[]"); i >= 0 {
		return noURLHas(path[i : i+1])
	}
	return ""
}

// shownText writes a text into a URL as JMeter shows it: letters that are not ASCII are
// encoded only when it is sent.
func shownText(text string) string {
	return escaped(text, func(c byte) bool { return c <= ' ' || c == 0x7f })
}

func escaped(text string, odd func(byte) bool) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if odd(c) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// shownPath is a path as JMeter shows it: it begins with a slash.
func shownPath(text string) string {
	if !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	return shownText(text)
}

// targetPath is a path as JMeter's client sends it: without a fragment, beginning with
// one slash, and without empty segments.
func targetPath(text string) string {
	text, _, _ = strings.Cut(text, "#")
	path, query, asks := strings.Cut(text, "?")
	path = "/" + strings.TrimLeft(path, "/")
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	if asks {
		path += "?" + query
	}
	return escaped(path, func(c byte) bool { return c <= ' ' || c >= 0x7f })
}

// sent is a URL of a request, or its path, as it is sent.
func (j *reader) sent(t expr.Template) expr.Template {
	if text, ok := t.Constant(); !ok || encoded(text) != text {
		j.odd = true
	}
	return t.Map(encoded)
}

// encoded is a URL or its path as it is sent.
func encoded(text string) string {
	origin := plan.OriginLength(text)
	return text[:origin] + targetPath(text[origin:])
}

// samplerName groups figures by the sampler's label, as JMeter's listeners do.
func (j *reader) samplerName(e *element, q *plan.Request, prefix string) {
	t := j.compile(e.at, e.label, expr.AsText)
	j.labels[q] = t
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

// address puts a sampler's URL together. A path may be a whole URL.
func (j *reader) address(s *sample, q *plan.Request, query expr.Template) {
	p := s.find("HTTPSampler.path")
	text := outerSpaces(p.text)
	base := s.base()
	if whole, ok := j.compile(p.at, text, expr.AsText).Constant(); ok && (strings.HasPrefix(whole, "http://") || strings.HasPrefix(whole, "https://")) {
		text = whole
	}
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		end := plan.OriginLength(text)
		base, text = text[:end], text[end:]
		query = nil // JMeter takes such a URL as it is
	}
	origin := j.compile(p.at, base, expr.AsText)
	if base == s.base() && base != "" {
		origin = origin.Join(j.port(s))
	}
	path := j.compile(p.at, text, expr.AsText).Map(shownPath)
	if _, fixed := path.Constant(); !fixed && strings.HasPrefix(text, "${") {
		q.Address = j.addressOrPath(q, p.at, text, origin, query)
		j.hostPort(s, q, base)
		return
	}
	path = plan.WithQuery(path, text, query)
	j.hostPort(s, q, base)
	fixed, ok := origin.Constant()
	if !ok {
		q.Address = j.sent(origin.Join(path))
		return
	}
	q.Path = j.sent(path)
	if fixed == "" {
		j.homeless[q] = s.element
		return
	}
	if q.Origin, ok = plainOrigin(s.where("HTTPSampler.domain"), fixed); !ok {
		q.Origin = noOrigin
		j.notSent(s.element, q, fixed, "is no server's address: give the variables or properties that it is made of, such as -Jhost=NAME, and their values")
	}
}

// addressOrPath is a URL whose path begins with a variable: what that comes to may be a whole
// URL, which then stands for all of it, without the arguments.
func (j *reader) addressOrPath(q *plan.Request, at plan.Position, text string, origin, query expr.Template) expr.Template {
	query = plan.WithQuery(nil, text, query)
	raw, own := j.compile(at, text, expr.AsText), &either{}
	if fixed, ok := origin.Constant(); ok {
		own.origin, _ = plainOrigin(at, fixed)
		own.relative = fixed == ""
	}
	j.eithers[q] = own
	return j.sent(expr.Template(nil).Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		path, query := raw.Text(s), query.Text(s)
		switch {
		case strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://"):
			end := plan.OriginLength(path)
			return expr.TextValue(path[:end] + shownPath(path[end:]))
		case own.relative:
			return expr.TextValue(shownPath(path) + query)
		default:
			return expr.TextValue(origin.Text(s) + shownPath(path) + query)
		}
	}}, expr.AsText))
}

// either is where a request goes whose path does not turn out to be a whole URL.
type either struct {
	origin   string // empty: it varies
	relative bool   // it is the plan's target
}

// noOrigin stands for the server of a request that is not sent.
const noOrigin = "http://" + noHostName

const noHostName = "no.host.invalid"

// port is what follows a server's name. What is no number, or 0, stands for the scheme's
// own port.
func (j *reader) port(s *sample) expr.Template {
	p := s.find("HTTPSampler.port")
	own := int64(80)
	if strings.EqualFold(strings.TrimSpace(s.find("HTTPSampler.protocol").text), "https") {
		own = 443
	}
	return j.compile(p.at, strings.TrimSpace(p.text), expr.AsText).Map(func(text string) string {
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32); err == nil && n != 0 && n != own {
			return ":" + strconv.FormatInt(n, 10)
		}
		return ""
	})
}

// outerSpaces writes the spaces around a path as JMeter sends them.
func outerSpaces(path string) string {
	path = strings.Trim(path, "\r\n\t")
	inner := strings.Trim(path, " ")
	before := strings.Index(path, inner)
	return strings.Repeat("%20", before) + inner + strings.Repeat("%20", len(path)-len(inner)-before)
}

// hostPort writes a host header of the plan's own as JMeter's client does: with the port
// that it has, else with the URL's, unless that is the scheme's own.
func (j *reader) hostPort(s *sample, q *plan.Request, base string) {
	i := slices.IndexFunc(q.Headers, func(h plan.HeaderField) bool { return h.Name == "host" })
	if i < 0 {
		return
	}
	origin := j.compile(s.at, base, expr.AsText)
	if base == s.base() {
		origin = origin.Join(j.port(s))
	}
	// The origin and the header's value in one text, so that both may vary.
	both := origin.Literal("\x00").Join(q.Headers[i].Value)
	q.Headers = slices.Clone(q.Headers)
	q.Headers[i].Value = both.Map(func(text string) string {
		origin, host, _ := strings.Cut(text, "\x00")
		port := trailingPort.FindString(host)
		host = strings.TrimSuffix(host, port)
		if port == "" {
			port = trailingPort.FindString(origin)
		}
		if port == ":443" && strings.HasPrefix(origin, "https:") || port == ":80" && !strings.HasPrefix(origin, "https:") {
			port = ""
		}
		return host + port
	})
}

// trailingPort is the port at the end of a server's address.
var trailingPort = regexp.MustCompile(`:\d+$`)

// base is a sampler's scheme and server as they are written, without the port, empty for
// the plan's target.
func (s *sample) base() string {
	domain := s.domain()
	if domain == "" {
		return ""
	}
	if s.noHost() {
		domain = noHostName
	}
	protocol := strings.TrimSpace(s.find("HTTPSampler.protocol").text)
	if protocol == "" {
		protocol = "http"
	}
	if strings.Contains(domain, ":") && !strings.HasPrefix(domain, "[") && !strings.Contains(domain, "${") {
		domain = "[" + domain + "]" // an IPv6 address
	}
	return protocol + "://" + domain
}

// noHost reports whether what a sampler has for its server is no host's name, such as a
// URL: JMeter sends no such request.
func (s *sample) noHost() bool {
	path := strings.TrimSpace(s.find("HTTPSampler.path").text)
	return !strings.HasPrefix(path, "http") && !strings.Contains(s.domain(), "${") && strings.ContainsAny(s.domain(), "/?# ")
}

func (s *sample) domain() string { return strings.TrimSpace(s.find("HTTPSampler.domain").text) }

// plainOrigin is an origin without the port that its scheme implies. False: the text is
// no server's address.
func plainOrigin(at plan.Position, text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Port() == "80" && u.Scheme == "http" || u.Port() == "443" && u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	if u.User != nil {
		panic(at.Invalid("%q has a name and a password: an HTTP Authorization Manager sends those", u.Redacted()))
	}
	_, err = plan.ParseBase(u.String())
	return u.String(), err == nil
}
