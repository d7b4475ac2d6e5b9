package load

import (
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// captureValues sets the variables that the request captures from a response.
// Where a required value is missing, it sets none and returns the kind of the
// failure.
func captureValues(r *plan.Request, a *expr.Response) string {
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

// evaluate captures values from a response and checks its expectations. It returns
// the kind of error, empty for none.
func (w *worker) evaluate(q *plan.Request) string {
	failure, expected := "", false
	if len(q.Captures) > 0 || len(q.Expect) > 0 {
		a := w.client.Response(&w.scope)
		// Captures come first: expectations may compare with them.
		failure = captureValues(q, &a)
		for i := range q.Expect {
			if !q.Expect[i].Holds(&a) {
				return report.ErrorExpectation
			}
		}
		expected = q.ExpectsStatus()
		// The time for evaluation is not the target's.
		w.due = w.run.now()
	}
	if w.client.Status() >= 500 && !expected && failure == "" {
		return report.ErrorServer
	}
	return failure
}
