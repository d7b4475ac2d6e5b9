package duel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"whittle"
	"whittle/internal/paired"
	"whittle/load/report"
)

// CompareReports compares two saved runs of one plan. They were made at different
// times, so the interval covers only the variation within each run, and nothing
// that differed between them. An error has the code whittle.Invalid where the
// plans are not the same.
func CompareReports(a, b *report.Report, seed uint64) (*Comparison, error) {
	if err := samePlan(a, b); err != nil {
		return nil, err
	}
	if seed == 0 {
		seed = 1 // the same two reports give the same interval
	}
	rng := rand.New(rand.NewPCG(seed, 0x73617665))
	c := &Comparison{
		Format: ComparisonFormat, Plan: a.Plan, Model: a.Model, Started: a.Started, Seed: seed,
		Method: methodUnpaired, Early: a.Early || b.Early, A: a, B: b,
	}
	window := func(of, weight func(*report.Point) float64) func(*report.Report) []paired.Window {
		return func(r *report.Report) []paired.Window {
			var out []paired.Window
			for i := range r.Series {
				p := &r.Series[i]
				if p.Span >= p.Width/2 { // a sliver at the end would count as a whole second
					out = append(out, paired.Window{Value: of(p), Weight: weight(p)})
				}
			}
			return out
		}
	}
	weight := func(p *report.Point) float64 { return float64(p.Timed) }
	compare := func(x, y float64, ws func(*report.Report) []paired.Window) paired.Ratio {
		return paired.Unpaired(x, y, ws(a), ws(b), rng)
	}
	figures := []figure{
		{"median", "median", "ms", compare(a.Median, b.Median, window(func(p *report.Point) float64 { return p.P50 }, weight))},
		{"p95", "p95", "ms", compare(a.P95, b.P95, window(func(p *report.Point) float64 { return p.P95 }, weight))},
		{"p99", "p99", "ms", compare(a.P99, b.P99, window(func(p *report.Point) float64 { return p.P99 }, weight))},
		{"rate", "rate", "/s", compare(a.Rate, b.Rate, window((*report.Point).Rate, func(p *report.Point) float64 { return p.Span }))},
	}
	if a.CPUPerRequest > 0 && b.CPUPerRequest > 0 {
		figures = append(figures, figure{"cpu", "CPU per request", "ms", compare(a.CPUPerRequest, b.CPUPerRequest, window(
			func(p *report.Point) float64 { return p.WatchedCores * p.Span * 1e3 / float64(max(p.Completed, 1)) },
			func(p *report.Point) float64 { return float64(p.Completed) }))})
	}
	figures = append(figures, figure{"errors", "error rate", "", compare(failedPart(a), failedPart(b), func(*report.Report) []paired.Window { return nil })})
	c.Warnings = append(c.Warnings, "the runs were not measured in turn: what was different on the machine between them is in the figures and in no interval; whittle compare with two URLs takes turns")
	if a.Plan != b.Plan {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the plans have the same shape and other names: %s and %s", a.Plan, b.Plan))
	}
	c.judge(figures)
	return c, nil
}

// samePlan returns an error where the reports cannot be of one plan.
func samePlan(a, b *report.Report) error {
	names := func(r *report.Report) string {
		var out []string
		for i := range r.Names {
			out = append(out, r.Names[i].Name)
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	var what string
	switch {
	case a.Model != b.Model:
		what = fmt.Sprintf("one is %s, the other %s", a.Model, b.Model)
	case a.Users.Planned != b.Users.Planned:
		what = fmt.Sprintf("one has %d virtual users, the other %d", a.Users.Planned, b.Users.Planned)
	case names(a) != names(b):
		what = fmt.Sprintf("one sends %s, the other %s", names(a), names(b))
	default:
		return nil
	}
	return whittle.Errorf(whittle.Invalid, "compare reports: they are not of the same plan: %s", what)
}
