package load

import (
	"context"
	"strconv"

	"whittle/load/expr"
	"whittle/load/plan"
)

// RunSteps runs a flow, and reports whether the user continues. It stops after a
// request that got no response or an unexpected one.
func (u *user) RunSteps(ctx context.Context, steps []plan.Step) bool {
	for i := range steps {
		if u.TimeUp() {
			return false
		}
		ok := true
		switch s := &steps[i]; {
		case s.Request != nil:
			ok = u.sendRequest(ctx, s.Request)
		case s.Think != nil:
			ok = u.PauseUntil(ctx, u.due.Add(s.Think.Length(&u.scope)))
		case s.Loop != nil:
			ok = u.runLoop(ctx, s.Loop)
		case s.Log != nil:
			if f := u.run.options.OnLog; f != nil {
				text := s.Log.Render(nil, &u.scope)
				f(u.index, string(text[:min(len(text), expr.MaxCaptured)]))
			}
		case s.Action != nil:
			ok = s.Action.Act(ctx, u)
		}
		if !ok {
			return false
		}
	}
	return true
}

// runLoop runs the steps of a loop. False: the user stops. As in Artillery, the counter
// counts on from what the steps leave in it, the element is set once where there is no
// list, and both stay behind the loop.
func (u *user) runLoop(ctx context.Context, l *plan.Loop) bool {
	first, n, over := l.First, l.Count, l.Over
	switch {
	case l.While != nil || l.Again != nil:
		n = maxWhile
	case l.Times != nil:
		// As in Artillery, a text that is no number means no repetition.
		first, n, _ = plan.LoopRange(string(l.Times.Render(nil, &u.scope)))
	}
	switch {
	case l.OverValue != nil:
		over = elements(l.OverValue(&u.scope))
		n = int64(len(over)) - first
	case over != nil:
		n = int64(len(over)) - first
	}
	listed := l.OverValue != nil || over != nil
	u.set(l.Counter, expr.NumberValue(first))
	u.set(l.Element, elementAt(over, listed, first))
	for i := range n {
		if l.While != nil && !l.While(&expr.Evaluation{Scope: &u.scope}).Truth() {
			break
		}
		// A loop that sends nothing would otherwise not notice the end of the run.
		if i&1023 == 1023 && ctx.Err() != nil {
			return false
		}
		if !u.RunSteps(ctx, l.Steps) {
			return false
		}
		if l.Counter > 0 {
			u.set(l.Counter, next(u.scope.Values[l.Counter-1]))
		}
		if listed {
			u.set(l.Element, elementAt(over, listed, first+i+1))
		}
		if l.Again != nil && !l.Again(ctx, u) {
			break
		}
	}
	return true
}

// next is the number behind a counter's.
func next(v expr.Value) expr.Value {
	f, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil {
		return expr.Value{Text: "NaN", JSON: `""`}
	}
	return expr.NumberValue(f + 1)
}

// elementAt is the value of $loopElement: the item of a list, or where the loop begins.
func elementAt(over []expr.Value, listed bool, i int64) expr.Value {
	switch {
	case !listed:
		return expr.NumberValue(i)
	case i < int64(len(over)):
		return over[i]
	}
	return expr.Value{}
}

func (u *user) set(slot int, v expr.Value) {
	if slot > 0 {
		u.scope.Values[slot-1] = v
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
