package jmeter

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// child is what lies right below a controller: a sampler or a controller.
type child struct {
	name  expr.Template
	steps []plan.Step
	// pieces are the steps up to each of its samplers; one, where it is a sampler.
	pieces [][]plan.Step
}

// children reads what is below a controller that chooses from it. ahead is what goes on
// with each of its rounds.
func (j *reader) children(parent *element, env elementScope) (ahead []plan.Step, out []child) {
	env = env.extended(j, parent.below)
	env.loop = nil
	for _, e := range parent.below {
		ahead = append(ahead, j.perLoop(e)...)
		if j.perLoopAction(e) != nil {
			continue
		}
		steps := j.child(e, env)
		if steps == nil && e.name != "TestAction" && !strings.HasSuffix(e.name, "Controller") {
			continue
		}
		c := child{name: j.compile(e.at, e.label, expr.AsText), steps: steps}
		begin := 0
		for i := range steps {
			if _, ok := steps[i].Action.(*sampled); ok || steps[i].Request != nil {
				c.pieces = append(c.pieces, steps[begin:i+1])
				begin = i + 1
			}
		}
		if n := len(c.pieces); n > 0 && begin < len(steps) {
			c.pieces[n-1] = append(c.pieces[n-1][:len(c.pieces[n-1]):len(c.pieces[n-1])], steps[begin:]...)
		}
		out = append(out, c)
	}
	slices.Reverse(ahead) // JMeter tells the last of them first
	return ahead, out
}

func innerOf(children []child) (out []plan.Step) {
	for i := range children {
		out = append(out, children[i].steps...)
	}
	return out
}

// choice runs one of its children in each round, or all in an order of its own.
type choice struct {
	children []child
	inner    []plan.Step
	// next runs one round.
	next func(ctx context.Context, u plan.User, c *choice) bool
}

func (c *choice) Inner() []plan.Step { return c.inner }

func (c *choice) Act(ctx context.Context, u plan.User) bool {
	return len(c.children) == 0 || c.next(ctx, u, c)
}

func (j *reader) choice(e *element, env elementScope, next func(context.Context, plan.User, *choice) bool) []plan.Step {
	ahead, children := j.children(e, env)
	return append(ahead, plan.Step{Action: &choice{children: children, inner: innerOf(children), next: next}})
}

// interleaved is the child that comes next.
type interleaved struct{ at int }

// interleave runs the next child in each round: whole, or its next sampler alone.
func (j *reader) interleave(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "InterleaveControl.style", "InterleaveControl.accrossThreads")
	whole, shared := j.fixed(e.tag, "InterleaveControl.style") == "1", e.is("InterleaveControl.accrossThreads")
	if !whole {
		j.onlySimple(e)
	}
	return j.choice(e, env, func(ctx context.Context, u plan.User, c *choice) bool {
		state := userState[interleaved](u, c)
		if shared {
			state.at = int((countAll(u, c) - 1) % int64(len(c.children)))
		}
		i := state.at % len(c.children)
		state.at = i + 1
		own := &c.children[i]
		if whole || len(own.pieces) < 2 {
			return u.RunSteps(ctx, own.steps)
		}
		return u.RunSteps(ctx, own.pieces[(countForUser(u, own)-1)%int64(len(own.pieces))])
	})
}

// onlySimple refuses controllers below one that runs a sampler of them at a time,
// unless they run each of theirs once.
func (j *reader) onlySimple(e *element) {
	for _, c := range e.below {
		switch c.name {
		case "GenericController", "TransactionController", "RecordingController":
			if c.is("TransactionController.parent") {
				panic(c.at.Errorf(whittle.Unsupported, "%s, which makes a sample of its own, below %s is not supported, unless that ignores sub-controller blocks", c.title(), e.title()))
			}
			j.onlySimple(c)
		default:
			if strings.HasSuffix(c.name, "Controller") || c.name == "InterleaveControl" {
				panic(c.at.Errorf(whittle.Unsupported, "%s below %s is not supported, unless that ignores sub-controller blocks", c.title(), e.title()))
			}
		}
	}
}

// random runs a child at random in each round.
func (j *reader) random(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "InterleaveControl.style", "InterleaveControl.accrossThreads")
	whole := j.fixed(e.tag, "InterleaveControl.style") == "1"
	if !whole {
		j.onlySimple(e)
	}
	return j.choice(e, env, func(ctx context.Context, u plan.User, c *choice) bool {
		pick := &c.children[u.Scope().RNG.IntN(len(c.children))]
		if n := len(pick.pieces); n > 1 && !whole {
			at := countForUser(u, pick) - 1
			return u.RunSteps(ctx, pick.pieces[at%int64(n)])
		}
		return u.RunSteps(ctx, pick.steps)
	})
}

// randomOrder runs all its children, in another order in each round.
func (j *reader) randomOrder(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e)
	return j.choice(e, env, func(ctx context.Context, u plan.User, c *choice) bool {
		for _, i := range u.Scope().RNG.Perm(len(c.children)) {
			if !u.RunSteps(ctx, c.children[i].steps) {
				return false
			}
		}
		return true
	})
}

// switchController runs the child of a number, from 0, or of a name; where there is no
// such name, that of the name default; where there is no such number, the first.
func (j *reader) switchController(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "SwitchController.value")
	value := j.compile(e.where("SwitchController.value"), e.value("SwitchController.value"), expr.AsText)
	return j.choice(e, env, func(ctx context.Context, u plan.User, c *choice) bool {
		text := strings.TrimSpace(string(value.Render(nil, u.Scope())))
		n, err := strconv.Atoi(text)
		if text == "" {
			n, err = 0, nil
		}
		if err == nil {
			if n < 0 {
				return true
			}
			if n >= len(c.children) {
				n = 0
			}
			return u.RunSteps(ctx, c.children[n].steps)
		}
		other := -1
		for i := range c.children {
			switch name := string(c.children[i].name.Render(nil, u.Scope())); {
			case name == text:
				return u.RunSteps(ctx, c.children[i].steps)
			case strings.EqualFold(name, "default") && other < 0:
				other = i
			}
		}
		return other < 0 || u.RunSteps(ctx, c.children[other].steps)
	})
}

// throttle runs its steps in a part of the rounds, or in the first ones.
type throttle struct {
	steps   []plan.Step
	own     bool // each user counts for itself
	percent expr.Template
	total   expr.Template // nil: percent counts
}

func (t *throttle) Inner() []plan.Step { return t.steps }

// throttled is how many rounds there were, and in how many the steps ran.
type throttled struct{ rounds, runs int64 }

func (t *throttle) Act(ctx context.Context, u plan.User) bool {
	if t.total != nil {
		limit := renderInt(t.total, u.Scope())
		return count(u, t, t.own) > limit || u.RunSteps(ctx, t.steps)
	}
	share := milliseconds64(t.percent, u.Scope())
	var runs bool
	if t.own {
		runs = userState[throttled](u, t).take(share)
	} else {
		// Of n rounds, ⌈n·share/100 − ½⌉ run: the nth does where that number rises with it.
		n := float64(countAll(u, t))
		runs = share >= 100 || math.Ceil(n*share/100-0.5) > math.Ceil((n-1)*share/100-0.5)
	}
	return !runs || u.RunSteps(ctx, t.steps)
}

// take decides on a round, as JMeter does.
func (s *throttled) take(percent float64) bool {
	run := percent >= 100 || (100*float64(s.runs)+50)/float64(s.rounds+1) < percent
	s.rounds++
	if run {
		s.runs++
	}
	return run
}

func (j *reader) throughputController(e *element, env elementScope) []plan.Step {
	const p = "ThroughputController."
	j.refuseOthers(e, p+"style", p+"perThread", p+"maxThroughput", p+"percentThroughput")
	t := &throttle{steps: j.block(e, env), own: e.is(p + "perThread")}
	if j.fixed(e.tag, p+"style") == "1" {
		t.percent = j.compile(e.where(p+"percentThroughput"), cmp.Or(strings.TrimSpace(e.value(p+"percentThroughput")), "100"), expr.AsText)
	} else {
		t.total = j.compile(e.where(p+"maxThroughput"), strings.TrimSpace(e.value(p+"maxThroughput")), expr.AsText)
		if len(t.total) == 0 {
			t.total = expr.Template(nil).Literal("0")
		}
	}
	return []plan.Step{{Action: t}}
}

// forEach runs its steps for name_1, name_2 … until there is no such variable.
type forEach struct {
	*reader
	steps       []plan.Step
	input       expr.Template
	output      string
	separator   string
	first, last expr.Template // the indices before the first and of the last one; nil: 0, and all
	index       *roundIndex
}

func (f *forEach) Inner() []plan.Step { return f.steps }

func (f *forEach) Act(ctx context.Context, u plan.User) bool {
	s := u.Scope()
	prefix := string(f.input.Render(nil, s)) + f.separator
	first, last := int64(0), int64(expr.MaxMatches)
	if f.first != nil {
		first = renderInt(f.first, s)
	}
	if f.last != nil {
		last = renderInt(f.last, s)
	}
	for i := first + 1; i <= last; i++ {
		text, ok := f.value(s, prefix+strconv.FormatInt(i, 10))
		if !ok {
			break
		}
		f.assign(s, f.output, text)
		f.index.set(s, i-1-first)
		left, goesOn := round(ctx, u, f.steps)
		if !goesOn || u.TimeUp() {
			return false
		}
		if left == breaks {
			break
		}
	}
	// When it is through JMeter begins it anew, and so looks at the first once more.
	f.index.set(s, 0)
	if text, ok := f.value(s, prefix+strconv.FormatInt(first+1, 10)); ok && first < last {
		f.assign(s, f.output, text)
	}
	return true
}

func (j *reader) forEach(e *element, env elementScope) []plan.Step {
	const p = "ForeachController."
	j.refuseOthers(e, p+"inputVal", p+"returnVal", p+"useSeparator", p+"startIndex", p+"endIndex")
	f := &forEach{reader: j, output: j.fixed(e.tag, p+"returnVal"), index: j.roundIndex(e)}
	f.input = j.compile(e.where(p+"inputVal"), strings.TrimSpace(e.value(p+"inputVal")), expr.AsText)
	if e.value(p+"useSeparator") != "false" {
		f.separator = "_"
	}
	index := func(name string) expr.Template {
		if e.prop(name) == nil {
			return nil
		}
		text := strings.TrimSpace(e.value(name))
		if text == "" {
			text = "0" // as JMeter reads it
		}
		return j.compile(e.where(name), text, expr.AsText)
	}
	f.first, f.last = index(p+"startIndex"), index(p+"endIndex")
	if text, ok := f.last.Constant(); ok && f.last != nil && text == "0" {
		j.Plan.Notes = append(j.Plan.Notes, e.title()+" runs nothing: its end index is 0, or empty, which JMeter reads as 0")
	}
	j.Define(f.output)
	f.steps = j.block(e, env)
	return []plan.Step{{Action: f}}
}

// within repeats its steps until a time is over.
type within struct {
	steps   []plan.Step
	seconds expr.Template
	cut     *cut
}

func (w *within) Inner() []plan.Step { return w.steps }

func (w *within) Act(ctx context.Context, u plan.User) bool {
	s := min(milliseconds64(w.seconds, u.Scope()), plan.MaxDuration.Seconds())
	end := userState[time.Time](u, w)
	*end = u.Now().Add(time.Duration(s * float64(time.Second)))
	for u.Now().Before(*end) {
		before := u.RequestsSent()
		if !u.RunSteps(ctx, w.steps) {
			return w.cut.made(u) // to JMeter it is no loop, and so not what a flow control action is about
		}
		if u.TimeUp() || u.RequestsSent() == before && !u.PauseUntil(ctx, u.Now().Add(idleRound)) {
			return false
		}
	}
	return true
}

// cut is where a controller may end before any of the samplers in it, however deep.
type cut struct {
	due func(u plan.User) bool
}

// made reports whether a user has left the controller so.
func (c *cut) made(u plan.User) bool {
	at := userState[bool](u, c)
	was := *at
	*at = false
	return was
}

// begin are the steps ahead of all others of a sampler.
func (j *reader) begin(e *element, env elementScope) []plan.Step {
	var steps []plan.Step
	if len(env.cuts) > 0 {
		steps = append(steps, plan.Step{Action: does(func(u plan.User) bool {
			for _, c := range env.cuts {
				if c.due(u) {
					*userState[bool](u, c) = true
					return false
				}
			}
			return true
		})})
	}
	if j.asksName {
		label := j.compile(e.at, e.label, expr.AsText)
		steps = append(steps, plan.Step{Action: does(func(u plan.User) bool {
			*userState[string](u, nameKey{}) = string(label.Render(nil, u.Scope()))
			return true
		})})
	}
	return steps
}

// section runs its steps for one user at a time.
type section struct {
	steps []plan.Step
	lock  expr.Template
}

func (c *section) Inner() []plan.Step { return c.steps }

// sectionKey is where a run keeps a lock.
type sectionKey string

// lockWait is how often a user looks whether a lock is free. Users on an event loop
// may not block it.
const lockWait = time.Millisecond

func (c *section) Act(ctx context.Context, u plan.User) bool {
	free := u.State(expr.StateOfBlock, sectionKey(c.lock.Render(nil, u.Scope())), func() any { return make(chan struct{}, 1) }).(chan struct{})
	for {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
			return u.RunSteps(ctx, c.steps)
		default:
			if !u.PauseUntil(ctx, u.Now().Add(lockWait)) {
				return false
			}
		}
	}
}

// jump is where a user goes on after a flow control action.
type jump int

const (
	stays     jump = iota
	nextRound      // of the loop around
	breaks         // out of the loop around
)

type jumpKey struct{}

// leave makes a user leave its steps, up to the loop around. Where there is none that is
// the group's, and who breaks out of that is done.
func leave(u plan.User, to jump) bool {
	switch {
	case *userState[int](u, depthKey{}) > 0:
		*userState[jump](u, jumpKey{}) = to
	case to == breaks:
		u.Stop()
	}
	return false
}

// depthKey is where it is kept how many loops a user is in.
type depthKey struct{}

// round runs a loop's steps once, and says how the user left them: stays, where it has
// come to their end. False: it has left the loop, too.
func round(ctx context.Context, u plan.User, steps []plan.Step) (left jump, goesOn bool) {
	depth := userState[int](u, depthKey{})
	*depth++
	ended := u.RunSteps(ctx, steps)
	*depth--
	if ended {
		return stays, true
	}
	at := userState[jump](u, jumpKey{})
	left, *at = *at, stays
	return left, left != stays
}
