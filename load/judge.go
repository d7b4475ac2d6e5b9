package load

import (
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// take takes the values that the request asks for out of an answer. Where
// one that must be there is missing, none is set, and the kind of the failure
// is returned.
func take(r *plan.Request, a *expr.Answer) string {
	var few [8]expr.Value
	values := few[:0]
	for i := range r.Captures {
		c := &r.Captures[i]
		v, ok := c.Extract(a)
		if ok && c.Slot < 0 {
			ok = v.Text == string(c.Want.Render(nil, a.Scope))
		}
		switch {
		case !ok && c.Strict && c.Slot < 0:
			return report.ErrorExpectation
		case !ok && c.Strict:
			return report.ErrorCapture
		}
		values = append(values, v)
	}
	for i := range r.Captures {
		if c := &r.Captures[i]; c.Slot >= 0 {
			a.Scope.Values[c.Slot] = values[i]
		}
	}
	return ""
}

// judge takes what the plan wants out of an answer, and says which kind of
// error the answer is, empty for none.
func (w *worker) judge(q *prepared) string {
	failure, expected := "", false
	if q.reads {
		a := expr.Answer{Status: w.ans.status, Head: w.ans.head, Body: w.ans.body, Size: w.ans.size, Scope: &w.scope}
		// Captures come first: expectations may compare with them.
		failure = take(q.Request, &a)
		for i := range q.Expect {
			if !q.Expect[i].Holds(&a) {
				return report.ErrorExpectation
			}
		}
		expected = q.ExpectsStatus()
		// What was read here is not the target's time.
		w.due = w.run.now()
	}
	if w.ans.status >= 500 && !expected && failure == "" {
		return report.ErrorServer
	}
	return failure
}
