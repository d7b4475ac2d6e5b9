package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"unicode"
	"unicode/utf8"

	"whittle/internal/chart"
	"whittle/internal/latency"
	"whittle/internal/units"
)

// WriteHTML writes the report as one self-contained HTML file.
func (r *Report) WriteHTML(w io.Writer) error {
	p := &chart.Page{
		Title: "Load on " + r.Target,
		Lead:  r.lead(),
		Footer: fmt.Sprintf("Made by whittle load from %s, started %s, seed %d. Latency counts from the moment each request was due unless said otherwise.",
			r.Plan, r.Started.Format("2006-01-02 15:04:05 MST"), r.Seed),
	}
	p.Sections = append(p.Sections, r.outcomeSection(), r.latencySection(), r.timeSection(), r.machineSection())
	if s, ok := r.errorSection(); ok {
		p.Sections = append(p.Sections, s)
	}
	return p.WriteHTML(w)
}

// figureName is that of a percentile, which is not written with a capital.
var figureName = regexp.MustCompile(`^p\d`)

// sentences writes notes, which stand behind "note: " in a terminal, as
// paragraphs of a page.
func sentences(notes []string) []string {
	out := make([]string, len(notes))
	for i, n := range notes {
		out[i] = n + "."
		if first, size := utf8.DecodeRuneInString(n); !figureName.MatchString(n) {
			out[i] = string(unicode.ToUpper(first)) + n[size:] + "."
		}
	}
	return out
}

// lead summarizes the run in a few sentences.
func (r *Report) lead() string {
	switch {
	case r.Requests > 0 && r.Completed == 0:
		return fmt.Sprintf("Not one of %s got a response: %s.", units.Counted(r.Requests, "request"), cmp.Or(counts(r.Errors), "the run ended before"))
	case r.Void != "":
		return "These figures may not be used: " + r.Void + "."
	}
	who := "them"
	if n := r.Errors[ErrorTimeout]; n > 0 {
		who = fmt.Sprintf("them and of the %s without one in time", chart.Number(float64(n)))
	}
	s := fmt.Sprintf("%s of %s requests got a response, %s a second. Half of %s took at most %s ms, one in a hundred more than %s ms.",
		chart.Number(float64(r.Completed)), chart.Number(float64(r.Requests)), chart.Number(r.Rate), who, chart.Number(r.Median), chart.Number(r.P99))
	if r.Failed > 0 {
		s += fmt.Sprintf(" %s failed.", chart.Number(float64(r.Failed)))
	}
	if busy, cores := r.watchedCores(), r.coreCount(); busy > 0 {
		s += fmt.Sprintf(" The target kept %s cores busy", chart.Number(busy))
		if cores > 0 {
			s += fmt.Sprintf(" of the machine's %d", cores)
		}
		s += "."
	}
	return s
}

// watchedCores is how many cores the watched processes kept busy on average.
func (r *Report) watchedCores() float64 {
	var used, span float64
	for i := range r.Series {
		used += r.Series[i].WatchedCores * r.Series[i].Span
		span += r.Series[i].Span
	}
	if span == 0 {
		return 0
	}
	return used / span
}

func (r *Report) coreCount() int {
	n := 0
	for i := range r.Series {
		n = max(n, len(r.Series[i].Cores))
	}
	return n
}

// timed is a latency of the whole run; where nothing was timed there is none.
func (r *Report) timed(ms float64) string {
	if r.Latency.Intended.Count == 0 && r.Latency.Actual.Count == 0 {
		return "–"
	}
	return chart.Number(ms) + " ms"
}

func (r *Report) outcomeSection() chart.Section {
	tone := func(good bool) chart.Tone {
		if good {
			return chart.Good
		}
		return chart.Bad
	}
	s := chart.Section{Title: "Results", Facts: []chart.Fact{
		{Value: chart.Number(r.Rate) + "/s", Label: "completed requests"},
		{Value: r.timed(r.Median), Label: "median latency"},
		{Value: r.timed(r.P99), Label: "p99 latency"},
		{Value: chart.Number(float64(r.Failed)), Label: "failed requests", Tone: tone(r.Failed == 0)},
	}}
	if r.CPUPerRequest > 0 {
		s.Facts = append(s.Facts, chart.Fact{Value: chart.Number(r.CPUPerRequest) + " ms", Label: "CPU of the target per request"})
	}
	if r.Void != "" {
		s.Facts = append(s.Facts, chart.Fact{Value: "VOID", Label: r.Void, Tone: chart.Bad})
	}
	for _, line := range ScriptLines(r.ScriptFailures) {
		s.Paragraphs = append(s.Paragraphs, "A script failed: "+line)
	}
	s.Paragraphs = append(s.Paragraphs, sentences(r.Warnings)...)
	t := chart.Table{Caption: "Requests by name; latencies in milliseconds", Head: []string{"Request", "Sent", "Completed", "Failed", "Median", "p95", "p99", "Max"}}
	for i := range r.Names {
		n := &r.Names[i]
		t.Rows = append(t.Rows, []string{
			n.Name, chart.Number(float64(n.Requests)), chart.Number(float64(n.Completed)), chart.Number(float64(n.Failed)),
			latencyOf(&n.Intended, n.Intended.P50), latencyOf(&n.Intended, n.Intended.P95), latencyOf(&n.Intended, n.Intended.P99), latencyOf(&n.Intended, n.Intended.Max),
		})
	}
	s.Tables = append(s.Tables, t)
	if len(r.Ensure) > 0 {
		bounds := chart.Table{Caption: "Bounds and conditions", Head: []string{"Bound"}}
		for _, c := range r.Ensure {
			bounds.Rows = append(bounds.Rows, []string{c.String()})
		}
		s.Tables = append(s.Tables, bounds)
	}
	return s
}

func (r *Report) latencySection() chart.Section {
	intended, actual := "from when the request was due", "from when it was sent"
	views := []chart.Quantiles{
		{Name: intended, Role: chart.Monolith, Points: quantilePoints(r.Histograms.Intended)},
		{Name: actual, Role: chart.Candidate, Points: quantilePoints(r.Histograms.Actual)},
	}
	if r.Failed > 0 {
		views = append(views, chart.Quantiles{Name: "from when it was due, successes alone", Role: chart.Neutral, Points: quantilePoints(r.Histograms.Succeeded)})
	}
	if r.Histograms.Corrected != nil {
		views = append(views, chart.Quantiles{Name: "corrected for coordinated omission", Role: chart.Third, Points: quantilePoints(r.Histograms.Corrected)})
	}
	caption := "The slowest tenth, hundredth and thousandth have equal room. Where the two lines part, requests waited before they were even sent."
	if r.Model == ModelClosed {
		caption = "The slowest tenth, hundredth and thousandth have equal room. Users of a closed model wait for their responses, so no request is due " +
			"while one is slow; the corrected line adds those that would have been."
	}
	return chart.Section{Title: "Latency", Figures: []chart.Figure{
		chart.Distribution("Latency over the percentiles", caption, "ms", views),
		r.latencyOverTime(),
	}}
}

// quantilePoints are those of a histogram; nil: there is none.
func quantilePoints(h *latency.Histogram) []chart.Quantile {
	if h == nil {
		return nil
	}
	return chart.QuantilesOf(h.Count(), func(q float64) float64 { return latency.Milliseconds(h.Quantile(q)) })
}

// line makes a series of one figure of every window that has it.
func (r *Report) line(name string, role chart.Role, of func(*Point) float64) chart.Series {
	s := chart.Series{Name: name, Role: role}
	for i := range r.Series {
		p := &r.Series[i]
		s.Points = append(s.Points, chart.Point{X: p.At + p.Width/2, Y: of(p)})
	}
	return s
}

// timed returns a latency only where there were any.
func timed(of func(*Point) float64) func(*Point) float64 {
	return func(p *Point) float64 {
		if p.Timed == 0 {
			return math.NaN()
		}
		return of(p)
	}
}

func (r *Report) latencyOverTime() chart.Figure {
	return chart.Line(chart.Plot{
		Title: "Latency over time", Caption: "Of the responses in each window, on a logarithmic scale. A line that climbs for as long as the load lasts is a queue.",
		XLabel: "since the start", XUnit: "s", YLabel: "latency", YUnit: "ms", LogY: true,
		Series: []chart.Series{
			r.line("median", chart.Candidate, timed(func(p *Point) float64 { return p.P50 })),
			r.line("p95", chart.Third, timed(func(p *Point) float64 { return p.P95 })),
			r.line("p99", chart.Monolith, timed(func(p *Point) float64 { return p.P99 })),
		},
	})
}

// perSecond makes counts of windows rates.
func perSecond(of func(*Point) int64) func(*Point) float64 {
	return func(p *Point) float64 {
		if p.Span < p.Width/10 {
			return math.NaN() // the sliver of a window at a run's end has no rate
		}
		return float64(of(p)) / p.Span
	}
}

// overTime plots lines over the seconds since a run's start.
func overTime(title, caption, label, unit string, lines ...chart.Series) chart.Figure {
	return chart.Line(chart.Plot{Title: title, Caption: caption, XLabel: "since the start", XUnit: "s", YLabel: label, YUnit: unit, Series: lines})
}

func (r *Report) timeSection() chart.Section {
	inFlight := r.line("", chart.Candidate, func(p *Point) float64 { return float64(p.InFlight) })
	inFlight.Area = true
	return chart.Section{Title: "Over time", Figures: []chart.Figure{
		overTime("Rate", "Users who arrived, requests that got a response and requests that failed. Where responses stay below arrivals, the target does not keep up.", "per second", "",
			r.line("virtual users arrived", chart.Neutral, perSecond(func(p *Point) int64 { return p.Arrivals })),
			r.line("responses", chart.Candidate, perSecond(func(p *Point) int64 { return p.Completed })),
			r.line("requests failed", chart.Monolith, perSecond(func(p *Point) int64 { return p.Failed }))),
		overTime("In flight", "Virtual users under way at each look.", "virtual users", "", inFlight),
	}}
}

func (r *Report) errorSection() (chart.Section, bool) {
	if len(r.Codes)+len(r.Errors) == 0 {
		return chart.Section{}, false
	}
	t := chart.Table{Caption: "Responses by status, errors by kind. A 5xx is a response and an error.", Head: []string{"Status or kind", "Number", "Of the requests", "One of them said"}}
	row := func(name string, n int64, said string) {
		t.Rows = append(t.Rows, []string{name, chart.Number(float64(n)), fmt.Sprintf("%.3g %%", 100*float64(n)/float64(max(r.Requests, 1))), said})
	}
	for _, code := range slices.Sorted(maps.Keys(r.Codes)) {
		row(code, r.Codes[code], "")
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
		row(kind, r.Errors[kind], r.sample(kind))
	}
	return chart.Section{Title: "Responses and errors", Tables: []chart.Table{t}}, true
}
