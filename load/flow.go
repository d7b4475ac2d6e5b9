package load

import (
	"context"

	"whittle/load/expr"
	"whittle/load/plan"
)

// runSteps runs a flow, and reports whether the user continues. It stops after a
// request that got no response or an unexpected one.
func (u *user) runSteps(ctx context.Context, steps []plan.Step) bool {
	for i := range steps {
		if u.timeUp() {
			return false
		}
		ok := true
		switch s := &steps[i]; {
		case s.Request != nil:
			ok = u.sendRequest(ctx, s.Request)
		case s.Think != nil:
			ok = u.pauseUntil(ctx, u.due.Add(s.Think.Length(&u.scope)))
		case s.Loop != nil:
			ok = u.runLoop(ctx, s.Loop)
		case s.Parallel != nil:
			ok = u.runParallel(ctx, s.Parallel)
		case s.Log != nil:
			u.log(*s.Log)
		case s.Action != nil:
			ok = s.Action.Act(ctx, u)
		}
		if !ok {
			return false
		}
	}
	return true
}

// log passes a log step's line to Options.OnLog.
func (u *user) log(line expr.Template) {
	if f := u.run.options.OnLog; f != nil {
		text := line.Render(nil, &u.scope)
		f(u.index, string(text[:min(len(text), expr.MaxCaptured)]))
	}
}

// runLoop runs the steps of a loop. False: the user stops.
func (u *user) runLoop(ctx context.Context, l *plan.Loop) bool {
	defer u.restoreAfter(l.Counter)()
	defer u.restoreAfter(l.Element)()
	first, n, over := l.First, l.Count, l.Over
	switch {
	case l.While != nil:
		n = maxWhile
	case l.Times != nil:
		// As in Artillery, a text that is no number means no repetition.
		first, n, _ = plan.LoopRange(string(l.Times.Render(nil, &u.scope)))
	case l.OverValue != nil:
		over = elements(l.OverValue(&u.scope))
		n = int64(len(over))
	case over != nil:
		n = int64(len(over))
	}
	for i := range n {
		u.set(l.Counter, func() expr.Value { return expr.NumberValue(first + i) })
		u.set(l.Element, func() expr.Value {
			if i < int64(len(over)) {
				return over[i]
			}
			return expr.NumberValue(first + i)
		})
		if l.While != nil && !l.While(&expr.Evaluation{Scope: &u.scope}).Truth() {
			break
		}
		// A loop that sends nothing would otherwise not notice the end of the run.
		if i&1023 == 1023 && ctx.Err() != nil {
			return false
		}
		if !u.runSteps(ctx, l.Steps) {
			return false
		}
	}
	return true
}

// restoreAfter returns a function that restores a loop's variable, for an outer
// loop that uses the same one.
func (u *user) restoreAfter(slot int) func() {
	if slot == 0 {
		return func() {}
	}
	before := u.scope.Values[slot-1]
	return func() { u.scope.Values[slot-1] = before }
}

func (u *user) set(slot int, v func() expr.Value) {
	if slot > 0 {
		u.scope.Values[slot-1] = v()
	}
}

// elements returns the items of a list, and none for any other value.
func elements(v expr.Value) []expr.Value {
	if v.Doc == nil || v.Doc.Kind != expr.KindList {
		return nil
	}
	out := make([]expr.Value, len(v.Doc.Items))
	for i := range out {
		out[i] = v.Doc.Items[i].Value()
	}
	return out
}

// maxWhile bounds a loop that a condition ends.
const maxWhile = 1_000_000
