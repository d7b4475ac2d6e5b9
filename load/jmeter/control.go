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
		steps = append(steps, cacheSteps(env.cache, parent)...)
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
	"JSR223Sampler": true, "BeanShellSampler": true, "BSFSampler": true, "DebugSampler": true, "TestAction": true, dummySampler: true,
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
	case "JSR223Sampler", "BeanShellSampler", "BSFSampler":
		return j.scriptSampler(e, env)
	case dummySampler:
		return j.dummy(e, env)
	case "DebugSampler":
		return j.debug(e, env)
	case "GenericController", "RecordingController":
		j.refuseOthers(e)
		return j.block(e, env)
	case "ModuleController", "IncludeController":
		return j.block(e, env)
	case "TransactionController":
		// Timers within count in a transaction's own time, of which whittle has
		// no figure: includeTimers changes nothing.
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
	case "InterleaveControl":
		return j.interleave(e, env)
	case "RandomController":
		return j.random(e, env)
	case "RandomOrderController":
		return j.randomOrder(e, env)
	case "SwitchController":
		return j.switchController(e, env)
	case "ThroughputController":
		return j.throughputController(e, env)
	case "RunTime":
		return j.runTime(e, env)
	case "CriticalSectionController":
		return j.section(e, env)
	}
	panic(j.refuse(e))
}

// flowAction reads a flow control action: a pause, or an end of the user's steps.
func (j *reader) flowAction(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "ActionProcessor.action", "ActionProcessor.target", "ActionProcessor.duration")
	env = env.extended(j, e.below)
	ahead, _ := j.belowSampler(e, env)
	ahead = append(j.begin(e, env), ahead...)
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
	inner  []plan.Step
	act    func(ctx context.Context, u plan.User) (goesOn bool)
	sample bool // it makes a sample
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
	// once says that a user runs the loop one time only, also where what is around it is
	// repeated: the controller does not continue for ever.
	once  bool
	index *roundIndex
}

// roundIndex is the variable in which a controller has the number of its round, from 0.
type roundIndex struct{ slot int }

// indexName is its name. A group's loop is called like the group where it has a name, and
// else nothing.
func indexName(e *element) string {
	name := e.label
	if main := e.prop("ThreadGroup.main_controller"); main != nil {
		if _, named := main.attributes["testname"]; !named {
			name = ""
		}
	}
	return "__jm__" + name + "__idx"
}

// roundIndex is that of a controller; nil: the plan does not look at it.
func (j *reader) roundIndex(e *element) *roundIndex {
	if !j.indexes {
		return nil
	}
	return &roundIndex{j.Define(indexName(e))}
}

func (r *roundIndex) set(s *expr.Scope, n int64) {
	if r != nil {
		s.Values[r.slot] = expr.TextValue(strconv.FormatInt(n, 10))
	}
}

func (r *repeat) Inner() []plan.Step { return r.steps }

func (r *repeat) Act(ctx context.Context, u plan.User) bool {
	n := int64(math.MaxInt64)
	r.index.set(u.Scope(), 0)
	if r.once && countForUser(u, &r.once) > 1 {
		return true
	}
	if r.while == nil {
		if n = renderInt(r.times, u.Scope()); n < 0 {
			n = math.MaxInt64
		}
	}
	at, index := userState[int64](u, r), int64(0)
	for i := int64(0); i < n; i++ {
		*at = i
		r.index.set(u.Scope(), i)
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
		if left == nextRound && i == n-1 {
			index = n // JMeter has begun a round more, and does not run it
		}
		// A loop that sends nothing would otherwise keep a core busy.
		if u.TimeUp() || u.RequestsSent() == before && !u.PauseUntil(ctx, u.Now().Add(idleRound)) {
			return false
		}
	}
	r.index.set(u.Scope(), index)
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
	r := &repeat{times: times, index: j.roundIndex(e), once: e.value("LoopController.continue_forever") == "false"}
	j.loop = r
	r.steps = j.block(e, env)
	return []plan.Step{{Action: r}}
}

// whileController repeats until its condition is "false" or, where that is
// empty or LAST, until a sampler has failed.
func (j *reader) whileController(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "WhileController.condition")
	r := &repeat{index: j.roundIndex(e), steps: j.block(e, env)}
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
	var holds func(*expr.Scope) bool
	fails := &cut{func(u plan.User) bool { return !holds(u.Scope()) }}
	each := e.is("IfController.evaluateAll") // it asks before each sampler
	if each {
		env.cuts = append(slices.Clip(env.cuts), fails)
	}
	steps := j.block(e, env)
	at, text := e.where("IfController.condition"), e.value("IfController.condition")
	if e.is("IfController.useExpression") {
		t := j.compile(at, text, expr.AsText)
		holds = func(s *expr.Scope) bool {
			return strings.EqualFold(strings.TrimSpace(t.Text(s)), "true")
		}
	} else {
		holds = j.holds(at, e.title(), text)
	}
	if !each {
		return branch(steps, holds)
	}
	return runs(steps, func(ctx context.Context, u plan.User) bool { return u.RunSteps(ctx, steps) || fails.made(u) })
}

// rhinoAlone is what JMeter's engine reads that the language has not: XML, and lists of let
// and each.
var rhinoAlone = regexp.MustCompile(`<\s*[\w>/!?{]|@|::|\.\.|\b(each|let|function)\b`)

// holds compiles a condition in JavaScript: as one of expressions where it is no more, else
// for the engine. One that is no JavaScript does not hold, as in JMeter.
func (j *reader) holds(at plan.Position, title, text string) (holds func(*expr.Scope) bool) {
	source := j.compile(at, text, expr.AsText)
	known, fixed := source.Constant()
	if !fixed {
		known = j.standIn(text, false)
	}
	if script.Broken(known) && !rhinoAlone.MatchString(known) {
		if fixed {
			j.note(fmt.Sprintf("line %d: %s never holds, as in JMeter: its condition is no JavaScript: %s", at.Line, title, text))
			return func(*expr.Scope) bool { return false }
		}
		j.note(fmt.Sprintf("line %d: %s does not hold where its variables make no JavaScript of its condition, as in JMeter: %s", at.Line, title, text))
		return j.holdsByEngine(j.scriptOf(at, title, "javascript", source))
	}
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); !ok || whittle.CodeOf(err) != whittle.Unsupported {
				panic(p)
			}
			holds = j.holdsByEngine(j.compileScript(at, title, "javascript", source, text, stands{}))
		}
	}()
	condition, operands := j.conditionOf(at, text)
	if !ofComparisons(text) {
		return j.holdsByEngine(j.compileScript(at, title, "javascript", source, text, stands{}))
	}
	byEngine := j.holdsByEngine(j.scriptOf(at, title, "javascript", source))
	return func(s *expr.Scope) bool {
		for _, o := range operands {
			if !o.plain(s) {
				return byEngine(s)
			}
		}
		v := condition(&expr.Evaluation{Scope: s})
		return v.Kind == expr.KindBool && v.Num != 0 || v.Kind == expr.KindString && v.Text == "true"
	}
}

var (
	quotedText    = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	joined        = regexp.MustCompile(`&&|\|\|`)
	compared      = regexp.MustCompile(`[=!]=|[<>]`)
	plainOperands = regexp.MustCompile(`^(true|false|(0|[1-9]\d*)(\.\d+)?)$`)
)

// ofComparisons reports whether what && and || join in a condition are comparisons: only
// of those do they make true and false.
func ofComparisons(text string) bool {
	parts := joined.Split(quotedText.ReplaceAllString(text, "''"), -1)
	return len(parts) == 1 || !slices.ContainsFunc(parts, func(part string) bool { return !compared.MatchString(part) })
}

// plain reports whether an operand is one text or one number in the condition's text, too,
// in which JMeter writes it: quotes in it would end it, and a word would be a name.
func (o operand) plain(s *expr.Scope) bool {
	text := o.value.Text(s)
	if o.quoted {
		return !strings.ContainsAny(text, "\"'\\\r\n\u2028\u2029")
	}
	return plainOperands.MatchString(text)
}

// holdsByEngine is a condition that the engine evaluates, of the text that a user has.
func (j *reader) holdsByEngine(p *program) func(*expr.Scope) bool {
	j.engine()
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
