package jmeter

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/script"
)

// scriptRun is what one run of a script is given, and what it asks of its user.
type scriptRun struct {
	response *expr.Response // nil: it stands before one
	previous *snapshot
	judges   bool      // it is an assertion
	sample   *snapshot // what it makes, as a sampler; nil: it is none

	wait    time.Duration // how long it sleeps, in all
	failure bool          // it says that the response fails
	stop    string        // what it ends: thread, test or now
	loop    bool          // it begins the user's next loop
	clears  bool          // it forgets the cookies
	line    int           // of its text, in which it has failed; 0: not known
}

// snapshot is a response as scripts see it: prev.
type snapshot struct {
	code, message                  string
	ok, ignored                    bool
	label                          string
	text, head, url, sent, request string
	body, kind                     string // of the request; of the response
	elapsed                        time.Duration
	ended                          time.Time
	size                           int
	parts                          []*snapshot // of redirects: each response by itself
	thread                         string      // of a part: whose it is
}

func snapshotOf(a *expr.Response, label string) *snapshot {
	text, _ := a.BodyText()
	_, body, _ := strings.Cut(string(a.Request), "\r\n\r\n")
	if a.Sampled {
		body = string(a.Request)
	}
	s := &snapshot{
		label: cmp.Or(a.Label, label), code: codeText(a), message: messageText(a), ok: succeeded(a), text: text, head: headText(a), url: shownURL(a), request: requestText(a, false), sent: requestText(a, true), body: body, kind: a.Header("content-type"), elapsed: a.Elapsed, size: len(a.Head) + int(a.Size), ended: clock(a.Scope),
	}
	s.parts = partsOf(a, s)
	return s
}

// partsOf are the responses of a request that was redirected, each by itself and the last
// one too, named as JMeter does it.
func partsOf(a *expr.Response, whole *snapshot) (out []*snapshot) {
	if len(a.Way) == 0 {
		return nil
	}
	left := a.Elapsed
	for i := range a.Way {
		part := snapshotOf(&a.Way[i], "")
		part.ok = true
		out = append(out, part)
		left -= part.elapsed
	}
	last := *whole
	last.elapsed = left
	out = append(out, &last)
	for i, part := range out {
		part.label, part.thread = fmt.Sprintf("%s-%d", whole.label, i), threadName(a.Scope)
	}
	return out
}

// lastKey is where a user's last response is kept for scripts that ask for it.
type lastKey struct{}

// lastOf is a user's last response; nil: there is none, or no script asks for it.
func lastOf(u expr.User) *snapshot {
	if u == nil {
		return nil
	}
	return *userState[*snapshot](u, lastKey{})
}

// keepLast makes every request keep its response for scripts before others.
func (j *reader) keepLast() {
	if !j.asksLast {
		return
	}
	for _, q := range j.Plan.Requests() {
		if q.Part {
			continue // of a page and what it names scripts see the page
		}
		name := j.nameOf(q)
		keeps(q, true, func(a *expr.Response) { *userState[*snapshot](a.Scope.User, lastKey{}) = snapshotOf(a, name(a.Scope)) })
	}
}

// obey does what the script has asked of its user, after the time that it slept; false: the
// user's flow ends here.
func (l *scriptRun) obey(ctx context.Context, u plan.User) bool {
	if l.wait > 0 && !u.PauseUntil(ctx, u.Now().Add(l.wait)) {
		return false
	}
	if l.clears {
		u.ClearCookies()
	}
	switch {
	case l.stop == "thread":
		u.Stop()
	case l.stop != "":
		u.StopAll(l.stop == "now")
		u.Stop()
	case l.loop:
		return false // the user's own, whatever loops are around
	}
	return l.stop == ""
}

// left is what scripts behind a response ask of the user, until its next step.
type left struct{ scriptRun }

// leave keeps what is asked for the step behind the request.
func (l *scriptRun) leave(u expr.User, q *plan.Request) {
	kept := userState[left](u, q)
	kept.wait += l.wait
	kept.clears = kept.clears || l.clears
	kept.loop = kept.loop || l.loop
	if l.stop != "" {
		kept.stop = l.stop
	}
}

// behind is the step that does what scripts behind a response have asked for.
func behind(q *plan.Request) plan.Step {
	return plan.Step{Action: &action{act: func(ctx context.Context, u plan.User) bool {
		kept := userState[left](u, q)
		now := kept.scriptRun
		*kept = left{}
		return now.obey(ctx, u)
	}}}
}

// objectKey is where a user's objects are kept that are no texts.
type objectKey struct{}

// object is a value of the engine, and the text that it had as a variable.
type object struct {
	value script.Value
	text  string
}

func optional(text string, ok bool) any {
	if !ok {
		return nil
	}
	return text
}

// globals are what JMeter binds: vars, props, log, ctx, prev and the like; and what
// the library of translated scripts calls.
func (p *program) globals(s *expr.Scope, l *scriptRun) map[string]any {
	given := p.given(s, l)
	if p.language == javascript {
		out := map[string]any{}
		for name, v := range given {
			out[name] = callable(v)
		}
		if vars, ok := out["vars"].(map[string]any); ok {
			put := vars["putObject"].(func(string, any, script.Value))
			vars["putObject"] = func(name string, v script.Value) { put(name, v.String(), v) }
		}
		out["println"], out["print"] = p.say, p.say
		return out
	}
	var kept script.Value
	keep := func(v script.Value) {
		if p.keeps && s.User != nil {
			userState[object](s.User, keptKey{p}).value = v
		}
	}
	if p.keeps && s.User != nil {
		kept = userState[object](s.User, keptKey{p}).value
	}
	return map[string]any{
		"whittleGiven": given, "whittleKept": kept, "whittleKeep": keep, "$host": p.host(s, l),
		"whittleAt": func(line int) { l.line = line },
		"whittleEnd": func(failed bool, code, message, success any) {
			l.failure = l.failure || failed
			if l.sample != nil && p.language == beanshell {
				l.sample.code, l.sample.message, l.sample.ok = fmt.Sprint(code), fmt.Sprint(message), strings.EqualFold(fmt.Sprint(success), "true")
			}
		},
	}
}

// callable is an object whose methods that give objects can be called from JavaScript.
func callable(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for name, v := range object {
		if inner, ok := v.(map[string]any); ok {
			out[name] = func() any { return callable(inner) }
		} else {
			out[name] = v
		}
	}
	return out
}

// keptKey is where the variables of a script stay for its next run.
type keptKey struct{ of *program }

func (p *program) say(line string) { p.Plan.Console.Print(line) }

// given are the objects that a script sees.
func (p *program) given(s *expr.Scope, l *scriptRun) map[string]any {
	objects := map[string]object{}
	if s.User != nil {
		objects = *p.objects(s.User)
	}
	get := func(name string) any { text, ok := p.value(s, name); return optional(text, ok) }
	vars := map[string]any{
		"get": get, "put": func(name string, value any) {
			if value == nil {
				p.remove(s, name)
				return
			}
			p.assign(s, name, fmt.Sprint(value))
		},
		"remove": func(name string) any { before := get(name); p.remove(s, name); delete(objects, name); return before },
		"getObject": func(name string) any {
			text, ok := p.value(s, name)
			if o, has := objects[name]; has && o.text == text {
				return o.value
			}
			return optional(text, ok)
		},
		"putObject": func(name string, value any, is script.Value) {
			text := fmt.Sprint(value)
			p.assign(s, name, text)
			if len(objects) < maxObjects {
				objects[name] = object{is, text}
			}
		},
		"getIteration": func() int64 { return loopOf(s) + 1 }, "getThreadName": func() string { return threadName(s) },
	}
	props := map[string]any{
		"get": func(name string) any { text, ok := p.propertyValue(s, name); return optional(text, ok) },
		"put": func(name string, value any) any { return p.setProperty(s, name, fmt.Sprint(value)) },
	}
	props["getProperty"], props["setProperty"] = props["get"], props["put"]
	name := p.label
	if p.where.sampler != nil {
		name = p.where.sampler(s)
	}
	number := 0
	if s.User != nil {
		number = s.User.Number()
	}
	group := map[string]any{"getName": func() string { return groupNameOf(s) }}
	thread := map[string]any{"getThreadName": func() string { return threadName(s) }, "getThreadNum": func() int { return number }, "getThreadGroup": group}
	cookies := map[string]any{"clear": func() { l.clears = true }}
	sampler := map[string]any{"getName": func() string { return name }}
	if p.where.asks != nil {
		sampler["getCookieManager"] = cookies
		maps.Copy(sampler, p.where.asks.getters(s))
	}
	ctx := map[string]any{
		"getThreadNum": func() int { return number }, "getVariables": vars, "getProperties": props, "getThread": thread, "getThreadGroup": group, "getCurrentSampler": sampler,
		"setRestartNextLoop": func(v bool) { l.loop = v }, "setStartNextThreadLoop": func(v bool) { l.loop = v }, "getPreviousResult": func() any { return nil },
	}
	parameters := p.parameters.Text(s)
	args := make([]any, 0, 4)
	for _, a := range strings.Fields(parameters) {
		args = append(args, a)
	}
	quiet := func(...any) {}
	out := map[string]any{
		"vars": vars, "props": props, "ctx": ctx, "Label": p.label, "Parameters": parameters, "args": args, "sampler": sampler, "threadName": threadName(s), "FileName": "", "bshParams": args,
		"log": map[string]any{"info": p.say, "warn": p.say, "error": p.say, "debug": quiet, "trace": quiet}, "OUT": map[string]any{"println": p.say, "print": p.say, "printf": p.say},
		"SampleResult": l.result(&snapshot{label: name}),
	}
	if l.judges {
		out["AssertionResult"] = map[string]any{
			"setFailure": func(v bool) { l.failure = v }, "setError": func(v bool) { l.failure = l.failure || v }, "setFailureMessage": quiet,
			"isFailure": func() bool { return l.failure }, "getName": func() string { return p.label },
		}
		out["Failure"], out["FailureMessage"] = false, ""
	}
	if l.sample != nil {
		out["SampleResult"] = l.result(l.sample)
		out["ResponseCode"], out["ResponseMessage"], out["IsSuccess"] = l.sample.code, l.sample.message, true
	}
	now := l.previous
	if l.response != nil {
		now = snapshotOf(l.response, name)
	}
	if now != nil {
		prev := l.result(now)
		prev["getThreadName"] = func() string { return threadName(s) }
		out["prev"], out["data"] = prev, now.text
		ctx["getPreviousResult"] = prev
		if l.response != nil {
			out["SampleResult"], out["Response"] = prev, prev
			out["ResponseCode"], out["ResponseData"], out["ResponseHeaders"], out["ResponseMessage"] = now.code, now.text, now.head, now.message
			out["SampleLabel"], out["RequestHeaders"], out["SamplerData"] = name, now.request, now.sent
		}
	}
	if p.where.binds != nil {
		maps.DeleteFunc(out, func(name string, _ any) bool { return !p.where.binds[name] })
	}
	return out
}

// bindings are the variables that JMeter binds for an element or a function. Nil: it is not
// known.
func bindings(name string) map[string]bool {
	const every = "vars props ctx log prev Label FileName Parameters "
	more := map[string]string{
		"JSR223Sampler": "args OUT sampler SampleResult", "JSR223PreProcessor": "args OUT sampler", "JSR223PostProcessor": "args OUT sampler",
		"JSR223Assertion": "args OUT sampler SampleResult AssertionResult", "JSR223Timer": "args OUT sampler", "BeanShellTimer": "bshParams",
		"BeanShellPreProcessor": "bshParams sampler", "BeanShellPostProcessor": "bshParams data",
		"BeanShellSampler":   "bshParams SampleResult ResponseCode ResponseMessage IsSuccess",
		"BeanShellAssertion": "bshParams SampleResult Response ResponseData ResponseCode ResponseMessage ResponseHeaders RequestHeaders SampleLabel SamplerData Failure FailureMessage",
		"__groovy":           "OUT sampler threadName",
	}
	if more[name] == "" {
		return nil
	}
	out := map[string]bool{}
	for _, v := range strings.Fields(every + more[name]) {
		out[v] = true
	}
	return out
}

// asked is where an HTTP sampler sends, as scripts see it: as it is written, its variables
// being what they are then.
type asked struct {
	protocol, domain, port, path, method expr.Template
	query                                expr.Template // of a GET, out of its arguments
	of                                   *plan.Request
}

func (j *reader) asks(s *sample) *asked {
	text := func(name string) expr.Template {
		p := s.find(name)
		return j.compile(p.at, strings.TrimSpace(p.text), expr.AsText)
	}
	return &asked{protocol: text("HTTPSampler.protocol"), domain: text("HTTPSampler.domain"), port: text("HTTPSampler.port"), path: text("HTTPSampler.path"), method: text("HTTPSampler.method")}
}

// getters are what scripts ask of a sampler.
func (a *asked) getters(s *expr.Scope) map[string]any {
	text := func(t expr.Template) string { return t.Text(s) }
	protocol := func() string { return cmp.Or(text(a.protocol), "http") }
	specified := func() int {
		n, err := strconv.Atoi(strings.TrimSpace(text(a.port)))
		if err != nil {
			return 0
		}
		return n
	}
	port := func() int {
		switch {
		case specified() != 0:
			return specified()
		case strings.EqualFold(protocol(), "https"):
			return 443
		}
		return 80
	}
	path := func() string { return strings.ReplaceAll(text(a.path), " ", "%20") }
	return map[string]any{
		"getProtocol": protocol, "getDomain": func() string { return text(a.domain) }, "getPort": port, "getPortIfSpecified": specified, "getPath": path,
		"getMethod": func() string { return cmp.Or(text(a.method), "GET") },
		"getUrl": func() (string, error) {
			target, query := path(), text(a.query)
			if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
				return target, nil
			}
			host := text(a.domain)
			if host == "" {
				return "", whittle.Errorf(whittle.Invalid, "the sampler has no server, and so no URL as long as nothing is sent")
			}
			if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
				host = "[" + host + "]"
			}
			if n := port(); n != map[string]int{"http": 80, "https": 443}[strings.ToLower(protocol())] {
				host += ":" + strconv.Itoa(n)
			}
			if !strings.HasPrefix(target, "/") {
				target = "/" + target
			}
			switch {
			case query == "":
			case strings.Contains(target, "?"):
				query = "&" + query
			default:
				query = "?" + query
			}
			return protocol() + "://" + host + target + query, nil
		},
	}
}

// maxObjects bounds the objects that one user keeps.
const maxObjects = 1000

func (p *program) objects(u expr.User) *map[string]object {
	all := userState[map[string]object](u, objectKey{})
	if *all == nil {
		*all = map[string]object{}
	}
	return all
}

func groupNameOf(s *expr.Scope) string {
	if s.User == nil {
		return ""
	}
	return s.User.Group()
}

func loopOf(s *expr.Scope) int64 {
	if u, ok := s.User.(plan.User); ok {
		return u.Loop()
	}
	return 0
}

// threadName is JMeter's name of a user.
func threadName(s *expr.Scope) string {
	if s.User == nil {
		return ""
	}
	at := 0
	if u, ok := s.User.(plan.User); ok {
		at = u.GroupIndex()
	}
	return fmt.Sprintf("%s %d-%d", s.User.Group(), at+1, s.User.Number()+1)
}

// result is a sample as scripts see it, with what they may say of it.
func (l *scriptRun) result(a *snapshot) map[string]any {
	text := func(v string) func() string { return func() string { return v } }
	number := func(n int64) func() int64 { return func() int64 { return n } }
	quiet := func(...any) {}
	method, _, _ := strings.Cut(a.sent, " ")
	errors := func() int {
		if a.ok {
			return 0
		}
		return 1
	}
	out := map[string]any{
		"getResponseDataAsString": func() string { return a.text }, "getResponseData": func() string { return a.text }, "getResponseCode": func() string { return a.code },
		"getResponseMessage": func() string { return a.message },
		"getResponseHeaders": text(a.head), "getRequestHeaders": text(a.request), "getSamplerData": text(a.sent), "getQueryString": text(a.body), "getContentType": text(a.kind), "getDataType": text(dataType(a.kind)), "getSubResults": func() []any { return partResults(a) }, "getHTTPMethod": text(method),
		"getUrlAsString": text(a.url), "getURL": func() any { return optional(a.url, a.url != "") }, "getSampleLabel": func() string { return a.label }, "getTime": number(a.elapsed.Milliseconds()), "getStartTime": number(a.ended.UnixMilli() - a.elapsed.Milliseconds()), "getTimeStamp": number(a.ended.UnixMilli() - a.elapsed.Milliseconds()), "getEndTime": number(a.ended.UnixMilli()), "getLatency": number(a.elapsed.Milliseconds()),
		"getBytesAsLong": number(int64(a.size)), "getBodySizeAsLong": number(int64(len(a.text))), "getBytes": func() int { return a.size }, "getErrorCount": errors,
		"isSuccessful": func() bool { return a.ok }, "isResponseCodeOK": func() bool { return a.code == "200" },
		"setStopThread": func(v bool) { l.stop = when(v, "thread") }, "setStopTest": func(v bool) { l.stop = when(v, "test") },
		"setStopTestNow": func(v bool) { l.stop = when(v, "now") }, "setStartNextThreadLoop": func(v bool) { l.loop = v },
	}
	for _, name := range []string{"setRequestHeaders", "setDataType", "setDataEncoding", "setContentType", "sampleStart", "sampleEnd"} {
		out[name] = quiet
	}
	maps.Copy(out, l.setters(a))
	return out
}

// partResults are the parts of a sample as scripts see them. What they say of one changes
// that one alone.
func partResults(a *snapshot) []any {
	out := []any{}
	for _, part := range a.parts {
		seen := new(scriptRun).result(part)
		seen["getThreadName"] = func() string { return part.thread }
		out = append(out, seen)
	}
	return out
}

// setters are what a script may say of a sample: of the one that it makes, of the response
// that it looks at, so that those behind it see that, or of the one before.
func (l *scriptRun) setters(a *snapshot) map[string]any {
	seen := l.response
	if seen == nil {
		seen = &expr.Response{} // nothing else looks at it
	}
	code := func(v any) { a.code = fmt.Sprint(v); seen.Code = new(a.code) }
	message := func(v any) { a.message = fmt.Sprint(v); seen.Message = new(a.message) }
	succeeds := func(v bool) {
		a.ok, seen.Verdict = v, expr.Failed
		if v {
			seen.Verdict = expr.Succeeded
		}
	}
	return map[string]any{
		"setResponseCode": code, "setResponseMessage": message, "setSuccessful": succeeds, "setIgnore": func() { a.ignored = true },
		"setSampleLabel":  func(v any) { a.label = fmt.Sprint(v); seen.Label = a.label },
		"setResponseData": func(v any) { a.text = fmt.Sprint(v); seen.Rewrite(a.text) },
		"setSamplerData":  func(v any) { a.sent = fmt.Sprint(v) }, "setResponseHeaders": func(v any) { a.head = fmt.Sprint(v) },
		"setResponseCodeOK": func() { code("200") }, "setResponseMessageOK": func() { message("OK") },
		"setResponseOK": func() { code("200"); message("OK"); succeeds(true) },
	}
}

// dataType is what JMeter takes a response for, by its type.
func dataType(kind string) string {
	if binaryType.MatchString(kind) {
		return "bin"
	}
	return "text"
}

var binaryType = regexp.MustCompile(`^(image|audio|video)/|^application/(octet-stream|pdf|zip|gzip)\b`)

func when(v bool, text string) string {
	if v {
		return text
	}
	return ""
}

// host is what the library calls for what only the run has.
func (p *program) host(s *expr.Scope, l *scriptRun) map[string]any {
	unhex := func(text string) []byte { b, _ := hex.DecodeString(text); return b }
	return map[string]any{
		"log": p.say, "now": func() int64 { return clock(s).UnixMilli() }, "uuid": func() string { return expr.UUID(s.RNG) }, "random": func() float64 { return s.RNG.Float64() },
		"env":   func(name string) any { v := p.Source.Env(name); return optional(v, v != "") },
		"sleep": func(ms float64) { l.wait += time.Duration(min(max(ms, 0), maxSleep) * float64(time.Millisecond)) }, "threadName": func() string { return threadName(s) },
		"property":    func(name string) any { text, ok := p.propertyValue(s, name); return optional(text, ok) },
		"setProperty": func(name, text string) { p.setProperty(s, name, text) },
		"date": func(pattern string, ms int64, utc bool) any {
			write, ok := Dated(pattern)
			if !ok {
				return nil
			}
			return write(time.UnixMilli(ms).In(zone(utc)))
		},
		"parseDate": func(pattern, text string, utc bool) any {
			layout, ok := Layout(pattern)
			at, err := time.ParseInLocation(layout, text, zone(utc))
			if !ok || err != nil {
				return nil
			}
			return at.UnixMilli()
		},
		"base64": func(data string, url bool) string {
			if url {
				return base64.URLEncoding.EncodeToString(unhex(data))
			}
			return base64.StdEncoding.EncodeToString(unhex(data))
		},
		"unbase64": func(text string) any {
			text = strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "").Replace(strings.TrimRight(text, "="))
			b, err := base64.RawStdEncoding.DecodeString(text)
			return optional(hex.EncodeToString(b), err == nil)
		},
		"hash": func(name, data string) any {
			sum := digestOf(name, string(unhex(data)))
			return optional(sum, sum != "")
		},
		"hmac": func(name, key, data string) any {
			sum, ok := hashes[strings.NewReplacer("HMACSHA", "SHA-", "HMAC", "").Replace(strings.ToUpper(name))]
			if !ok {
				return nil
			}
			h := hmac.New(sum, unhex(key))
			h.Write(unhex(data))
			return hex.EncodeToString(h.Sum(nil))
		},
		"folder": func() string { return p.folder() }, "planName": func() string { return filepath.Base(p.Plan.Name) },
		"file":   func(name string) any { return optional(p.fileDuringRun(name)) },
		"isFile": func(name string) bool { _, ok := p.fileDuringRun(name); return ok },
	}
}

// maxSleep bounds how long one run of a script sleeps, in milliseconds.
const maxSleep = 24 * 60 * 60 * 1000

// folder is the plan's, as JMeter gives it.
func (p *program) folder() string {
	if at, err := filepath.Abs(p.Source.Folder); err == nil {
		return at
	}
	return p.Source.Folder
}

// zone is that of dates which a script asks for in UTC, or in the machine's.
func zone(utc bool) *time.Location {
	if utc {
		return time.UTC
	}
	return time.Local
}
