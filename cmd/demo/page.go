package main

import (
	"fmt"
	"math"
	"strings"

	"whittle"
	"whittle/internal/chart"
	"whittle/internal/latency"
	"whittle/load/report"
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

func (d *countDemo) report() (any, *chart.Page) { return d.figures, d.figures.page() }

// page shows the figures as charts.
func (s *countFigures) page() *chart.Page {
	p := &chart.Page{
		Title: "demo count",
		Lead: "A Node.js endpoint that takes the whole CPU is carved out into a Go service. The service as it was published is refused, with its flaws " +
			"named; so are two candidates of another endpoint that a test of the service alone does not catch; the mended one is proven on live traffic, takes the users over step by step, is broken on purpose in between, and finishes.",
		Footer: s.footer("count", "make demo"),
	}
	p.Sections = append(p.Sections, s.wonSection())
	p.Sections = append(p.Sections, s.contractSection(), s.refusedSection(), s.flawedSection(), s.provenSection(), s.shiftSection(), chart.Section{Title: "The acts", Tables: []chart.Table{s.actsTable()}})
	return p
}

func (s *countFigures) wonSection() chart.Section {
	rows := s.comparison()
	table := chart.Table{Caption: "The same plan through the gateway, before and after", Head: []string{"", "monolith", "carved", "won"}}
	section := chart.Section{Title: "What was won", Paragraphs: []string{queueNote, watchedNote}}
	for _, r := range rows {
		table.Rows = append(table.Rows, []string{strings.TrimSpace(r.label), r.before, r.after, r.won})
	}
	section.Facts = []chart.Fact{
		{Label: "CPU per request", Value: rows[5].won + " less", Tone: tone(s.After.CPUPerRequest < s.Monolith.CPUPerRequest)},
		{Label: "median under this load", Value: rows[2].won + " less", Tone: tone(s.After.MedianMS < s.Monolith.MedianMS)},
		{Label: "errors users saw", Value: fmt.Sprint(s.Rollout.UserErrors), Tone: tone(s.Rollout.UserErrors == 0)},
	}
	section.Tables = []chart.Table{table}
	if s.before == nil || s.after == nil {
		return section
	}
	section.Figures = append(section.Figures,
		chart.Distribution("Latency over the percentiles", "What users waited from the moment their request was due.", "ms", []chart.Quantiles{
			{Name: "monolith", Role: chart.Monolith, Points: quantiles(s.before.Histograms.Intended)},
			{Name: "carved service", Role: chart.Candidate, Points: quantiles(s.after.Histograms.Intended)},
		}),
		chart.Line(chart.Plot{
			Title: "Latency over time", Caption: "The median of each second's responses, on a logarithmic scale: the monolith's queue grows as long as requests come, the service has none.",
			XLabel: "since the first request", XUnit: "s", YLabel: "median", YUnit: "ms", LogY: true,
			Series: []chart.Series{
				{Name: "monolith", Role: chart.Monolith, Points: medians(s.before)},
				{Name: "carved service", Role: chart.Candidate, Points: medians(s.after)},
			},
		}))
	return section
}

func quantiles(h *latency.Histogram) []chart.Quantile {
	var out []chart.Quantile
	for _, q := range []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999} {
		out = append(out, chart.Quantile{Q: q, Value: float64(h.Quantile(q).Microseconds()) / 1000})
	}
	return out
}

func medians(r *report.Report) []chart.Point {
	var out []chart.Point
	for _, p := range r.Series {
		if p.Completed > 0 {
			out = append(out, chart.Point{X: p.At, Y: p.P50})
		}
	}
	return out
}

func (s *countFigures) contractSection() chart.Section {
	guesses := chart.Table{Caption: "Each guess, and what it stands on", Head: []string{"what", "is taken for", "and not for", "because"}}
	for _, g := range s.Contract.Guesses {
		guesses.Rows = append(guesses.Rows, []string{g.Path, g.Chosen, g.Against, g.Evidence})
	}
	both := chart.Table{Caption: fmt.Sprintf("Read off %d live exchanges, and the contract of this repository", s.Contract.Exchanges), Head: []string{"inferred", "written by hand"}}
	for i := range max(len(s.Contract.Inferred), len(s.Contract.Seed)) {
		var cells [2]string
		for at, lines := range [2][]string{s.Contract.Inferred, s.Contract.Seed} {
			if i < len(lines) {
				cells[at] = lines[i]
			}
		}
		both.Rows = append(both.Rows, cells[:])
	}
	return chart.Section{Title: "The contract, read off live traffic", Tables: []chart.Table{both, guesses}}
}

func (s *countFigures) refusedSection() chart.Section {
	table := chart.Table{Caption: "Findings", Head: []string{"kind", "what differs", "why", "seen in", "shown after"}}
	for i := range s.AsPublished.Findings {
		f := &s.AsPublished.Findings[i]
		if !f.Decided {
			continue
		}
		table.Rows = append(table.Rows, []string{
			strings.TrimSpace(string(f.Kind) + " " + f.Path), f.Summary, f.Cause,
			fmt.Sprintf("%d of %d", f.Count, f.Of), fmt.Sprintf("%d exchanges", f.DecidedAt),
		})
	}
	return chart.Section{
		Title: "Refused: the service as it was published",
		Facts: []chart.Fact{
			{Label: "verdict", Value: string(s.AsPublished.Verdict), Tone: tone(s.AsPublished.Verdict == whittle.Different)},
			{Label: "exchanges compared", Value: fmt.Sprint(s.AsPublished.Compared)},
			{Label: "greatest share of users it had", Value: fmt.Sprintf("%g %%", s.AsPublished.MaxShare), Tone: tone(s.AsPublished.MaxShare == 0)},
		},
		Paragraphs: []string{"Asked to promote it all the same: " + s.AsPublished.Refused},
		Tables:     []chart.Table{table},
	}
}

func (s *countFigures) provenSection() chart.Section {
	section := chart.Section{
		Title: "Proven: the mended service",
		Facts: []chart.Fact{
			{Label: "verdict", Value: string(s.Mended.Verdict), Tone: tone(s.Mended.Verdict == whittle.Equivalent)},
			{Label: "exchanges compared", Value: fmt.Sprint(s.Mended.Compared)},
		},
		Paragraphs: []string{s.Mended.Summary + "."},
	}
	var intervals []chart.Interval
	for _, b := range s.Mended.Bounds {
		intervals = append(intervals, chart.Interval{
			Label: b.What, Low: b.Low, Estimate: b.Estimate, High: b.High,
			MarginLow: b.MarginLow, MarginTop: b.MarginHigh, Inside: b.Inside,
		})
		section.Paragraphs = append(section.Paragraphs, b.Summary+".")
	}
	if len(intervals) > 0 {
		section.Figures = append(section.Figures, chart.Intervals("What could still differ",
			"The interval that holds whenever one looks, against the margin within which a difference does not matter.", intervals))
	}
	if low, high, margin := s.narrowing(); len(low) > 1 {
		section.Figures = append(section.Figures, chart.Line(chart.Plot{
			Title: "The evidence narrows", Caption: "The interval for the relative difference of the means, while exchanges came in.",
			XLabel: "exchanges compared", YLabel: "difference of the means", YUnit: "%", YMin: -4 * margin, YMax: 4 * margin,
			Series: []chart.Series{
				{Name: "upper end", Role: chart.Candidate, Points: high},
				{Name: "lower end", Role: chart.Candidate, Points: low},
				{Name: "margin", Role: chart.Neutral, Points: []chart.Point{{X: low[0].X, Y: margin}, {X: low[len(low)-1].X, Y: margin}}},
				{Name: "margin below", Role: chart.Neutral, Points: []chart.Point{{X: low[0].X, Y: -margin}, {X: low[len(low)-1].X, Y: -margin}}},
			},
		}))
	}
	return section
}

// narrowing gives the mended service's first evidence over time, in percent.
func (s *countFigures) narrowing() (low, high []chart.Point, margin float64) {
	begun := false
	for i, b := range s.bounds {
		if begun && b.compared < s.bounds[i-1].compared && len(low) > 0 {
			low, high = nil, nil // evidence began afresh: what was before is another service's
		}
		begun = true
		if len(low) > 0 && b.compared > s.Mended.Compared {
			break
		}
		low = append(low, chart.Point{X: float64(b.compared), Y: 100 * b.low})
		high = append(high, chart.Point{X: float64(b.compared), Y: 100 * b.high})
		margin = 100 * b.margin
	}
	return low, high, margin
}

func (s *countFigures) shiftSection() chart.Section {
	share := chart.Series{Name: "share of users on the service", Role: chart.Candidate, Step: true, Area: true}
	for _, p := range s.shares {
		share.Points = append(share.Points, chart.Point{X: s.since(p.at), Y: p.share})
	}
	var marks []chart.Mark
	for _, t := range s.Rollout.Timeline {
		if t.Phase == whittle.PhaseRolledBack {
			marks = append(marks, chart.Mark{X: s.since(t.At), Text: "killed"})
		}
	}
	section := chart.Section{
		Title: "Shifted, broken, rolled back, finished",
		Facts: []chart.Fact{
			{Label: "from the kill to share 0", Value: fmt.Sprintf("%.0f ms", s.Rollout.RolledBackMS), Tone: tone(s.Rollout.RolledBackMS <= 1000)},
			{Label: "requests that met the dead service", Value: fmt.Sprint(s.Rollout.RequestsTouched), Tone: tone(s.Rollout.RequestsTouched <= 50)},
			{Label: "errors users saw", Value: fmt.Sprintf("%d of %d", s.Rollout.UserErrors, s.Rollout.Requests), Tone: tone(s.Rollout.UserErrors == 0)},
		},
		Paragraphs: []string{"The wrong responses that users could have got, by those of the candidate's that were compared: " + s.Rollout.budgetNote() + "."},
		Tables:     []chart.Table{s.Rollout.budgetTable(), s.timelineTable("Every decision and its reason", s.Rollout.Timeline)},
	}
	if len(share.Points) > 1 {
		section.Figures = append(section.Figures, chart.Line(chart.Plot{
			Title: "The share over time", Caption: "The service is killed in the middle of the shift, proven afresh, and goes to the end.",
			XLabel: "since the demo began", XUnit: "s", YLabel: "share", YUnit: "%", YMax: 100,
			Series: []chart.Series{share}, Marks: marks,
		}))
	}
	return section
}

func tone(good bool) chart.Tone {
	if good {
		return chart.Good
	}
	return chart.Bad
}
