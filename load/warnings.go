package load

import (
	"fmt"
	"runtime"
	"time"
)

// busy is the part of the machine above which the generator itself is likely
// the limit.
const busy = 0.8

// full is the part of all cores above which programs on a machine wait for each
// other.
const full = 0.95

// warnings are what a reader of the figures should know first.
func warnings(r *Report, timeout time.Duration) []string {
	var out []string
	cores := float64(runtime.GOMAXPROCS(0))
	if r.Generator.Cores > busy*cores {
		out = append(out, fmt.Sprintf("the generator itself kept %.1f of %.0f cores busy: it, not the target, may be the limit", r.Generator.Cores, cores))
	}
	if all := r.machineBusy(); all > full {
		out = append(out, fmt.Sprintf("the generator's machine was %.0f %% busy with all that ran on it: if the target runs elsewhere, the generator is the limit; if here, they were in each other's way", 100*all))
	}
	if n := r.Errors[ErrorTimeout]; n > 0 {
		out = append(out, fmt.Sprintf("%d of %d requests had no answer within %v; they count with the time they were given up at, so percentiles they reach are lower bounds",
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
