package load

import (
	"context"
	"math"
	"strconv"
	"strings"

	"whittle"
)

// block reads what is below a thread group or a controller.
func (j *jmxReader) block(parent *element, env surroundings) ([]step, error) {
	env, err := env.with(j, parent.below)
	if err != nil {
		return nil, err
	}
	var steps, flow []step
	for _, e := range parent.below {
		// A data set or a counter goes on with each loop of the controller
		// around it, before anything in it is sent.
		ahead, err := j.prelude(e)
		if err != nil {
			return nil, err
		}
		if ahead != nil {
			steps = append(steps, step{action: ahead})
			continue
		}
		s, err := j.child(e, env)
		if err != nil {
			return nil, err
		}
		flow = append(flow, s...)
	}
	if c := env.cookies; c != nil && strings.HasSuffix(parent.name, "ThreadGroup") && c.is("CookieManager.clearEachIteration") {
		steps = append(steps, step{action: clearCookies{}})
	}
	return append(steps, flow...), nil
}

// child reads a sampler or a controller.
func (j *jmxReader) child(e *element, env surroundings) ([]step, error) {
	if j.surrounds(e) {
		return nil, nil
	}
	switch e.name {
	case "HTTPSamplerProxy", "HTTPSampler", "HTTPSampler2":
		return j.sampler(e, env)
	case "TestAction":
		return j.flowAction(e, env)
	case "GenericController", "RecordingController":
		if err := j.only(e); err != nil {
			return nil, err
		}
		return j.block(e, env)
	case "TransactionController":
		// Timers within count in a transaction's own time, of which whittle has
		// no figure: includeTimers changes nothing.
		err := j.only(e, "TransactionController.parent", "TransactionController.includeTimers")
		env.prefix += e.label + " / "
		if err != nil {
			return nil, err
		}
		return j.block(e, env)
	case "LoopController":
		return j.loopController(e, env)
	case "OnceOnlyController":
		if err := j.only(e); err != nil {
			return nil, err
		}
		steps, err := j.block(e, env)
		return []step{{action: &onceOnly{steps}}}, err
	case "IfController":
		return j.ifController(e, env)
	case "WhileController":
		return j.whileController(e, env)
	}
	return nil, j.refuse(e)
}

// flowAction reads a pause.
func (j *jmxReader) flowAction(e *element, env surroundings) ([]step, error) {
	const pause = 1
	if err := j.only(e, "ActionProcessor.action", "ActionProcessor.target", "ActionProcessor.duration"); err != nil {
		return nil, err
	}
	if kind, err := j.whole(e.tag, "ActionProcessor.action", 0, 10, pause); err != nil || kind != pause {
		return nil, e.at.errorf(whittle.Unsupported, "%s is not supported: of flow control actions, only a pause is", e.title())
	}
	env, err := env.with(j, e.below)
	if err != nil {
		return nil, err
	}
	at := e.where("ActionProcessor.duration")
	length, err := j.compile(at, e.value("ActionProcessor.duration"), asText)
	if err != nil {
		return nil, err
	}
	own := wait{delay: length, draw: timers["ConstantTimer"]}
	return waiting(append(env.waits[:len(env.waits):len(env.waits)], own)), nil
}

// waiting makes the steps of timers: delays add up, pacing comes after them.
func waiting(waits []wait) []step {
	var sum delays
	var out []step
	for _, w := range waits {
		if w.paced == nil {
			sum.timers = append(sum.timers, w)
		}
	}
	if len(sum.timers) > 0 {
		out = append(out, step{action: &sum})
	}
	for _, w := range waits {
		if w.paced != nil {
			out = append(out, step{action: w.paced})
		}
	}
	return out
}

// repeat goes through its steps a number of times, or while a condition holds.
type repeat struct {
	steps []step
	times template // −1: without end
	// while decides in place of times where it is set; first says that the loop
	// is not yet begun.
	while func(w *worker, first bool) bool
}

func (r *repeat) inner() []step { return r.steps }

func (r *repeat) act(ctx context.Context, w *worker) bool {
	n := int64(math.MaxInt64)
	if r.while == nil {
		if n = wholeOf(r.times, &w.scope); n < 0 {
			n = math.MaxInt64
		}
	}
	for i := range n {
		before := w.member.asked
		if r.while != nil && !r.while(w, i == 0) {
			return true
		}
		if !w.steps(ctx, r.steps) {
			return false
		}
		// A loop that asks nothing would else keep a core busy.
		if w.timeUp() || w.member.asked == before && !w.rest(ctx, w.run.now().Add(idleLoop)) {
			return false
		}
	}
	return true
}

func (j *jmxReader) loopController(e *element, env surroundings) ([]step, error) {
	if err := j.only(e, "LoopController.loops", "LoopController.continue_forever"); err != nil {
		return nil, err
	}
	at := e.where("LoopController.loops")
	times, err := j.compile(at, strings.TrimSpace(e.value("LoopController.loops")), asText)
	if err != nil {
		return nil, err
	}
	if text, ok := times.constant(); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < -1 || n > maxLoops {
			return nil, at.invalid("%s: %q is not a number of loops", e.title(), text)
		}
	}
	steps, err := j.block(e, env)
	return []step{{action: &repeat{steps: steps, times: times}}}, err
}

// whileController repeats until its condition is "false" or, where that is
// empty or LAST, until a sampler has failed.
func (j *jmxReader) whileController(e *element, env surroundings) ([]step, error) {
	if err := j.only(e, "WhileController.condition"); err != nil {
		return nil, err
	}
	steps, err := j.block(e, env)
	if err != nil {
		return nil, err
	}
	r := &repeat{steps: steps}
	text := strings.TrimSpace(e.value("WhileController.condition"))
	if text == "" || text == "LAST" {
		r.while = func(w *worker, first bool) bool { return first && text == "" || !w.member.failed }
		return []step{{action: r}}, nil
	}
	t, err := j.compile(e.where("WhileController.condition"), text, asText)
	r.while = func(w *worker, _ bool) bool {
		return !strings.EqualFold(strings.TrimSpace(string(t.render(nil, &w.scope))), "false")
	}
	return []step{{action: r}}, err
}

// branch goes through its steps where a condition holds.
type branch struct {
	steps []step
	holds func(s *scope) bool
}

func (b *branch) inner() []step { return b.steps }

func (b *branch) act(ctx context.Context, w *worker) bool {
	return !b.holds(&w.scope) || w.steps(ctx, b.steps)
}

func (j *jmxReader) ifController(e *element, env surroundings) ([]step, error) {
	if err := j.only(e, "IfController.condition", "IfController.useExpression"); err != nil {
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
		b.holds = func(s *scope) bool { return holds(&evaluation{scope: s}).truth() }
		return []step{{action: b}}, err
	}
	t, err := j.compile(at, text, asText)
	b.holds = func(s *scope) bool { return strings.EqualFold(strings.TrimSpace(string(t.render(nil, s))), "true") }
	return []step{{action: b}}, err
}

// onceOnly goes through its steps in each user's first loop only.
type onceOnly struct{ steps []step }

func (o *onceOnly) inner() []step { return o.steps }

func (o *onceOnly) act(ctx context.Context, w *worker) bool {
	return w.member.count(o) > 1 || w.steps(ctx, o.steps)
}

// clearCookies forgets a user's cookies.
type clearCookies struct{}

func (clearCookies) inner() []step { return nil }

func (clearCookies) act(_ context.Context, w *worker) bool {
	w.jar = nil
	return true
}
