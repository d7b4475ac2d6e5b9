package jmeter

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// child is what lies right below a controller: a sampler or a controller.
type child struct {
	name  expr.Template
	steps []plan.Step
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
		out = append(out, child{name: j.compile(e.at, e.label, expr.AsText), steps: steps})
	}
	slices.Reverse(ahead) // JMeter notifies them in the reverse order
	return ahead, out
}

// choice runs one of its children in each round: next runs that.
func (j *reader) choice(e *element, env elementScope, next func(context.Context, plan.User, []child) bool) []plan.Step {
	ahead, children := j.children(e, env)
	var inner []plan.Step
	for i := range children {
		inner = append(inner, children[i].steps...)
	}
	return append(ahead, runs(inner, func(ctx context.Context, u plan.User) bool {
		return len(children) == 0 || next(ctx, u, children)
	})...)
}

// wholeBlocks refuses a controller that takes those below it apart.
func (j *reader) wholeBlocks(e *element) {
	if j.fixed(e.tag, "InterleaveControl.style") == "1" {
		return
	}
	for _, c := range e.below {
		if strings.HasSuffix(c.name, "Controller") {
			panic(c.at.Errorf(whittle.Unsupported, "%s below %s is not supported: let that ignore sub-controller blocks", c.title(), e.title()))
		}
	}
}

// random runs a child at random in each round.
func (j *reader) random(e *element, env elementScope) []plan.Step {
	j.refuseOthers(e, "InterleaveControl.style", "InterleaveControl.accrossThreads")
	j.wholeBlocks(e)
	return j.choice(e, env, func(ctx context.Context, u plan.User, children []child) bool {
		return u.RunSteps(ctx, children[u.Scope().RNG.IntN(len(children))].steps)
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
	output, separator := j.fixed(e.tag, p+"returnVal"), "_"
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
			left, goesOn := runRound(ctx, u, steps)
			if !goesOn || u.TimeUp() {
				return false
			}
			if left == breaks {
				break
			}
		}
		// When it is through JMeter begins it anew, and so looks at the first once more.
		next(first + 1)
		return true
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
