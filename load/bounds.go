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
		r.Ensure = append(r.Ensure, checked(&t, r))
	}
	if n := r.Errors[report.ErrorExpectation]; p.Expects && n > 0 {
		r.Ensure = append(r.Ensure, report.Check{Metric: "errors." + report.ErrorExpectation, Value: float64(n)})
	}
	r.Warnings = append(r.Warnings, p.Notes...)
}

// checked judges a run by one bound. A condition that looks at a figure that
// there is none of is not met, whatever it makes of it: "not (p99 > 200)" would
// be true of no latency at all.
func checked(t *plan.Threshold, r *report.Report) report.Check {
	missing := ""
	figure := func(name string) (float64, bool) {
		v, ok := r.Metric(name)
		switch {
		case ok:
		case r.Completed == 0:
			missing = "nothing was answered"
		default:
			missing = "nothing of that name was answered"
		}
		return v, ok
	}
	if t.Condition != nil {
		met := t.Condition(&expr.Evaluation{Figure: figure}).Truth()
		return report.Check{Expression: t.Text, Passed: met && missing == "", Missing: missing, Optional: t.Optional}
	}
	v, ok := figure(t.Metric)
	if !ok {
		v = 0 // JSON has no number for "none"
	}
	return report.Check{Metric: t.Metric, Max: t.Max, Value: v, Passed: ok && v <= t.Max, Missing: missing}
}
