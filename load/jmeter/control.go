package jmeter

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// block reads what is below a thread group or a controller.
func (j *reader) block(parent *element, env elementScope) []plan.Step {
	env = env.extended(j, parent.below)
	var steps, flow []plan.Step
	for _, e := range parent.below {
		// A data set or a counter goes on with each loop of the controller
		// around it, before anything in it is sent.
		if ahead := j.perLoopAction(e); ahead != nil {
			steps = append(steps, plan.Step{Action: ahead})
			continue
		}
		flow = append(flow, j.child(e, env)...)
	}
	if c := env.cookies; c != nil && strings.HasSuffix(parent.name, "ThreadGroup") && c.is("CookieManager.clearEachIteration") {
		steps = append(steps, plan.Step{Action: clearCookies{}})
	}
	return append(steps, flow...)
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
	case "GenericController", "RecordingController":
		j.refuseOthers(e)
		return j.block(e, env)
	case "TransactionController":
		// Timers within count in a transaction's own time, of which whittle has
		// no figure: includeTimers changes nothing.
		j.refuseOthers(e, "TransactionController.parent", "TransactionController.includeTimers")
		env.prefix += e.label + " / "
		return j.block(e, env)
	case "LoopController":
		return j.loopController(e, env)
	case "OnceOnlyController":
		j.refuseOthers(e)
		return []plan.Step{{Action: &onceOnly{j.block(e, env)}}}
	case "IfController":
		return j.ifController(e, env)
	case "WhileController":
		return j.whileController(e, env)
	}
	panic(j.refuse(e))
}

// flowAction reads a pause.
func (j *reader) flowAction(e *element, env elementScope) []plan.Step {
	const pause = "1"
	j.refuseOthers(e, "ActionProcessor.action", "ActionProcessor.target", "ActionProcessor.duration")
	if kind := j.fixed(e.tag, "ActionProcessor.action"); kind != "" && kind != pause {
		panic(e.at.Errorf(whittle.Unsupported, "%s is not supported: of flow control actions, only a pause is", e.title()))
	}
	env = env.extended(j, e.below)
	at := e.where("ActionProcessor.duration")
	length := j.compile(at, e.value("ActionProcessor.duration"), expr.AsText)
	own := timer{delay: length, draw: timerDelays["ConstantTimer"]}
	return timerSteps(append(env.timers[:len(env.timers):len(env.timers)], own))
}

// timerSteps makes the steps of timers: delays add up, pacing comes after them.
func timerSteps(waits []timer) []plan.Step {
	var sum delays
	var out []plan.Step
	for _, w := range waits {
		if w.pacing == nil {
			sum.timers = append(sum.timers, w)
		}
	}
	if len(sum.timers) > 0 {
		out = append(out, plan.Step{Action: &sum})
	}
	for _, w := range waits {
		if w.pacing != nil {
			out = append(out, plan.Step{Action: w.pacing})
		}
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
}

func (r *repeat) Inner() []plan.Step { return r.steps }

func (r *repeat) Act(ctx context.Context, u plan.User) bool {
	n := int64(math.MaxInt64)
	if r.while == nil {
		if n = renderInt(r.times, u.Scope()); n < 0 {
			n = math.MaxInt64
		}
	}
	for i := range n {
		before := u.RequestsSent()
		if r.while != nil && !r.while(u, i == 0) {
			return true
		}
		if !u.RunSteps(ctx, r.steps) {
			return false
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
	times := j.compile(at, strings.TrimSpace(e.value("LoopController.loops")), expr.AsText)
	if text, ok := times.Constant(); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < -1 || n > plan.MaxLoops {
			panic(at.Invalid("%s: %q is not a number of loops", e.title(), text))
		}
	}
	return []plan.Step{{Action: &repeat{steps: j.block(e, env), times: times}}}
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
		return !strings.EqualFold(strings.TrimSpace(string(t.Render(nil, u.Scope()))), "false")
	}
	return []plan.Step{{Action: r}}
}

// branch runs its steps if a condition holds.
type branch struct {
	steps []plan.Step
	holds func(s *expr.Scope) bool
}

func (b *branch) Inner() []plan.Step { return b.steps }

func (b *branch) Act(ctx context.Context, u plan.User) bool {
	return !b.holds(u.Scope()) || u.RunSteps(ctx, b.steps)
}

func (j *reader) ifController(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "IfController.condition", "IfController.useExpression")
	b := &branch{steps: j.block(e, env)}
	at, text := e.where("IfController.condition"), e.value("IfController.condition")
	if !e.is("IfController.useExpression") {
		holds, _ := j.condition(at, text)
		b.holds = func(s *expr.Scope) bool { return holds(&expr.Evaluation{Scope: s}).Truth() }
		return []plan.Step{{Action: b}}
	}
	t := j.compile(at, text, expr.AsText)
	b.holds = func(s *expr.Scope) bool {
		return strings.EqualFold(strings.TrimSpace(string(t.Render(nil, s))), "true")
	}
	return []plan.Step{{Action: b}}
}

// onceOnly runs its steps in each user's first loop only.
type onceOnly struct{ steps []plan.Step }

func (o *onceOnly) Inner() []plan.Step { return o.steps }

func (o *onceOnly) Act(ctx context.Context, u plan.User) bool {
	return countForUser(u, o) > 1 || u.RunSteps(ctx, o.steps)
}

// clearCookies forgets a user's cookies.
type clearCookies struct{}

func (clearCookies) Inner() []plan.Step { return nil }

func (clearCookies) Act(_ context.Context, u plan.User) bool {
	u.ClearCookies()
	return true
}
