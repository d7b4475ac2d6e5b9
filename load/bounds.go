package load

import (
	"fmt"
	"slices"

	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// checkBounds checks a run against the bounds of its plan and those of its options.
func checkBounds(p *plan.Plan, o *Options, r *report.Report) {
	for _, t := range p.Ensure {
		r.Ensure = append(r.Ensure, checkBound(p, &t, r))
	}
	if n := r.Errors[report.ErrorExpectation]; p.FailOnExpectation && n > 0 {
		r.Ensure = append(r.Ensure, report.Check{Metric: "errors." + report.ErrorExpectation, Value: float64(n)})
	}
	r.CheckFailIf(o.FailIf)
	r.Warnings = append(r.Warnings, p.Notes...)
	if !slices.ContainsFunc(p.Requests(), (*plan.Request).ExpectsStatus) {
		r.WarnOfOneClass()
	}
}

// checkBound checks a run against one bound. A condition is not met where a figure
// in it is missing, whatever it evaluates to: "not (p99 > 200)" would hold for a
// run without any latency.
func checkBound(p *plan.Plan, t *plan.Threshold, r *report.Report) report.Check {
	missing := ""
	figure := func(name string) (float64, bool) {
		v, ok := r.Metric(name)
		switch {
		case ok:
		case r.Completed == 0:
			missing = "there was no response"
		case p.Shared > 0:
			missing = fmt.Sprintf("there was no response of that name, or it is one of %d that are counted together", p.Shared)
		default:
			missing = "there was no response of that name"
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
