package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/latency"
)

// FailIf is a condition under which a run counts as failed.
type FailIf struct {
	text, figure, op string
	value            float64 // milliseconds, percent where share is set, or a number
	share            bool
}

// failIfPattern parts a condition at its comparison.
var failIfPattern = regexp.MustCompile(`(?s)^([^<>]*)(>=|<=|>|<)(.*)$`)

const failIfGrammar = `a condition is FIGURE OP NUMBER, such as "p99 > 200ms" or "errors > 1%", with OP one of >, >=, <, <= and FIGURE one of ` +
	"min, mean, median, p50, p75, p90, p95, p99, p999, max (a time, from when requests were due; success.p99 and the like leave out requests that failed), " +
	"errors (a number, or % of requests), scripts (how often one failed), requests, responses, rate (per second) and cpu (ms per request)"

// ParseFailIf reads conditions. Errors have the code whittle.Invalid.
func ParseFailIf(texts []string) ([]FailIf, error) {
	var out []FailIf
	for _, text := range texts {
		f, err := parseFailIf(text)
		if err != nil {
			return nil, whittle.Errorf(whittle.Invalid, "read condition %.200q: %w", text, err).WithHint(failIfGrammar)
		}
		out = append(out, f)
	}
	return out, nil
}

func parseFailIf(text string) (FailIf, error) {
	f := FailIf{text: strings.Join(strings.Fields(text), " ")}
	parts := failIfPattern.FindStringSubmatch(text)
	if parts == nil || len(text) > 200 {
		return f, fmt.Errorf("it has no comparison")
	}
	f.figure, f.op, text = strings.TrimSpace(parts[1]), parts[2], strings.TrimSpace(parts[3])
	summary := strings.TrimPrefix(f.figure, succeeded)
	if _, timed := latencyNames[summary]; timed || summary == mean {
		d, err := time.ParseDuration(text)
		if _, number := strconv.ParseFloat(text, 64); err != nil && number == nil {
			return f, fmt.Errorf("%q has no unit; write \"%s %s %sms\"", text, f.figure, f.op, text)
		}
		if err != nil || d < 0 {
			return f, fmt.Errorf("%q is not a time such as 200ms", text)
		}
		f.value = latency.Milliseconds(d)
		return f, f.possible()
	}
	if !slices.Contains([]string{"errors", "scripts", "requests", "responses", "rate", "cpu"}, f.figure) {
		return f, fmt.Errorf("%q is not a figure", f.figure)
	}
	number := text
	if f.figure == "errors" {
		number, f.share = strings.CutSuffix(text, "%")
	}
	var err error
	if f.value, err = strconv.ParseFloat(strings.TrimSpace(number), 64); err != nil || !(f.value >= 0) || math.IsInf(f.value, 1) {
		return f, fmt.Errorf("%q is not a number of 0 or more", text)
	}
	return f, f.possible()
}

// possible is an error where no run can meet the condition, so that the gate would
// pass whatever happens: no figure is below 0, and no share above 100 %.
func (f *FailIf) possible() error {
	if f.op == "<" && f.value == 0 || f.share && (f.value > 100 && f.op[0] == '>' || f.value == 100 && f.op == ">") {
		return fmt.Errorf("no run meets %q, so it would never fail; compare with a value that %s can have", f.text, f.figure)
	}
	return nil
}

// of is the condition's figure of a run; missing says why there is none.
func (f *FailIf) of(r *Report) (v float64, missing string) {
	switch f.figure {
	case "errors":
		if f.share {
			if r.Requests == 0 {
				return 0, "no request was sent"
			}
			return 100 * float64(r.Failed) / float64(r.Requests), ""
		}
		return float64(r.Failed), ""
	case "scripts":
		var n int64
		for i := range r.ScriptFailures {
			n += r.ScriptFailures[i].Count
		}
		return float64(n), ""
	case "requests":
		return float64(r.Requests), ""
	case "responses":
		return float64(r.Completed), ""
	case "rate":
		return r.Rate, ""
	case "cpu":
		if len(r.Processes) == 0 {
			return 0, "no process was watched"
		}
		return r.CPUPerRequest, ""
	}
	v, ok := r.responseTime(f.figure)
	if !ok && strings.HasPrefix(f.figure, succeeded) {
		return 0, "no request succeeded"
	}
	if !ok {
		return 0, "there was no response"
	}
	return v, ""
}

// Beyond reports whether v OP bound, with OP one of >, >=, < and <=.
func Beyond(v float64, op string, bound float64) bool {
	switch op {
	case ">":
		return v > bound
	case ">=":
		return v >= bound
	case "<":
		return v < bound
	}
	return v <= bound
}

// CheckFailIf adds the conditions to the report's checks. One whose figure is missing
// fails the run as well: it cannot be said not to hold.
func (r *Report) CheckFailIf(conditions []FailIf) {
	for i := range conditions {
		f := &conditions[i]
		v, missing := f.of(r)
		r.Ensure = append(r.Ensure, Check{
			FailIf: f.text, Value: v, Max: f.value, Missing: missing, Passed: missing == "" && !Beyond(v, f.op, f.value),
		})
	}
}
