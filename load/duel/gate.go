package duel

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whittle/load/report"

	"whittle"
)

// Gate is a condition under which a comparison fails.
type Gate struct {
	text string
	// key is a figure's; sure how the interval counts; op and value the bound.
	key, sure, op string
	value         float64
}

var gatePattern = regexp.MustCompile(`^(median|p95|p99|rate|cpu|errors) ratio (?:(surely|possibly) )?(>=?|<=?) (\S+)$`)

const gateGrammar = `a condition is FIGURE ratio [surely|possibly] OP NUMBER, such as "p99 ratio > 1.1", with FIGURE one of median, p95, p99, rate, cpu, errors and OP one of >, >=, <, <=`

// ParseGates reads conditions "FIGURE ratio [surely|possibly] OP NUMBER". The ratio is B's
// figure over A's. Without a qualifier the estimate decides; with surely the whole
// 95 % interval must be beyond the number, so that a comparison of equals fails
// at a bound of 1 in at most one of forty; with possibly any of it, so that what
// passes is shown to be within.
func ParseGates(texts []string) ([]Gate, error) {
	var out []Gate
	for _, text := range texts {
		g := Gate{text: text}
		if m := gatePattern.FindStringSubmatch(strings.Join(strings.Fields(text), " ")); m != nil {
			g.key, g.sure, g.op = m[1], m[2], m[3]
			g.value, _ = strconv.ParseFloat(m[4], 64) // of what is no number 0
		}
		if !(g.value > 0) || math.IsInf(g.value, 1) {
			return nil, whittle.Errorf(whittle.Invalid, "read condition %.200q: it is not of the form FIGURE ratio OP NUMBER, with a NUMBER above 0", text).
				WithHint(gateGrammar)
		}
		out = append(out, g)
	}
	return out, nil
}

// String is the condition as it was written.
func (g Gate) String() string { return g.text }

func (g Gate) beyond(v float64) bool { return report.Beyond(v, g.op, g.value) }

// holds reports whether the condition to fail is met.
func (g Gate) holds(f *Compared) bool {
	// The ends of the interval that the condition meets last and first.
	last, first := float64(f.Low), float64(f.High)
	if g.op[0] == '<' {
		last, first = first, last
	}
	switch g.sure {
	case "surely":
		return g.beyond(last)
	case "possibly":
		return g.beyond(first) || g.beyond(float64(f.Ratio))
	}
	return g.beyond(float64(f.Ratio))
}

// CheckUnpaired refuses gates that whole runs cannot decide: on the interval of errors,
// which only blocks have. The error has the code whittle.Invalid.
func CheckUnpaired(gates []Gate) error {
	for _, g := range gates {
		if g.key == "errors" && g.sure != "" {
			return whittle.Errorf(whittle.Invalid, "the condition %q is on an interval, and errors of whole runs have none", g).
				WithHint(fmt.Sprintf(`write "errors ratio %s %v", which looks at the ratio itself, or compare two targets in turns, without --runs and with at most one number of --users`, g.op, g.value))
		}
	}
	return nil
}

// onErrors reports whether a gate is on errors: it decides what becomes of them.
func onErrors(gates []Gate) bool {
	return slices.ContainsFunc(gates, func(g Gate) bool { return g.key == "errors" })
}

// Err reports whether the comparison counts as a success: nil, or an error
// with the code whittle.Unavailable (exit status 3) where it is void or where a
// gate's ratio is not known (but of errors, which neither may have),
// whittle.FallsShort (exit status 1) where a gate's condition is met or, unless a gate
// is on errors, not one request to a target succeeded, and
// whittle.Invalid (exit status 2) where a gate is on what was not measured or
// on an interval of errors where there is none.
func (c *Comparison) Err(gates []Gate) error {
	if c.Void != "" {
		return whittle.Errorf(whittle.Unavailable, "the comparison is void: %s", c.Void)
	}
	var met []string
	for _, g := range gates {
		i := slices.IndexFunc(c.Figures, func(f Compared) bool { return f.Key == g.key })
		if i < 0 {
			return whittle.Errorf(whittle.Invalid, "the condition %q is on a figure that was not measured", g).
				WithHint("CPU per request needs a process or a metrics page of both targets to watch")
		}
		f := &c.Figures[i]
		if math.IsNaN(float64(f.P)) {
			if err := CheckUnpaired([]Gate{g}); err != nil {
				return err
			}
		}
		if math.IsNaN(float64(f.Ratio)) && !(f.Key == "errors" && f.A == 0 && f.B == 0) {
			return whittle.Errorf(whittle.Unavailable, "the condition %q cannot be decided: A's %s is %s and B's %s", g, f.Name, f.value(f.A), f.value(f.B)).
				WithHint("a longer comparison, or more requests, may measure it")
		}
		if g.holds(f) {
			met = append(met, fmt.Sprintf("%s: the ratio is %s (%s to %s)", g, ratioText(f.Ratio), ratioText(f.Low), ratioText(f.High)))
		}
	}
	for i, r := range []*report.Report{c.A, c.B} {
		// The latencies of a target that failed at every request are those of its errors.
		if r != nil && r.NoSuccess() != "" && !onErrors(gates) {
			met = append(met, "of target "+"AB"[i:i+1]+" "+r.NoSuccess())
			break
		}
	}
	if len(met) > 0 {
		return whittle.Errorf(whittle.FallsShort, "%s", strings.Join(met, "; "))
	}
	return nil
}

// ratioText writes a ratio with three digits.
func ratioText(n Number) string {
	f := float64(n)
	switch {
	case math.IsNaN(f):
		return "–"
	case math.IsInf(f, 1):
		return "∞"
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}
