package jmeter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// dummySampler is the plugin's sampler that sends nothing.
const dummySampler = "kg.apc.jmeter.samplers.DummySampler"

// sampled is a sample without a request, of a script or of the Dummy Sampler. What is in
// whose scope it stands looks at it as at a response.
type sampled struct {
	*reader
	title  string
	checks *plan.Request // what looks at it; nothing is sent of it
}

// debug reads a Debug Sampler: a sample whose text is the user's variables.
func (j *reader) debug(e *element, env elementScope) []plan.Step {
	const displays = "displayJMeterVariables"
	j.refuseOthers(e, displays, "displayJMeterProperties", "displaySystemProperties")
	j.noteOf(e, "sends nothing and is no request of the report, where JMeter counts it as a sample")
	shows := e.value(displays) != "false"
	return j.sampledSteps(e, env, func(_ context.Context, u plan.User, now *snapshot) (error, bool) {
		if shows {
			now.sent, now.text = "JMeterVariables\n", j.allVariables(u.Scope())
		}
		return nil, true
	})
}

// sampledSteps are the steps of a sample without a request. take makes the sample; false:
// the user's flow ends here.
func (j *reader) sampledSteps(e *element, env elementScope, take func(context.Context, plan.User, *snapshot) (error, bool)) []plan.Step {
	env = env.extended(j, e.below)
	ahead, after := j.belowSampler(e, env)
	s := &sampled{reader: j, title: e.title(), checks: &plan.Request{}}
	j.labels[s.checks] = j.compile(e.at, e.label, expr.AsText)
	j.addChecks(s.checks, env)
	if env.hasScripts() {
		after = append([]plan.Step{behind(s.checks)}, after...)
	}
	steps := slices.Concat(j.begin(e, env), ahead, timerSteps(env.timers))
	sample := &action{sample: true, act: func(ctx context.Context, u plan.User) bool {
		began := u.Now()
		now := &snapshot{code: "200", message: "OK", ok: true, label: s.nameOf(s.checks)(u.Scope())}
		failure, goes := take(ctx, u, now)
		if !goes && ctx.Err() != nil {
			return false
		}
		return s.look(u, now, u.Now().Sub(began), failure) && goes
	}}
	return append(append(steps, plan.Step{Action: sample}), after...)
}

// hasScripts reports whether a script looks at the samples in a scope.
func (s *elementScope) hasScripts() bool {
	return slices.ContainsFunc(slices.Concat(s.extracts, s.asserts, s.ahead), func(e *element) bool { return isScript(e.name) })
}

// look has a sample looked at that has taken so long, unless it says otherwise. False: the
// user's flow ends by it.
func (s *sampled) look(u plan.User, now *snapshot, took time.Duration, failure error) bool {
	if now.ignored {
		s.keep(u, now)
		return true
	}
	now.elapsed = cmp.Or(now.elapsed, took)
	a := &expr.Response{
		Sampled: true, Verdict: expr.Failed, Label: now.label, Code: &now.code, Message: &now.message, URL: now.url, Request: []byte(now.sent), Body: []byte(now.text), Size: int64(len(now.text)),
		Scope: u.Scope(), Elapsed: now.elapsed,
	}
	if now.ok {
		a.Verdict = expr.Succeeded
	}
	for i := range s.checks.Captures {
		s.checks.Captures[i].Extract(a)
	}
	*now = *snapshotOf(a, now.label)
	s.keep(u, now)
	if a.Unseen {
		return true
	}
	kind := ""
	switch {
	case failure != nil:
		kind = report.ErrorScript
	case !now.ok:
		kind, failure = report.ErrorExpectation, whittle.Errorf(whittle.Invalid, "%s: the sample failed, of which no request was sent", s.title)
	}
	return u.Sampled(kind, failure)
}

// keep makes the sample the user's last, where a script asks for that.
func (s *sampled) keep(u plan.User, now *snapshot) {
	if s.asksLast {
		*userState[*snapshot](u, lastKey{}) = now
	}
}

// scriptSampler reads a script that is a sampler.
func (j *reader) scriptSampler(e *element, env elementScope) []plan.Step {
	p := j.program(e, e.stands(nil, nil))
	return j.sampledSteps(e, env, func(ctx context.Context, u plan.User, now *snapshot) (error, bool) {
		l := &scriptRun{previous: lastOf(u), sample: now}
		v, err := p.run(u.Scope(), l)
		switch {
		case err != nil:
			now.code, now.message, now.ok = "500", err.Error(), false
			if p.language == beanshell {
				now.code = ""
			}
		case v != nil && (now.text == "" || p.language == beanshell):
			now.text = fmt.Sprint(v)
		}
		if now.ignored {
			l.stop = "" // as in JMeter, which looks no further at such a sample
		}
		return err, l.obey(ctx, u)
	})
}

// dummy reads a sampler that sends nothing: it takes its time, and is what it is said to be.
func (j *reader) dummy(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "WAITING", "SUCCESFULL", "RESPONSE_CODE", "RESPONSE_MESSAGE", "REQUEST_DATA", "RESPONSE_DATA", "RESPONSE_TIME", "LATENCY", "CONNECT", "URL", "RESULT_CLASS")
	j.noteOf(e, "sends nothing and is no request of the report, where JMeter counts it as a sample")
	text := func(name string) expr.Template { return j.text(e, name) }
	code, message, asked, data := text("RESPONSE_CODE"), text("RESPONSE_MESSAGE"), text("REQUEST_DATA"), text("RESPONSE_DATA")
	length, address, waits, ok := text("RESPONSE_TIME"), text("URL"), text("WAITING"), text("SUCCESFULL")
	return j.sampledSteps(e, env, func(ctx context.Context, u plan.User, now *snapshot) (error, bool) {
		of := func(t expr.Template) string { return t.Text(u.Scope()) }
		ms, err := strconv.ParseInt(of(length), 10, 32)
		if err != nil {
			ms = 0 // as the plugin reads it
		}
		now.elapsed = time.Duration(max(ms, 0)) * time.Millisecond
		if of(waits) == "true" && !u.PauseUntil(ctx, u.Now().Add(now.elapsed)) {
			return nil, false
		}
		now.code, now.message, now.sent, now.text = of(code), of(message), of(asked), of(data)
		now.url, now.ok = strings.TrimSpace(of(address)), of(ok) == "true"
		return nil, true
	})
}

// transaction runs its steps, of which JMeter makes one more sample: it fails with any of
// them, and is looked at by the assertions in its scope. Nobody ends by it.
func (j *reader) transaction(e *element, env elementScope) []plan.Step {
	// Where users begin the next loop after a failure, they end by an assertion on it: JMeter
	// does not find that loop.
	ends := j.onError == plan.NextLoop
	steps, checks := j.block(e, env), &plan.Request{}
	within := env.extended(j, e.below)
	j.labels[checks] = j.compile(e.at, e.label, expr.AsText)
	j.addChecks(checks, elementScope{asserts: within.asserts})
	name := j.nameOf(checks)
	return runs(steps, func(ctx context.Context, u plan.User) bool {
		before, began := u.Failures(), u.Now()
		if !u.RunSteps(ctx, steps) {
			return false
		}
		code, message := "200", ""
		a := &expr.Response{
			Sampled: true, Verdict: expr.Succeeded, Label: name(u.Scope()), Code: &code, Message: &message, Scope: u.Scope(), Elapsed: u.Now().Sub(began),
		}
		failed := u.Failures() > before
		if failed {
			a.Verdict = expr.Failed
		}
		for i := range checks.Captures {
			checks.Captures[i].Extract(a)
		}
		u.Concludes(a.Verdict == expr.Failed)
		if ends && !failed && u.Failed() {
			u.Stop()
			return false
		}
		return true
	})
}
