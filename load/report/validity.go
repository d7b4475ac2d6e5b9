package report

import (
	"fmt"
	"runtime"
	"time"
)

// generatorBusy is the fraction of the machine's CPU above which the generator is
// likely the limit.
const generatorBusy = 0.8

// saturated is the fraction of all cores above which processes compete for CPU.
const saturated = 0.95

// Validate sets Void and Warnings: whether the figures may be used, and what to
// know before. maxLate bounds the 99th percentile of the schedule error; timeout is
// that of the plan's requests.
func (r *Report) Validate(maxLate, timeout time.Duration) {
	r.Void = voidReason(&r.Latency, maxLate)
	r.Warnings = append(r.Warnings, r.warnings(timeout)...)
}

func (r *Report) warnings(timeout time.Duration) []string {
	var out []string
	cores := float64(runtime.GOMAXPROCS(0))
	if r.Generator.Cores > generatorBusy*cores {
		out = append(out, fmt.Sprintf("the generator itself kept %.1f of %.0f cores busy: it, not the target, may be the limit", r.Generator.Cores, cores))
	}
	if all := r.machineBusy(); all > saturated {
		out = append(out, fmt.Sprintf("the generator's machine was %.0f %% busy with all that ran on it: if the target runs elsewhere, the generator is the limit; if here, they were in each other's way", 100*all))
	}
	if n := r.Errors[ErrorTimeout]; n > 0 {
		out = append(out, fmt.Sprintf("%d of %d requests had no response within %v; they count with their timeout, so percentiles they reach are lower bounds",
			n, r.Requests, timeout))
	}
	if r.Users.Skipped > 0 {
		out = append(out, fmt.Sprintf("%d of %d arrivals were skipped because too many virtual users were under way", r.Users.Skipped, r.Users.Planned))
	}
	if r.Unfinished > 0 {
		out = append(out, fmt.Sprintf("%d requests were under way when the run was cut; they count neither as completed nor as failed", r.Unfinished))
	}
	if above := r.Latency.Intended.Above; above > 0 {
		out = append(out, fmt.Sprintf("%d latencies above an hour count as an hour", above))
	}
	return out
}

// voidReason says why a run proves nothing; empty where it is valid.
//
// Lateness only makes latency from the intended time look worse, but a late
// generator did not send what the plan says. It is beyond its bound when its
// 99th percentile is above maxLate and above a tenth of the median latency:
// against a target that takes seconds, milliseconds change nothing.
func voidReason(v *Views, maxLate time.Duration) string {
	bound := max(maxLate, v.Intended.P50/10)
	if late := v.ScheduleError.P99; late > bound {
		return fmt.Sprintf("the generator was late: 1 %% of virtual users started %v or more after their time, where %v is the bound; "+
			"lower the rate, or give the generator more of the machine", late.Round(time.Microsecond), bound.Round(time.Microsecond))
	}
	return ""
}
