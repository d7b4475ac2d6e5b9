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
func (j *reader) block(parent *element, env elementScope) ([]plan.Step, error) {
	env, err := env.extended(j, parent.below)
	if err != nil {
		return nil, err
	}
	var steps, flow []plan.Step
	for _, e := range parent.below {
		// A data set or a counter goes on with each loop of the controller
		// around it, before anything in it is sent.
		ahead, err := j.perLoopAction(e)
		if err != nil {
			return nil, err
		}
		if ahead != nil {
			steps = append(steps, plan.Step{Action: ahead})
			continue
		}
		s, err := j.child(e, env)
		if err != nil {
			return nil, err
		}
		flow = append(flow, s...)
	}
	if c := env.cookies; c != nil && strings.HasSuffix(parent.name, "ThreadGroup") && c.is("CookieManager.clearEachIteration") {
		steps = append(steps, plan.Step{Action: clearCookies{}})
	}
	return append(steps, flow...), nil
}

// child reads a sampler or a controller.
func (j *reader) child(e *element, env elementScope) ([]plan.Step, error) {
	if j.readByScope(e) {
		return nil, nil
	}
	switch e.name {
	case "HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2":
		return j.sampler(e, env)
	case "TestAction":
		return j.flowAction(e, env)
	case "GenericController", "RecordingController":
		if err := j.refuseOthers(e); err != nil {
			return nil, err
		}
		return j.block(e, env)
	case "TransactionController":
		// Timers within count in a transaction's own time, of which whittle has
		// no figure: includeTimers changes nothing.
		err := j.refuseOthers(e, "TransactionController.parent", "TransactionController.includeTimers")
		env.prefix += e.label + " / "
		if err != nil {
			return nil, err
		}
		return j.block(e, env)
	case "LoopController":
		return j.loopController(e, env)
	case "OnceOnlyController":
		if err := j.refuseOthers(e); err != nil {
			return nil, err
		}
		steps, err := j.block(e, env)
		return []plan.Step{{Action: &onceOnly{steps}}}, err
	case "IfController":
		return j.ifController(e, env)
	case "WhileController":
		return j.whileController(e, env)
	}
	return nil, j.refuse(e)
}

// flowAction reads a pause.
func (j *reader) flowAction(e *element, env elementScope) ([]plan.Step, error) {
	const pause = 1
	if err := j.refuseOthers(e, "ActionProcessor.action", "ActionProcessor.target", "ActionProcessor.duration"); err != nil {
		return nil, err
	}
	if kind, err := j.whole(e.tag, "ActionProcessor.action", 0, 10, pause); err != nil || kind != pause {
		return nil, e.at.Errorf(whittle.Unsupported, "%s is not supported: of flow control actions, only a pause is", e.title())
	}
	env, err := env.extended(j, e.below)
	if err != nil {
		return nil, err
	}
	at := e.where("ActionProcessor.duration")
	length, err := j.compile(at, e.value("ActionProcessor.duration"), expr.AsText)
	if err != nil {
		return nil, err
	}
	own := timer{delay: length, draw: timerDelays["ConstantTimer"]}
	return timerSteps(append(env.timers[:len(env.timers):len(env.timers)], own)), nil
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

func (j *reader) loopController(e *element, env elementScope) ([]plan.Step, error) {
	if err := j.refuseOthers(e, "LoopController.loops", "LoopController.continue_forever"); err != nil {
		return nil, err
	}
	at := e.where("LoopController.loops")
	times, err := j.compile(at, strings.TrimSpace(e.value("LoopController.loops")), expr.AsText)
	if err != nil {
		return nil, err
	}
	if text, ok := times.Constant(); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < -1 || n > plan.MaxLoops {
			return nil, at.Invalid("%s: %q is not a number of loops", e.title(), text)
		}
	}
	steps, err := j.block(e, env)
	return []plan.Step{{Action: &repeat{steps: steps, times: times}}}, err
}

// whileController repeats until its condition is "false" or, where that is
// empty or LAST, until a sampler has failed.
func (j *reader) whileController(e *element, env elementScope) ([]plan.Step, error) {
	if err := j.refuseOthers(e, "WhileController.condition"); err != nil {
		return nil, err
	}
	steps, err := j.block(e, env)
	if err != nil {
		return nil, err
	}
	r := &repeat{steps: steps}
	text := strings.TrimSpace(e.value("WhileController.condition"))
	if text == "" || text == "LAST" {
		r.while = func(u plan.User, first bool) bool { return first && text == "" || !u.Failed() }
		return []plan.Step{{Action: r}}, nil
	}
	t, err := j.compile(e.where("WhileController.condition"), text, expr.AsText)
	r.while = func(u plan.User, _ bool) bool {
		return !strings.EqualFold(strings.TrimSpace(string(t.Render(nil, u.Scope()))), "false")
	}
	return []plan.Step{{Action: r}}, err
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

func (j *reader) ifController(e *element, env elementScope) ([]plan.Step, error) {
	if err := j.refuseOthers(e, "IfController.condition", "IfController.useExpression"); err != nil {
		return nil, err
	}
	steps, err := j.block(e, env)
	if err != nil {
		return nil, err
	}
	at, text := e.where("IfController.condition"), e.value("IfController.condition")
	b := &branch{steps: steps}
	if !e.is("IfController.useExpression") {
		holds, _, err := j.condition(at, text)
		b.holds = func(s *expr.Scope) bool { return holds(&expr.Evaluation{Scope: s}).Truth() }
		return []plan.Step{{Action: b}}, err
	}
	t, err := j.compile(at, text, expr.AsText)
	b.holds = func(s *expr.Scope) bool {
		return strings.EqualFold(strings.TrimSpace(string(t.Render(nil, s))), "true")
	}
	return []plan.Step{{Action: b}}, err
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
