package load

import (
	"context"

	"whittle/load/expr"
	"whittle/load/plan"
)

// loop runs the steps of a loop; false: the user does not go on.
func (w *worker) loop(ctx context.Context, l *plan.Loop) bool {
	defer w.keep(l.Counter)()
	defer w.keep(l.Element)()
	first, n, over := l.First, l.Count, l.Over
	switch {
	case l.While != nil:
		n = maxWhile
	case l.Times != nil:
		// As in Artillery, what is no number is no repetition.
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
		// A loop that sends nothing would never see that the run has ended.
		if i&1023 == 1023 && ctx.Err() != nil {
			return false
		}
		if !w.steps(ctx, l.Steps) {
			return false
		}
	}
	return true
}

// keep puts a loop's variable back to what it was, for a loop around it.
func (w *worker) keep(slot int) func() {
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

// elements are those of a list; what is no list has none.
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

// deal gives virtual user i its rows. Users of a closed plan go through it again
// and again: each round takes the rows after those of the round that began last.
func (w *worker) deal() {
	if len(w.run.plan.Payloads) == 0 {
		return
	}
	turn := w.index
	if w.member != nil {
		turn = w.run.common.dealt.Add(1) - 1
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
