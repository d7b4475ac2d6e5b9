package jmeter

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

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
}

// snapshot is a response as scripts see it: prev.
type snapshot struct {
	code, message   string
	ok, ignored     bool
	label           string
	text, head, url string
	kind            string // of the response
	elapsed         time.Duration
	ended           time.Time
	size            int
}

func snapshotOf(a *expr.Response, label string) *snapshot {
	text, _ := a.BodyText()
	succeeded := a.Verdict == expr.Succeeded || a.Verdict == expr.Undecided && a.Status != 0 && a.Status < http.StatusBadRequest
	return &snapshot{
		label: cmp.Or(a.Label, label), code: codeText(a), message: messageText(a), ok: succeeded, text: text, head: headText(a), url: a.URL,
		kind: a.Header("content-type"), elapsed: a.Elapsed, size: len(a.Head) + int(a.Size), ended: clock(a.Scope),
	}
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
		name := j.nameOf(q)
		onAnyResponse(q, true, func(a *expr.Response) { *userState[*snapshot](a.Scope.User, lastKey{}) = snapshotOf(a, name(a.Scope)) })
	}
}

// obey does what the script has asked of its user, after the time that it slept; false: the
// user's flow ends here.
func (l *scriptRun) obey(ctx context.Context, u plan.User) bool {
	if l.wait > 0 && !u.PauseUntil(ctx, u.Now().Add(l.wait)) {
		return false
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

// leave keeps the orders of a script for the step behind the request.
func (l *scriptRun) leave(u expr.User, q *plan.Request) {
	kept := userState[left](u, q)
	kept.wait += l.wait
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

func optional(text string, ok bool) any {
	if !ok {
		return nil
	}
	return text
}

func (p *program) say(line string) { p.Plan.Console.Print(line) }

// given are the objects that a script sees: what JMeter binds.
func (p *program) given(s *expr.Scope, l *scriptRun) map[string]any {
	get := func(name string) any { text, ok := p.value(s, name); return optional(text, ok) }
	vars := map[string]any{
		"get": get, "put": func(name string, v script.Value) {
			if script.IsUndefined(v) || v.Export() == nil {
				p.remove(s, name)
				return
			}
			p.assign(s, name, v.String())
		},
		"remove":       func(name string) any { before := get(name); p.remove(s, name); return before },
		"getIteration": func() int64 { return loopOf(s) + 1 }, "getThreadName": func() string { return threadName(s) },
	}
	props := map[string]any{
		"get": func(name string) any { text, ok := p.propertyValue(s, name); return optional(text, ok) },
		"put": func(name string, v script.Value) any { return p.setProperty(s, name, v.String()) },
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
	is := func(v any) func() any { return func() any { return v } }
	group := map[string]any{"getName": is(groupNameOf(s))}
	thread := map[string]any{"getThreadName": is(threadName(s)), "getThreadNum": is(number), "getThreadGroup": is(group)}
	sampler := map[string]any{"getName": is(name)}
	now := l.previous
	if l.response != nil {
		now = snapshotOf(l.response, name)
	}
	var prev map[string]any
	if now != nil {
		prev = l.result(now)
		prev["getThreadName"] = is(threadName(s))
	}
	ctx := map[string]any{
		"getThreadNum": is(number), "getVariables": is(vars), "getProperties": is(props), "getThread": is(thread), "getThreadGroup": is(group), "getCurrentSampler": is(sampler),
		"setRestartNextLoop": func(v bool) { l.loop = v }, "getPreviousResult": is(nil),
	}
	parameters := p.parameters.Text(s)
	args := make([]any, 0, 4)
	for _, a := range strings.Fields(parameters) {
		args = append(args, a)
	}
	quiet := func(...any) {}
	out := map[string]any{
		"vars": vars, "props": props, "ctx": ctx, "Label": p.label, "Parameters": parameters, "args": args, "sampler": sampler, "threadName": threadName(s), "bshParams": args,
		"log": map[string]any{"info": p.say, "warn": p.say, "error": p.say, "debug": quiet, "trace": quiet}, "OUT": map[string]any{"println": p.say, "print": p.say},
		"SampleResult": l.result(&snapshot{label: name}),
	}
	if l.judges {
		out["AssertionResult"] = map[string]any{
			"setFailure": func(v bool) { l.failure = v }, "setError": func(v bool) { l.failure = l.failure || v }, "setFailureMessage": quiet,
			"isFailure": func() bool { return l.failure },
		}
		out["Failure"], out["FailureMessage"] = false, ""
	}
	if l.sample != nil {
		out["SampleResult"] = l.result(l.sample)
		out["ResponseCode"], out["ResponseMessage"], out["IsSuccess"] = l.sample.code, l.sample.message, true
	}
	if prev != nil {
		out["prev"], ctx["getPreviousResult"] = prev, is(prev)
		if l.response != nil {
			out["SampleResult"], out["Response"] = prev, prev
			out["ResponseCode"], out["ResponseData"], out["ResponseHeaders"], out["ResponseMessage"] = now.code, now.text, now.head, now.message
			out["SampleLabel"] = name
		}
	}
	maps.DeleteFunc(out, func(name string, _ any) bool { return !p.where.bound(name) })
	return out
}

// bindings are the variables that JMeter binds for an element or a function. Nil: it is not
// known.
func bindings(name string) map[string]bool {
	const every = "vars props ctx log prev Label FileName Parameters "
	more := map[string]string{
		"JSR223Sampler": "args OUT sampler SampleResult", "JSR223PreProcessor": "args OUT sampler", "JSR223PostProcessor": "args OUT sampler",
		"JSR223Assertion":       "args OUT sampler SampleResult AssertionResult",
		"BeanShellPreProcessor": "bshParams sampler", "BeanShellPostProcessor": "bshParams data",
		"BeanShellSampler":   "bshParams SampleResult ResponseCode ResponseMessage IsSuccess",
		"BeanShellAssertion": "bshParams SampleResult Response ResponseData ResponseCode ResponseMessage ResponseHeaders SampleLabel Failure FailureMessage",
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

// result is a sample as scripts see it, with what they may say of it: of the one that it
// makes, of the response that it looks at, so that those behind it see that, or of the one
// before.
func (l *scriptRun) result(a *snapshot) map[string]any {
	seen := l.response
	if seen == nil {
		seen = &expr.Response{} // nothing else looks at it
	}
	is := func(v any) func() any { return func() any { return v } }
	began := a.ended.UnixMilli() - a.elapsed.Milliseconds()
	code := func(v string) { a.code = v; seen.Code = new(a.code) }
	message := func(v string) { a.message = v; seen.Message = new(a.message) }
	succeeds := func(v bool) {
		a.ok, seen.Verdict = v, expr.Failed
		if v {
			seen.Verdict = expr.Succeeded
		}
	}
	return map[string]any{
		"getResponseDataAsString": func() string { return a.text }, "getResponseCode": func() string { return a.code }, "getResponseMessage": func() string { return a.message },
		"getResponseHeaders": is(a.head), "getContentType": is(a.kind), "getUrlAsString": is(a.url),
		"getSampleLabel": func() string { return a.label }, "getTime": is(a.elapsed.Milliseconds()), "getStartTime": is(began), "getEndTime": is(a.ended.UnixMilli()),
		"getBytesAsLong": is(a.size), "getBodySizeAsLong": func() int { return len(a.text) },
		"getErrorCount": func() int {
			if a.ok {
				return 0
			}
			return 1
		},
		"isSuccessful": func() bool { return a.ok }, "isResponseCodeOK": func() bool { return a.code == "200" },
		"setStopThread": func(v bool) { l.stop = when(v, "thread") }, "setStopTest": func(v bool) { l.stop = when(v, "test") },
		"setStopTestNow": func(v bool) { l.stop = when(v, "now") }, "setStartNextThreadLoop": func(v bool) { l.loop = v },
		"setResponseCode": code, "setResponseMessage": message, "setSuccessful": succeeds, "setIgnore": func() { a.ignored = true },
		"setSampleLabel": func(v string) { a.label = v; seen.Label = a.label }, "setResponseData": func(v string) { a.text = v; seen.Rewrite(a.text) },
		"setDataType":       func(string) {},
		"setResponseCodeOK": func() { code("200") }, "setResponseMessageOK": func() { message("OK") },
		"setResponseOK": func() { code("200"); message("OK"); succeeds(true) },
	}
}

func when(v bool, text string) string {
	if v {
		return text
	}
	return ""
}

// host is what the library calls for what only the run has.
func (p *program) host(s *expr.Scope, l *scriptRun) map[string]any {
	return map[string]any{
		"print": p.say, "now": func() int64 { return clock(s).UnixMilli() }, "uuid": func() string { return expr.UUID(s.RNG) }, "random": func() float64 { return s.RNG.Float64() },
		"env":   func(name string) any { v := p.Source.Env(name); return optional(v, v != "") },
		"sleep": func(ms float64) { l.wait += time.Duration(min(max(ms, 0), maxSleep) * float64(time.Millisecond)) },
		"matches": func(text, pattern string) (bool, error) {
			rx, err := expr.CompileAnyPattern(`^(?:`+pattern+`)$`, "")
			return err == nil && rx.MatchString(text), err
		},
	}
}

// maxSleep bounds how long one run of a script sleeps, in milliseconds.
const maxSleep = 24 * 60 * 60 * 1000
