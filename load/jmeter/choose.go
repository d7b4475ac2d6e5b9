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
	// pieces are the steps cut behind each sampler; a sampler is one piece.
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
			if a, ok := steps[i].Action.(*action); ok && a.sample || steps[i].Request != nil {
				c.pieces = append(c.pieces, steps[begin:i+1])
				begin = i + 1
			}
		}
		if n := len(c.pieces); n > 0 && begin < len(steps) {
			c.pieces[n-1] = append(c.pieces[n-1][:len(c.pieces[n-1]):len(c.pieces[n-1])], steps[begin:]...)
		}
		out = append(out, c)
	}
	slices.Reverse(ahead) // JMeter notifies them in the reverse order
	return ahead, out
}

func innerOf(children []child) (out []plan.Step) {
	for i := range children {
		out = append(out, children[i].steps...)
	}
	return out
}

// choice runs one of its children in each round, or all in an order of its own: next runs
// one round.
func (j *reader) choice(e *element, env elementScope, next func(context.Context, plan.User, []child) bool) []plan.Step {
	ahead, children := j.children(e, env)
	return append(ahead, runs(innerOf(children), func(ctx context.Context, u plan.User) bool {
		return len(children) == 0 || next(ctx, u, children)
	})...)
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
	return j.choice(e, env, func(ctx context.Context, u plan.User, children []child) bool {
		state := userState[interleaved](u, e)
		if shared {
			state.at = int((countAll(u, e) - 1) % int64(len(children)))
		}
		i := state.at % len(children)
		state.at = i + 1
		own := &children[i]
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
	return j.choice(e, env, func(ctx context.Context, u plan.User, children []child) bool {
		pick := &children[u.Scope().RNG.IntN(len(children))]
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
	return j.choice(e, env, func(ctx context.Context, u plan.User, children []child) bool {
		for _, i := range u.Scope().RNG.Perm(len(children)) {
			if !u.RunSteps(ctx, children[i].steps) {
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
	value := j.text(e, "SwitchController.value")
	return j.choice(e, env, func(ctx context.Context, u plan.User, children []child) bool {
		text := strings.TrimSpace(value.Text(u.Scope()))
		n, err := strconv.Atoi(text)
		if text == "" {
			n, err = 0, nil
		}
		if err == nil {
			if n < 0 {
				return true
			}
			if n >= len(children) {
				n = 0
			}
			return u.RunSteps(ctx, children[n].steps)
		}
		other := -1
		for i := range children {
			switch name := children[i].name.Text(u.Scope()); {
			case name == text:
				return u.RunSteps(ctx, children[i].steps)
			case strings.EqualFold(name, "default") && other < 0:
				other = i
			}
		}
		return other < 0 || u.RunSteps(ctx, children[other].steps)
	})
}

// throttled is how many rounds there were, and in how many the steps ran.
type throttled struct{ rounds, runs int64 }

// take decides on a round, as JMeter does.
func (s *throttled) take(percent float64) bool {
	run := percent >= 100 || (100*float64(s.runs)+50)/float64(s.rounds+1) < percent
	s.rounds++
	if run {
		s.runs++
	}
	return run
}

// throughputController runs its steps in a part of the rounds, or in the first ones.
func (j *reader) throughputController(e *element, env elementScope) []plan.Step {
	const p = "ThroughputController."
	j.refuseOthers(e, p+"style", p+"perThread", p+"maxThroughput", p+"percentThroughput")
	steps, own := j.block(e, env), e.is(p+"perThread") // each user counts for itself
	if j.fixed(e.tag, p+"style") != "1" {
		total := j.trimmed(e, p+"maxThroughput")
		return runs(steps, func(ctx context.Context, u plan.User) bool {
			limit := renderInt(total, u.Scope())
			return count(u, e, own) > limit || u.RunSteps(ctx, steps)
		})
	}
	percent := j.compile(e.where(p+"percentThroughput"), cmp.Or(strings.TrimSpace(e.value(p+"percentThroughput")), "100"), expr.AsText)
	return runs(steps, func(ctx context.Context, u plan.User) bool {
		share := milliseconds64(percent, u.Scope())
		var now bool
		if own {
			now = userState[throttled](u, e).take(share)
		} else {
			// Of n rounds, ⌈n·share/100 − ½⌉ run: the nth does where that number rises with it.
			n := float64(countAll(u, e))
			now = share >= 100 || math.Ceil(n*share/100-0.5) > math.Ceil((n-1)*share/100-0.5)
		}
		return !now || u.RunSteps(ctx, steps)
	})
}

// forEach runs its steps for name_1, name_2 … until there is no such variable.
func (j *reader) forEach(e *element, env elementScope) []plan.Step {
	const p = "ForeachController."
	j.refuseOthers(e, p+"inputVal", p+"returnVal", p+"useSeparator", p+"startIndex", p+"endIndex")
	output, round, separator := j.fixed(e.tag, p+"returnVal"), j.roundIndex(e), "_"
	input := j.trimmed(e, p+"inputVal")
	if e.value(p+"useSeparator") == "false" {
		separator = ""
	}
	// The indices before the first and of the last one; empty ones are 0, as JMeter reads them.
	bound := func(name, absent string) expr.Template {
		if e.prop(name) == nil {
			return expr.Template(nil).Literal(absent)
		}
		return j.compile(e.where(name), cmp.Or(strings.TrimSpace(e.value(name)), "0"), expr.AsText)
	}
	from, to := bound(p+"startIndex", "0"), bound(p+"endIndex", strconv.Itoa(expr.MaxMatches))
	if text, ok := to.Constant(); ok && text == "0" {
		j.Plan.Notes = append(j.Plan.Notes, e.title()+" runs nothing: its end index is 0, or empty, which JMeter reads as 0")
	}
	j.Define(output)
	steps := j.block(e, env)
	return runs(steps, func(ctx context.Context, u plan.User) bool {
		s := u.Scope()
		first, last := renderInt(from, s), renderInt(to, s)
		prefix := input.Text(s) + separator
		// next sets the variable to that of an index, and reports whether there is one.
		next := func(i int64) bool {
			text, ok := j.value(s, prefix+strconv.FormatInt(i, 10))
			if ok = ok && i <= last; ok {
				j.assign(s, output, text)
			}
			return ok
		}
		for i := first + 1; next(i); i++ {
			round.set(s, i-1-first)
			left, goesOn := runRound(ctx, u, steps)
			if !goesOn || u.TimeUp() {
				return false
			}
			if left == breaks {
				break
			}
		}
		// When it is through JMeter begins it anew, and so looks at the first once more.
		round.set(s, 0)
		next(first + 1)
		return true
	})
}

// runTime repeats its steps until a time is over.
func (j *reader) runTime(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "RunTime.seconds")
	seconds := j.trimmed(e, "RunTime.seconds")
	over := &cut{func(u plan.User) bool { return !u.Now().Before(*userState[time.Time](u, e)) }}
	env.cuts = append(slices.Clip(env.cuts), over)
	steps := j.block(e, env)
	return runs(steps, func(ctx context.Context, u plan.User) bool {
		s := min(milliseconds64(seconds, u.Scope()), plan.MaxDuration.Seconds())
		end := userState[time.Time](u, e)
		*end = u.Now().Add(time.Duration(s * float64(time.Second)))
		for u.Now().Before(*end) {
			before := u.RequestsSent()
			if !u.RunSteps(ctx, steps) {
				return over.made(u) // to JMeter it is no loop, and so not what a flow control action is about
			}
			if u.TimeUp() || u.RequestsSent() == before && !u.PauseUntil(ctx, u.Now().Add(idleRound)) {
				return false
			}
		}
		return true
	})
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

// begin are the first steps of a sampler: they end the controllers around it whose end is due,
// and keep its name for scripts.
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
			*userState[string](u, nameKey{}) = label.Text(u.Scope())
			return true
		})})
	}
	return steps
}

// sectionKey is where a run keeps a lock.
type sectionKey string

// lockWait is how often a user looks whether a lock is free. Users on an event loop
// may not block it.
const lockWait = time.Millisecond

// section runs its steps for one user at a time.
func (j *reader) section(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "CriticalSectionController.lockName")
	lock := j.compile(e.at, e.value("CriticalSectionController.lockName"), expr.AsText)
	j.undivided(e)
	steps := j.block(e, env)
	return runs(steps, func(ctx context.Context, u plan.User) bool {
		free := u.State(expr.StateOfBlock, sectionKey(lock.Render(nil, u.Scope())), func() any { return make(chan struct{}, 1) }).(chan struct{})
		for {
			select {
			case free <- struct{}{}:
				defer func() { <-free }()
				return u.RunSteps(ctx, steps)
			default:
				if !u.PauseUntil(ctx, u.Now().Add(lockWait)) {
					return false
				}
			}
		}
	})
}

// jump is where a user goes on after a flow control action.
type jump int

const (
	stays     jump = iota
	nextRound      // of the loop around
	breaks         // out of the loop around
)

type jumpKey struct{}

// leave makes a user leave its steps, up to the loop around. Without a loop controller that is
// the group's own loop; a user that breaks out of it ends.
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

// runRound runs a loop's steps once, and says how the user left them: stays is at their end.
// goesOn is false where the user has left the loop, too.
func runRound(ctx context.Context, u plan.User, steps []plan.Step) (left jump, goesOn bool) {
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
