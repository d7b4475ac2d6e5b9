package load

import (
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// check judges a run by the bounds of its plan.
func check(p *plan.Plan, r *report.Report) {
	if p.Apdex > 0 {
		r.RateApdex(p.Apdex)
	}
	for _, t := range p.Ensure {
		if t.Condition != nil {
			met := t.Condition(&expr.Evaluation{Figure: r.Metric}).Truth()
			r.Ensure = append(r.Ensure, report.Check{Expression: t.Text, Passed: met, Optional: t.Optional})
			continue
		}
		v, ok := r.Metric(t.Metric)
		if !ok {
			v = 0 // JSON has no number for "none"
		}
		r.Ensure = append(r.Ensure, report.Check{Metric: t.Metric, Max: t.Max, Value: v, Passed: ok && v <= t.Max})
	}
	if n := r.Errors[report.ErrorExpectation]; p.Expects && n > 0 {
		r.Ensure = append(r.Ensure, report.Check{Metric: "errors." + report.ErrorExpectation, Value: float64(n)})
	}
	r.Warnings = append(r.Warnings, p.Notes...)
}
