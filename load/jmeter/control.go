package jmeter

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/script"
)

// block reads what is below a thread group or a controller.
func (j *reader) block(parent *element, env elementScope) []plan.Step {
	env = env.extended(j, parent.below)
	env.loop = nil
	if parent.name == "LoopController" {
		env.loop = j.loop
	}
	var steps, flow []plan.Step
	for _, e := range parent.below {
		steps = append(steps, j.perLoop(e)...)
		if j.perLoopAction(e) == nil {
			flow = append(flow, j.child(e, env)...)
		}
	}
	slices.Reverse(steps) // JMeter notifies them in the reverse order
	if strings.HasSuffix(parent.name, "ThreadGroup") {
		// What the plan itself has goes on with each group's loops, after the group's own.
		var top []plan.Step
		for _, e := range j.top {
			top = append(top, j.perLoop(e)...)
		}
		slices.Reverse(top)
		steps = append(steps, top...)
		if c := env.cookies; c != nil && (c.is("CookieManager.clearEachIteration") && !c.is("CookieManager.controlledByThreadGroup") ||
			c.is("CookieManager.controlledByThreadGroup") && newEachLoop(parent)) {
			steps = append(steps, plan.Step{Action: does(func(u plan.User) bool { u.ClearCookies(); return true })})
		}
	}
	return append(steps, flow...)
}

// samplers are the samplers but for those of HTTP.
var samplers = map[string]bool{
	"JSR223Sampler": true, "BeanShellSampler": true, "DebugSampler": true, "TestAction": true,
}

// perLoop reads the data sets and counters that move on with each loop of the controller
// around an element, before anything in it is sent. Those below a sampler are among them.
func (j *reader) perLoop(e *element) (steps []plan.Step) {
	if a := j.perLoopAction(e); a != nil {
		steps = append(steps, plan.Step{Action: a})
	}
	if strings.HasPrefix(e.name, "HTTPSampler") || samplers[e.name] {
		for _, c := range e.below {
			steps = append(steps, j.perLoop(c)...)
		}
	}
	return steps
}

// child reads a sampler or a controller.
func (j *reader) child(e *element, env elementScope) []plan.Step {
	if j.readByScope(e) {
		return nil
	}
	switch e.name {
	case "HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2":
		return j.sampler(e, env)
	case "TestAction":
		return j.flowAction(e, env)
	case "JSR223Sampler", "BeanShellSampler":
		return j.scriptSampler(e, env)
	case "DebugSampler":
		return j.debug(e, env)
	case "GenericController", "RecordingController":
		j.refuseOthers(e)
		return j.block(e, env)
	case "ModuleController":
		return j.block(e, env)
	case "TransactionController":
		// Timers within count in a transaction's own time, which whittle does not
		// report: includeTimers changes nothing.
		j.refuseOthers(e, "TransactionController.parent", "TransactionController.includeTimers")
		env.prefix += e.label + " / "
		if e.is("TransactionController.parent") {
			return j.transaction(e, env)
		}
		return j.block(e, env)
	case "LoopController":
		return j.loopController(e, env)
	case "OnceOnlyController":
		j.refuseOthers(e)
		return onceOnly(e, j.block(e, env), env.loop)
	case "IfController":
		return j.ifController(e, env)
	case "WhileController":
		return j.whileController(e, env)
	case "ForeachController":
		return j.forEach(e, env)
	case "RandomController":
		return j.random(e, env)
	case "SwitchController":
		return j.switchController(e, env)
	case "ThroughputController":
		return j.throughputController(e, env)
	}
	panic(j.refuse(e))
}

// flowAction reads a flow control action: a pause, or an end of the user's steps.
func (j *reader) flowAction(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "ActionProcessor.action", "ActionProcessor.target", "ActionProcessor.duration")
	env = env.extended(j, e.below)
	ahead, _ := j.belowSampler(e, env)
	ends := map[string]func(plan.User) bool{"0": stopUser, "2": stopUser, "3": restart, "4": nextOfLoop, "5": breakLoop}
	if j.fixed(e.tag, "ActionProcessor.target") == "2" { // all users
		ends["0"], ends["2"] = stopTest, stopNow
	}
	kind := j.fixed(e.tag, "ActionProcessor.action")
	if end := ends[kind]; end != nil {
		return append(append(ahead, timerSteps(env.timers)...), plan.Step{Action: does(end)})
	}
	if kind != "" && kind != "1" {
		panic(e.where("ActionProcessor.action").Errorf(whittle.Unsupported, "%s: the action %s is not supported", e.title(), kind))
	}
	pause := timer{length: j.text(e, "ActionProcessor.duration"), draw: timerDelays["ConstantTimer"]}
	return append(ahead, timerSteps(append(slices.Clip(env.timers), pause))...)
}

// action is a step of JMeter's: what it does to a user, and the steps that it runs for
// that. One serves all users: what one of them keeps is in its state, by the element that
// the step is of.
type action struct {
	inner []plan.Step
	act   func(ctx context.Context, u plan.User) (goesOn bool)
}

// Inner are the steps that it runs.
func (a *action) Inner() []plan.Step { return a.inner }

// Act does it.
func (a *action) Act(ctx context.Context, u plan.User) bool { return a.act(ctx, u) }

// runs is a step that runs others.
func runs(inner []plan.Step, act func(context.Context, plan.User) bool) []plan.Step {
	return []plan.Step{{Action: &action{inner: inner, act: act}}}
}

// does is what does one thing to a user, at once.
func does(what func(u plan.User) (goesOn bool)) plan.Action {
	return &action{act: func(_ context.Context, u plan.User) bool { return what(u) }}
}

// timerSteps makes the steps of timers: delays add up, and what else users wait for comes
// after them.
func timerSteps(timers []timer) (out []plan.Step) {
	var delays []timer
	for _, t := range timers {
		if t.waits == nil {
			delays = append(delays, t)
		} else {
			out = append(out, plan.Step{Action: t.waits})
		}
	}
	if len(delays) > 0 {
		out = slices.Insert(out, 0, plan.Step{Action: delay(delays)})
	}
	return out
}

// idleRound is the least time of a round that sends no request.
const idleRound = 10 * time.Millisecond

// repeat runs its steps a number of times, or while a condition holds.
type repeat struct {
	steps []plan.Step
	times expr.Template // −1: without end
	// while decides in place of times where it is set; first says that the loop
	// is not yet begun.
	while func(u plan.User, first bool) bool
	// once says that a user runs the loop one time only, also where the loop around it is
	// repeated: the controller does not continue for ever.
	once bool
}

func (r *repeat) Inner() []plan.Step { return r.steps }

func (r *repeat) Act(ctx context.Context, u plan.User) bool {
	n := int64(math.MaxInt64)
	if r.once && countForUser(u, &r.once) > 1 {
		return true
	}
	if r.while == nil {
		if n = renderInt(r.times, u.Scope()); n < 0 {
			n = math.MaxInt64
		}
	}
	at := userState[int64](u, r)
	for i := int64(0); i < n; i++ {
		*at = i
		before := u.RequestsSent()
		if r.while != nil && !r.while(u, i == 0) {
			break
		}
		left, goesOn := runRound(ctx, u, r.steps)
		if !goesOn {
			return false
		}
		if left == breaks {
			break
		}
		// A loop that sends nothing would otherwise keep a core busy.
		if u.TimeUp() || u.RequestsSent() == before && !u.PauseUntil(ctx, u.Now().Add(idleRound)) {
			return false
		}
	}
	return true
}

func (j *reader) loopController(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "LoopController.loops", "LoopController.continue_forever")
	at := e.where("LoopController.loops")
	times := j.compile(at, e.value("LoopController.loops"), expr.AsText)
	if text, ok := times.Constant(); ok {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			j.note(fmt.Sprintf("line %d: %s runs nothing: %q is no number of loops, which JMeter reads as 0", at.Line, e.title(), text))
			times = expr.Template(nil).Literal("0")
		case n < -1 || n > plan.MaxLoops:
			panic(at.Invalid("%s: %q is not a number of loops", e.title(), text))
		}
	}
	r := &repeat{times: times, once: e.value("LoopController.continue_forever") == "false"}
	j.loop = r
	r.steps = j.block(e, env)
	return []plan.Step{{Action: r}}
}

// whileController repeats until its condition is "false" or, where that is
// empty or LAST, until a sampler has failed.
func (j *reader) whileController(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "WhileController.condition")
	r := &repeat{steps: j.block(e, env)}
	text := strings.TrimSpace(e.value("WhileController.condition"))
	if text == "" || text == "LAST" {
		r.while = func(u plan.User, first bool) bool { return first && text == "" || !u.Failed() }
		return []plan.Step{{Action: r}}
	}
	t := j.compile(e.where("WhileController.condition"), text, expr.AsText)
	r.while = func(u plan.User, _ bool) bool {
		return !strings.EqualFold(strings.TrimSpace(t.Text(u.Scope())), "false")
	}
	return []plan.Step{{Action: r}}
}

// branch runs steps if a condition holds.
func branch(steps []plan.Step, holds func(*expr.Scope) bool) []plan.Step {
	return runs(steps, func(ctx context.Context, u plan.User) bool { return !holds(u.Scope()) || u.RunSteps(ctx, steps) })
}

func (j *reader) ifController(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "IfController.condition", "IfController.useExpression", "IfController.evaluateAll")
	if e.is("IfController.evaluateAll") {
		panic(e.where("IfController.evaluateAll").Errorf(whittle.Unsupported, "%s: to evaluate the condition for all children is not supported: put an If Controller around each", e.title()))
	}
	steps := j.block(e, env)
	at, text := e.where("IfController.condition"), e.value("IfController.condition")
	if !e.is("IfController.useExpression") {
		return branch(steps, j.holds(at, e.title(), text))
	}
	t := j.compile(at, text, expr.AsText)
	return branch(steps, func(s *expr.Scope) bool { return strings.EqualFold(strings.TrimSpace(t.Text(s)), "true") })
}

// rhinoAlone is what JMeter's engine reads that the language has not: XML, and lists of let
// and each.
var rhinoAlone = regexp.MustCompile(`<\s*[\w>/!?{]|@|::|\.\.|\b(each|let|function)\b`)

// holds is a condition in JavaScript. One that is no JavaScript does not hold, as in JMeter.
func (j *reader) holds(at plan.Position, title, text string) func(*expr.Scope) bool {
	source := j.compile(at, text, expr.AsText)
	known, fixed := source.Constant()
	if !fixed {
		known = j.standIn(text, false)
	}
	switch {
	case !script.Broken(known):
	case rhinoAlone.MatchString(known):
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: its condition is of JMeter's own engine alone: %s", title, text))
	case fixed:
		j.note(fmt.Sprintf("line %d: %s never holds, as in JMeter: its condition is no JavaScript: %s", at.Line, title, text))
		return func(*expr.Scope) bool { return false }
	default:
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: its condition is JavaScript for some values of its variables alone: put quotes around texts: %s", title, text))
	}
	p := j.compileScript(at, title, "javascript", source, text, placement{})
	return func(s *expr.Scope) bool {
		v, err := p.run(s, &scriptRun{previous: lastOf(s.User)})
		return err == nil && fmt.Sprint(v) == "true"
	}
}

// onceOnly runs its steps in the first round only: of the loop controller right around
// it, else of each user's.
func onceOnly(e *element, steps []plan.Step, loop *repeat) []plan.Step {
	return runs(steps, func(ctx context.Context, u plan.User) bool {
		done := userState[bool](u, e)
		if loop != nil && *userState[int64](u, loop) == 0 {
			*done = false
		}
		*done = *done || u.RunSteps(ctx, steps) // who leaves it before its end comes again, as in JMeter
		return *done
	})
}
