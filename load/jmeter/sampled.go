package jmeter

import (
	"cmp"
	"context"
	"slices"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/load/script"
	"whittle/load/snippet"
)

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
			now.text = j.allVariables(u.Scope())
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
	steps := slices.Concat(ahead, timerSteps(env.timers))
	sample := &action{act: func(ctx context.Context, u plan.User) bool {
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
		Verdict: expr.Failed, Label: now.label, Code: &now.code, Message: &now.message, URL: now.url, Body: []byte(now.text), Size: int64(len(now.text)),
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
	p := j.program(e, e.placement(nil))
	return j.sampledSteps(e, env, func(ctx context.Context, u plan.User, now *snapshot) (error, bool) {
		l := &scriptRun{previous: lastOf(u), sample: now}
		v, err := p.run(u.Scope(), l)
		switch {
		case err != nil:
			now.code, now.message, now.ok = "500", err.Error(), false
			if p.language == snippet.BeanShell {
				now.code = ""
			}
		case v != nil && (now.text == "" || p.language == snippet.BeanShell):
			now.text = script.Text(v)
		}
		return err, l.obey(ctx, u)
	})
}

// transaction runs its steps. JMeter makes one more sample of them, which fails with any of
// them, and which the assertions in its scope check. No user ends by it.
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
			Verdict: expr.Succeeded, Label: name(u.Scope()), Code: &code, Message: &message, Scope: u.Scope(), Elapsed: u.Now().Sub(began),
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
