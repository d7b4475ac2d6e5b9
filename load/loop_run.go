package load

import (
	"context"

	"whittle/load/expr"
	"whittle/load/plan"
)

// runLoop runs the steps of a loop. False: the user stops.
func (w *worker) runLoop(ctx context.Context, l *plan.Loop) bool {
	defer w.restoreAfter(l.Counter)()
	defer w.restoreAfter(l.Element)()
	first, n, over := l.First, l.Count, l.Over
	switch {
	case l.While != nil:
		n = maxWhile
	case l.Times != nil:
		// As in Artillery, a text that is no number means no repetition.
		first, n, _ = plan.LoopRange(string(l.Times.Render(nil, &w.scope)))
	case l.OverValue != nil:
		over = elements(l.OverValue(&w.scope))
		n = int64(len(over))
	case over != nil:
		n = int64(len(over))
	}
	for i := range n {
		w.set(l.Counter, func() expr.Value { return expr.NumberValue(first + i) })
		w.set(l.Element, func() expr.Value {
			if i < int64(len(over)) {
				return over[i]
			}
			return expr.NumberValue(first + i)
		})
		if l.While != nil && !l.While(&expr.Evaluation{Scope: &w.scope}).Truth() {
			break
		}
		// A loop that sends nothing would otherwise not notice the end of the run.
		if i&1023 == 1023 && ctx.Err() != nil {
			return false
		}
		if !w.runSteps(ctx, l.Steps) {
			return false
		}
	}
	return true
}

// restoreAfter returns a function that restores a loop's variable, for an outer
// loop that uses the same one.
func (w *worker) restoreAfter(slot int) func() {
	if slot == 0 {
		return func() {}
	}
	before := w.scope.Values[slot-1]
	return func() { w.scope.Values[slot-1] = before }
}

func (w *worker) set(slot int, v func() expr.Value) {
	if slot > 0 {
		w.scope.Values[slot-1] = v()
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

// assignRows assigns rows of the CSV files to the virtual user. A user of a closed
// plan gets new ones in each loop: the rows after those assigned last.
func (w *worker) assignRows() {
	if len(w.run.plan.Payloads) == 0 {
		return
	}
	turn := w.index
	if w.groupUser != nil {
		turn = w.run.shared.rowRounds.Add(1) - 1
	}
	for i := range w.run.plan.Payloads {
		p := &w.run.plan.Payloads[i]
		at := int(turn % int64(len(p.Rows)))
		if !p.Sequence {
			at = w.scope.RNG.IntN(len(p.Rows))
		}
		for k, slot := range p.Slots {
			w.scope.Values[slot] = p.Rows[at][k]
		}
	}
}

// maxWhile bounds a loop that a condition ends.
const maxWhile = 1_000_000
