package report

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"whittle/internal/latency"
	"whittle/internal/units"

	"whittle"
)

// Check is a bound of the plan's config.ensure or a condition of the command line's, and
// whether the run kept it.
type Check struct {
	// Metric is an Artillery name: "http.response_time.p99" (milliseconds, from
	// the intended send time), "http.codes.200", "errors.timeout",
	// "maxErrorRate" (percent of virtual users)… Empty for an expression.
	Metric string  `json:"metric,omitempty"`
	Max    float64 `json:"max"`
	Value  float64 `json:"value"`
	Passed bool    `json:"passed"`
	// Missing says why there is no value, which is then 0 and not within the
	// bound: "there was no response". Empty where there is one.
	Missing string `json:"missing,omitempty"`
	// Expression is a condition over metrics; Max and Value are then 0.
	Expression string `json:"expression,omitempty"`
	// FailIf is a condition that must not hold, such as "p99 > 200ms"; Value is the
	// figure and Max the condition's number, times in milliseconds and shares in
	// percent.
	FailIf string `json:"fail_if,omitempty"`
	// Optional checks do not decide whether the run is a success.
	Optional bool `json:"optional,omitempty"`
}

// String is the check with its outcome, on one line.
func (c Check) String() string {
	word, optional := "held", ""
	switch {
	case c.FailIf != "" && c.Missing != "":
		return "fail if " + c.FailIf + ": " + c.Missing + ", FAILED"
	case c.FailIf != "" && c.Passed:
		return "fail if " + c.FailIf + ": it is " + units.Plain(rounded(c.Value)) + ", passed"
	case c.FailIf != "":
		return "fail if " + c.FailIf + ": it is " + units.Plain(rounded(c.Value)) + ", FAILED"
	case c.Missing != "":
		word = c.Missing + ", NOT MET"
	case !c.Passed && c.Expression != "":
		word = "NOT MET"
	case !c.Passed:
		word = "EXCEEDED"
	}
	if c.Optional {
		optional = " (optional)"
	}
	switch {
	case c.Expression != "":
		return "condition " + c.Expression + ": " + word + optional
	case c.Missing != "":
		return "bound on " + c.Metric + " of at most " + units.Plain(c.Max) + ": " + word + optional
	}
	return "bound on " + c.Metric + ": " + units.Plain(c.Value) + " of at most " + units.Plain(c.Max) + ", " + word + optional
}

// rounded keeps four digits behind the point.
func rounded(f float64) float64 { return math.Round(f*1e4) / 1e4 }

// Err is nil where the run counts as a success. The error has the code whittle.FallsShort
// (exit status 1) where no request succeeded, a bound of the plan's ensure is exceeded or a
// condition to fail holds, and whittle.Unavailable (exit status 3) where the run is void.
// That no request succeeded is said even of a void run.
func (r *Report) Err() error {
	nothing := r.NoSuccess()
	if r.Void != "" && (nothing == "" || r.Requests == 0) {
		return whittle.Errorf(whittle.Unavailable, "the run is void: %s", r.Void)
	}
	var failed []string
	hint := ""
	if nothing != "" {
		failed, hint = append(failed, nothing), r.noSuccessHint()
	}
	for _, c := range r.Ensure {
		switch {
		case c.Passed || c.Optional:
		case c.FailIf != "" && c.Missing != "":
			failed = append(failed, "the condition "+c.FailIf+" cannot be decided: "+c.Missing)
		case c.FailIf != "":
			failed = append(failed, "the condition "+c.FailIf+" holds: it is "+units.Plain(rounded(c.Value)))
		case c.Expression != "" && c.Missing != "":
			failed = append(failed, "the condition "+c.Expression+" is not met: "+c.Missing)
		case c.Expression != "":
			failed = append(failed, "the condition "+c.Expression+" is not met")
		case c.Missing != "":
			failed = append(failed, c.Metric+" has no value: "+c.Missing)
		default:
			failed = append(failed, c.Metric+" is "+units.Plain(c.Value)+", at most "+units.Plain(c.Max)+" is allowed")
		}
	}
	if len(failed) > 0 {
		return whittle.Errorf(whittle.FallsShort, "%s", strings.Join(failed, "; ")).WithHint(hint)
	}
	return nil
}

// NoSuccess says why the run was nothing but failures: no response at all, or none
// without an error. Such a run shows nothing about its target but that it fails. Empty
// where at least one request succeeded.
func (r *Report) NoSuccess() string {
	switch {
	case r.Requests == 0:
		return "no request was sent, so there is no response to measure"
	case r.Completed > 0 && (r.Failed == 0 || r.Failed+r.Unfinished < r.Requests):
		return ""
	}
	causes := counts(r.Errors)
	if r.Unfinished > 0 {
		if causes != "" {
			causes += ", "
		}
		causes += fmt.Sprintf("unfinished: %d", r.Unfinished)
	}
	if r.Completed == 0 {
		return fmt.Sprintf("not one of %s to %s got a response (%s)", units.Counted(r.Requests, "request"), r.Target, causes)
	}
	return fmt.Sprintf("not one of %s to %s succeeded (%s; status %s)", units.Counted(r.Requests, "request"), r.Target, causes, counts(r.Codes))
}

// WarnOfOneClass says that all responses were refusals (4xx) or redirects that are not
// followed, where they were: the target has responded, so that is no error of the run, and
// hardly what was to be measured. It is for a run whose plan expects no status.
func (r *Report) WarnOfOneClass() {
	class := byte(0)
	for code := range r.Codes {
		if class != 0 && code[0] != class {
			return
		}
		class = code[0]
	}
	switch class {
	case '4':
		r.Warnings = append(r.Warnings, fmt.Sprintf("every response was a refusal (status %s): are the path, the method and the credentials right?", counts(r.Codes)))
	case '3':
		r.Warnings = append(r.Warnings, fmt.Sprintf("every response was a redirect (status %s), which is not followed: name where it leads to, or follow it by a plan", counts(r.Codes)))
	}
}

// noSuccessHint says what to do about the cause that most requests met.
func (r *Report) noSuccessHint() string {
	most, hint := r.Unfinished, "the run ended before a first response: let it go on for longer"
	switch {
	case r.Requests == 0:
		hint = "see the plan's phases, and its ifTrue and probability"
	case r.Completed > 0:
		hint = "see the samples of the errors in the report"
	}
	for _, kind := range kinds {
		if n := r.Errors[kind]; n > most && noSuccessHints[kind] != "" {
			most, hint = n, noSuccessHints[kind]
		}
	}
	return hint
}

// noSuccessHints are the hints by the kind of error.
var noSuccessHints = map[string]string{
	ErrorGenerator:   "allow this machine more open files (ulimit -n) or local ports, or send from fewer users at once",
	ErrorDNS:         "is the name right, and does this machine's resolver know it? --target URL sends the plan elsewhere",
	ErrorRefused:     "is it running there? --target URL sends the plan elsewhere",
	ErrorConnect:     "is it running there, and is it reached from here? --target URL sends the plan elsewhere",
	ErrorCertificate: "name a target whose certificate is trusted, or the file of who signed it in SSL_CERT_FILE, or accept any with --insecure, or tls.rejectUnauthorized: false in the plan",
	ErrorContract:    "see the samples of the errors: a variable of a URL has no value, or a file is not there",
	ErrorTimeout:     "is it overloaded, or is the timeout shorter than a response takes?",
	ErrorReset:       "it closes connections before it responds: see its log, and whether it speaks this --protocol",
	ErrorMalformed:   "it does not respond in this protocol: see --protocol, and whether the target is https",
	ErrorServer:      "see the target's log; where errors are what is to be measured, a plan says so: expect: {statusCode: 503}",
	ErrorExpectation: "what the plan expects holds of no response: see the samples of the errors, and whether the target is the right one",
	ErrorCapture:     "no response has what the plan captures: see whether the target is the right one",
}

// sample is what one error of a kind said, and for a certificate what to do about it.
func (r *Report) sample(kind string) string {
	if kind == ErrorCertificate {
		return r.ErrorSamples[kind] + " (" + noSuccessHints[kind] + ")"
	}
	return r.ErrorSamples[kind]
}

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
	if n := r.Errors[ErrorGenerator]; n > 0 {
		r.Void = fmt.Sprintf("the generator's machine had no more for %s (%s): allow it more open files or local ports, or fewer users at once",
			units.Counted(n, "request"), r.ErrorSamples[ErrorGenerator])
	}
	r.LateBound = latency.Milliseconds(lateBound(&r.Latency, maxLate))
	r.Warnings = append(r.Warnings, r.warnings(timeout)...)
}

// GeneratorWarnings say what the generator, or the machine that it ran on, had to do.
func (r *Report) GeneratorWarnings() []string {
	var out []string
	cores := float64(runtime.GOMAXPROCS(0))
	// Of a shorter run the kernel's count of CPU time is too coarse.
	if r.Seconds > 0.1 && r.Generator.Cores > generatorBusy*cores {
		out = append(out, fmt.Sprintf("the generator itself kept %.1f of %.0f cores busy: it, not the target, may be the limit", r.Generator.Cores, cores))
	}
	if all := r.machineBusy(); all > saturated {
		out = append(out, fmt.Sprintf("the generator's machine was %.0f %% busy with all that ran on it: if the target runs elsewhere, the generator is the "+
			"limit; if here, they were in each other's way", 100*all))
	}
	return out
}

func (r *Report) warnings(timeout time.Duration) []string {
	var out []string
	if len(r.Workers) == 0 { // each says it of its own machine
		out = r.GeneratorWarnings()
	}
	if n := r.Errors[ErrorTimeout]; n > 0 {
		out = append(out, fmt.Sprintf("%d of %d requests had no response within %v; they count with their timeout, so percentiles they reach are lower bounds",
			n, r.Requests, timeout))
	}
	if pulled := r.pulled(); pulled != "" {
		out = append(out, pulled)
	}
	if r.Users.Skipped > 0 {
		out = append(out, fmt.Sprintf("%d of %d arrivals were skipped because too many virtual users were under way", r.Users.Skipped, r.Users.Planned))
	}
	if r.Unfinished > 0 {
		out = append(out, fmt.Sprintf("%s under way when the run was cut; neither completed nor failed", units.Counted(r.Unfinished, "request")))
	}
	if above := r.Latency.Intended.Above; above > 0 {
		out = append(out, fmt.Sprintf("%d latencies above an hour count as an hour", above))
	}
	return out
}

// pullMargin is by how much failures have to move a percentile for the report to say so.
const pullMargin = 0.1

// pulled says where requests that failed move a percentile; empty: nowhere.
func (r *Report) pulled() string {
	all, good := &r.Latency.Intended, &r.Latency.Succeeded
	if r.Failed == 0 || good.Count == 0 {
		return ""
	}
	for _, at := range []struct {
		name      string
		all, good time.Duration
	}{{"median", all.P50, good.P50}, {"p95", all.P95, good.P95}, {"p99", all.P99, good.P99}} {
		if d := at.all - at.good; float64(max(d, -d)) > pullMargin*float64(at.good) {
			return fmt.Sprintf("requests that failed are in the percentiles: the %s is %s ms with them and %s ms of successes alone, which a bound looks at as %s%s",
				at.name, milliseconds(at.all), milliseconds(at.good), succeeded, at.name)
		}
	}
	return ""
}

func lateBound(v *Views, maxLate time.Duration) time.Duration { return max(maxLate, v.Intended.P50/10) }

// LateFrom is the least quantile of virtual users at which the generator was later than
// it may be: of a void run, what lies below it can be trusted. 0: that is not known.
func (r *Report) LateFrom() float64 {
	if r.Errors[ErrorGenerator] > 0 {
		return 0 // it is not for lateness that the run is void
	}
	late := &r.Latency.ScheduleError
	for _, at := range []struct {
		quantile float64
		by       time.Duration
	}{{.5, late.P50}, {.75, late.P75}, {.9, late.P90}, {.95, late.P95}, {.99, late.P99}} {
		if r.LateBound > 0 && latency.Milliseconds(at.by) > r.LateBound {
			return at.quantile
		}
	}
	return 0
}

// voidReason says why a run proves nothing; empty where it is valid.
//
// Lateness only makes latency from the intended time look worse, but a late
// generator did not send what the plan says. It is beyond its bound when its
// 99th percentile is above maxLate and above a tenth of the median latency:
// against a target that takes seconds, milliseconds change nothing.
func voidReason(v *Views, maxLate time.Duration) string {
	bound := lateBound(v, maxLate)
	if late := v.ScheduleError.P99; late > bound {
		return fmt.Sprintf("the generator was late: 1 %% of virtual users started %v or more after their time, where %v is the bound; "+
			"lower the rate, or give the generator more of the machine", late.Round(time.Microsecond), bound.Round(time.Microsecond))
	}
	return ""
}
