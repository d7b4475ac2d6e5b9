package replay

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/chart"
	"whittle/internal/latency"
)

// WriteHTML writes the report as one self-contained HTML file.
func (r *Report) WriteHTML(w io.Writer) error {
	p := &chart.Page{
		Title: "Replay against " + r.Against,
		Lead:  r.Summary + ".",
		Footer: fmt.Sprintf("Made by whittle replay from %s, started %s. Monolith: what the log holds; candidate: what was returned in this replay.",
			r.Log, r.Started.Format("2006-01-02 15:04:05 MST")),
	}
	p.Sections = append(p.Sections, r.outcome(), r.routesSection())
	for i := range r.Routes {
		if s, ok := r.Routes[i].section(); ok {
			p.Sections = append(p.Sections, s)
		}
	}
	p.Sections = append(p.Sections, r.latencySection(), r.shapesSection())
	return p.WriteHTML(w)
}

func tone(v whittle.State) chart.Tone {
	switch v {
	case whittle.Equivalent:
		return chart.Good
	case whittle.Different:
		return chart.Bad
	}
	return chart.Plain
}

func count(n int64) string { return chart.Number(float64(n)) }

// ms formats one latency of a route; it is empty where there is none.
func ms(of *latency.Snapshot, d time.Duration) string {
	if of.Count == 0 {
		return "–"
	}
	return chart.Number(latency.Milliseconds(d))
}

func (r *Report) outcome() chart.Section {
	s := chart.Section{Title: "What came of it", Facts: []chart.Fact{
		{Value: string(r.Verdict), Label: "verdict", Tone: tone(r.Verdict)},
		{Value: count(r.Ledger.Compared), Label: "compared of " + count(r.Ledger.Total)},
		{Value: count(r.Differing), Label: "different response"},
		{Value: chart.Percent(math.Round(1000*r.Shapes.Share)/1000) + " %", Label: "of the recorded shapes met"},
	}}
	if r.Interrupted {
		s.Paragraphs = append(s.Paragraphs, "The replay was ended early.")
	}
	for _, n := range r.Notes {
		s.Paragraphs = append(s.Paragraphs, strings.ToUpper(n[:1])+n[1:]+".")
	}
	t := chart.Table{Caption: "The ledger: every exchange of the log, once", Head: []string{"What became of it", "Exchanges"}}
	t.Rows = append(t.Rows, []string{"compared", count(r.Ledger.Compared)})
	for _, why := range slices.Sorted(maps.Keys(r.Ledger.Skipped)) {
		t.Rows = append(t.Rows, []string{"skipped: " + SkipText(why), count(r.Ledger.Skipped[why])})
	}
	t.Rows = append(t.Rows, []string{"failed: the candidate gave no response", count(r.Ledger.Failed)}, []string{"total", count(r.Ledger.Total)})
	s.Tables = append(s.Tables, t)
	return s
}

func (r *Report) routesSection() chart.Section {
	t := chart.Table{
		Caption: "Routes; latencies in milliseconds, the monolith's as recorded and the candidate's now",
		Head:    []string{"Route", "Verdict", "Exchanges", "Compared", "Differ", "Failed", "p50 then", "p50 now", "p99 then", "p99 now"},
	}
	for i := range r.Routes {
		o := &r.Routes[i]
		t.Rows = append(t.Rows, []string{
			o.Route, string(o.Verdict.State), count(o.Ledger.Total), count(o.Ledger.Compared), count(o.Differing), count(o.Ledger.Failed),
			ms(&o.Recorded, o.Recorded.P50), ms(&o.Now, o.Now.P50), ms(&o.Recorded, o.Recorded.P99), ms(&o.Now, o.Now.P99),
		})
	}
	return chart.Section{Title: "Routes", Tables: []chart.Table{t}}
}

// section renders a route's findings; it returns false where there are none.
func (o *Route) section() (chart.Section, bool) {
	v := &o.Verdict
	s := chart.Section{Title: o.Route, Paragraphs: []string{v.Summary + "."}}
	if len(v.Findings) == 0 {
		return s, false
	}
	if len(o.Noise) > 0 {
		s.Paragraphs = append(s.Paragraphs, "What the monolith changes by itself: "+strings.Join(o.Noise, ", ")+".")
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		t := chart.Table{
			Caption: strings.TrimSpace(string(f.Kind)+" "+f.Path) + ": " + f.Summary + " (" + Certainty(f) + ")",
			Head:    []string{"Request", "Monolith", "Candidate"},
		}
		if f.Cause != "" {
			t.Caption += ". Perhaps because " + f.Cause
		}
		for _, one := range f.Samples {
			t.Rows = append(t.Rows, sampleRow(&one))
		}
		s.Tables = append(s.Tables, t)
	}
	return s, true
}

// sampleRow shows a sample by the place that differs, or else by the beginnings
// of both responses.
func sampleRow(s *whittle.Sample) []string {
	if s.MonolithValue == "" && s.CandidateValue == "" {
		return []string{s.Request, s.Monolith, s.Candidate}
	}
	side := func(value, around string) string {
		if around != "" && around != value {
			return value + " in " + around
		}
		return value
	}
	return []string{s.Request + ", at " + s.Where, side(s.MonolithValue, s.MonolithAround), side(s.CandidateValue, s.CandidateAround)}
}

// Certainty says how certain a finding is.
func Certainty(f *whittle.Finding) string {
	switch {
	case f.Expected != "":
		return "expected: " + f.Expected
	case f.Decided:
		return "shown after " + strconv.Itoa(f.DecidedAt) + " exchanges"
	}
	return "suspected"
}

func (r *Report) latencySection() chart.Section {
	s := chart.Section{Title: "Latency", Figures: []chart.Figure{
		chart.Distribution("Then and now", "The slowest tenth, hundredth and thousandth have equal room.", "ms", []chart.Quantiles{
			{Name: "monolith, as recorded", Role: chart.Monolith, Points: quantiles(r.then)},
			{Name: "candidate, now", Role: chart.Candidate, Points: quantiles(r.now)},
		}),
	}}
	if r.Schedule.Speed > 0 {
		s.Facts = append(
			s.Facts,
			chart.Fact{Value: ms(&r.Latency.Intended, r.Latency.Intended.P99) + " ms", Label: "p99 from when each request was due"},
			chart.Fact{Value: ms(&r.Schedule.Late, r.Schedule.Late.P99) + " ms", Label: "p99 of how late requests were sent"},
			chart.Fact{Value: ms(&r.Schedule.Own, r.Schedule.Own.P99) + " ms", Label: "of which whittle's own lateness"},
		)
	}
	return s
}

func quantiles(h *latency.Histogram) []chart.Quantile {
	return chart.QuantilesOf(h.Count(), func(q float64) float64 { return latency.Milliseconds(h.Quantile(q)) })
}

func (r *Report) shapesSection() chart.Section {
	s := chart.Section{Title: "Shapes of request", Paragraphs: []string{fmt.Sprintf(
		"A shape is the route, the names in the query, the structure of the body and the recorded status. The candidate has met %d of %d; %s %% of the exchanges have such a shape.",
		r.Shapes.Met, r.Shapes.Recorded, chart.Percent(math.Round(1000*r.Shapes.MetExchanges)/1000))}}
	if len(r.Shapes.Differ) > 0 {
		t := chart.Table{Caption: "Shapes that do not always get the same response", Head: []string{"Shape", "Recorded", "Compared", "Differ"}}
		for _, one := range r.Shapes.Differ {
			t.Rows = append(t.Rows, []string{one.Shape, count(one.Recorded), count(one.Compared), count(one.Differing)})
		}
		s.Tables = append(s.Tables, t)
	}
	if len(r.Shapes.Unmet) > 0 {
		t := chart.Table{Caption: "Shapes that the candidate has not met", Head: []string{"Shape", "Recorded", "Why"}}
		for _, one := range r.Shapes.Unmet {
			t.Rows = append(t.Rows, []string{one.Shape, count(one.Recorded), SkipText(one.Why)})
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

var skipWords = map[string]string{
	whittle.SkipNotSafe:      "may change something, and the write contract does not allow it",
	whittle.SkipTooLarge:     "a body was too large, or could not be redacted, so it was not recorded or not compared",
	whittle.SkipStreaming:    "an upgrade or an event stream",
	whittle.SkipCanceled:     "the client went away",
	whittle.SkipServed:       "the recorded response is a candidate's",
	whittle.SkipUntranslated: "the request has no meaning in the contract",
	whittle.SkipInterrupted:  "the replay ended before its turn",
	whittle.SkipStale:        "it came to the log, or left it, while it was replayed",
	whittle.SkipMonolith:     "the monolith gave no response to compare with",
	skipOther:                "of a route that was not asked for",
	skipNoRoute:              "the config has no candidate for it",
	whittle.SkipEncoded:      "its response has an encoding that is not read here",
	skipRedacted:             "denied, or not the same, and its credential is only a token",
	skipNoKey:                "its recorded response has tokens in the place of secrets, and their key is missing",
	failed:                   "the candidate gave no response",
}

// SkipText explains a reason for which an exchange was not compared.
func SkipText(why string) string {
	if words, ok := skipWords[why]; ok {
		return words
	}
	return why
}
