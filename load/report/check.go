package report

import (
	"strconv"
	"strings"

	"whittle"
)

// Check is a bound of the plan's config.ensure, and what the run came to.
type Check struct {
	// Metric is an Artillery name: "http.response_time.p99" (milliseconds, from
	// the intended send time), "http.codes.200", "errors.timeout",
	// "maxErrorRate" (percent of virtual users)… Empty for an expression.
	Metric string  `json:"metric,omitempty"`
	Max    float64 `json:"max"`
	Value  float64 `json:"value"`
	Passed bool    `json:"passed"`
	// Missing says why there is no value, which is then 0 and not within the
	// bound: "nothing was answered". Empty where there is one.
	Missing string `json:"missing,omitempty"`
	// Expression is a condition over metrics; Max and Value are then 0.
	Expression string `json:"expression,omitempty"`
	// Optional checks do not decide whether the run is a success.
	Optional bool `json:"optional,omitempty"`
}

// String is the check with its outcome, on one line.
func (c Check) String() string {
	word, optional := "held", ""
	switch {
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
		return "bound on " + c.Metric + " of at most " + plain(c.Max) + ": " + word + optional
	}
	return "bound on " + c.Metric + ": " + plain(c.Value) + " of at most " + plain(c.Max) + ", " + word + optional
}

// Err says whether the run is to be taken as a success: nil, or an error with
// the code whittle.Unavailable (exit status 3) where it is void, and
// whittle.FallsShort (exit status 1) where a bound of the plan's ensure is
// exceeded.
func (r *Report) Err() error {
	if r.Void != "" {
		return whittle.Errorf(whittle.Unavailable, "the run is void: %s", r.Void)
	}
	var failed []string
	for _, c := range r.Ensure {
		switch {
		case c.Passed || c.Optional:
		case c.Expression != "" && c.Missing != "":
			failed = append(failed, "the condition "+c.Expression+" is not met: "+c.Missing)
		case c.Expression != "":
			failed = append(failed, "the condition "+c.Expression+" is not met")
		case c.Missing != "":
			failed = append(failed, c.Metric+" has no value: "+c.Missing)
		default:
			failed = append(failed, c.Metric+" is "+plain(c.Value)+", at most "+plain(c.Max)+" is allowed")
		}
	}
	if len(failed) > 0 {
		return whittle.Errorf(whittle.FallsShort, "%s", strings.Join(failed, "; "))
	}
	return nil
}

// plain writes a number without an exponent where a person would not write one.
func plain(f float64) string {
	if f > -1e15 && f < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
