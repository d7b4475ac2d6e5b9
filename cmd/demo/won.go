package main

import (
	"fmt"
	"math"

	"whittle/internal/chart"
)

// row is one line of the comparison.
type row struct {
	label         string
	before, after string
	won           string
}

func (s *countFigures) comparison() []row {
	b, a := &s.Monolith, &s.After
	ms := func(label string, x, y float64) row {
		return row{label, chart.Milliseconds(x), chart.Milliseconds(y), times(x, y)}
	}
	rows := []row{
		{"requests completed", fmt.Sprintf("%d of %d", b.Completed, b.Requests), fmt.Sprintf("%d of %d", a.Completed, a.Requests), ""},
		{"completed per second", fmt.Sprintf("%.1f", b.Rate), fmt.Sprintf("%.1f", a.Rate), times(a.Rate, b.Rate)},
		ms("median", b.MedianMS, a.MedianMS),
		ms("p95", b.P95MS, a.P95MS),
		ms("p99", b.P99MS, a.P99MS),
		ms("CPU per request", b.CPUPerRequest, a.CPUPerRequest),
	}
	for _, name := range []string{"monolith", "count", "gateway"} {
		rows = append(rows, row{"  of which " + name, chart.Milliseconds(b.CPUByProcess[name]), chart.Milliseconds(a.CPUByProcess[name]), ""})
	}
	return rows
}

// What a reader must know so that the table does not flatter.
const (
	watchedNote = "After the carve the monolith still works on the requests that whittle goes on comparing: so soon after the shift a large part, then less and less of them, down to 5 % (mirror.watch)."
	queueNote   = "The monolith's latency is its queue, which grows for as long as the load lasts: a longer run would make it look worse still. CPU per request does not depend on that."
)

// times says how many times the greater is the smaller.
func times(greater, smaller float64) string {
	if smaller <= 0 {
		return ""
	}
	ratio := greater / smaller
	if ratio >= 1000 { // more digits would claim what no run repeats
		unit := math.Pow10(int(math.Log10(ratio)) - 1)
		ratio = math.Round(ratio/unit) * unit
	}
	return chart.Number(ratio) + " times"
}

// printComparison prints the table before/after.
func (d *countDemo) printComparison() {
	d.screen.Heading("The same load before and after")
	d.screen.Say("%-24s %14s %14s %14s", "", "monolith", "carved", "won")
	for _, r := range d.figures.comparison() {
		d.screen.Say("%-24s %14s %14s %14s", r.label, r.before, r.after, r.won)
	}
	d.screen.Say("%s", queueNote)
	d.screen.Say("%s", watchedNote)
	d.screen.Say("users' requests while it was shadowed, shifted and broken: %d; errors among them: %d", d.figures.Rollout.Requests, d.figures.Rollout.UserErrors)
}

func (d *countDemo) report() any { return d.figures }
