package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"whittle/bench/table"
	"whittle/internal/chart"
	"whittle/load/duel"
)

// ingestFigures is what the demo found; it is written as JSON.
type ingestFigures struct {
	Format   string             `json:"format"`
	Started  time.Time          `json:"started_at"`
	Machine  table.Machine      `json:"machine"`
	API      string             `json:"kinesis_api"`
	Scale    float64            `json:"ramp_divided_by"`
	Loops    int64              `json:"loops"`
	Kinesis  *duel.LevelsReport `json:"kinesis"`
	Embedded *duel.LevelsReport `json:"embedded"`
	// Carried is how many events went together at each level, of Kinesis first.
	Carried []carried `json:"events_carried"`
	Audits  []audit   `json:"audits"`
}

// runsOf gives the three runs of each target at a level, and whether any failed.
func runsOf(l *duel.Level, side string) (runs []duel.LevelRun) {
	for _, r := range l.Runs {
		if r.Side == side {
			runs = append(runs, r)
		}
	}
	return runs
}

// levelRows are the seed's four figures as one table: each level with the
// medians of its runs.
func levelRows(r *duel.LevelsReport, together []carried, a, b string) (head []string, rows [][]string) {
	head = []string{"users", "server", "events together", "median, run 1", "run 2", "run 3", "p99, run 3", "requests/s", "CPU a request", "failed"}
	for i := range r.Levels {
		l := &r.Levels[i]
		for side, name := range map[string]string{"a": a, "b": b} {
			row := []string{fmt.Sprint(l.Users), name, together[i].words(side)}
			runs := runsOf(l, side)
			var last duel.LevelRun
			failed := int64(0)
			for _, run := range runs {
				row = append(row, chart.Milliseconds(run.Median))
				last = run
				failed += run.Failed
			}
			cpu := "–"
			if last.CPU > 0 {
				cpu = chart.Milliseconds(last.CPU)
			}
			rows = append(rows, append(row, chart.Milliseconds(last.P99), chart.Number(last.Rate), cpu, fmt.Sprint(failed)))
		}
		if n := len(rows); n >= 2 && rows[n-1][1] == a { // a map has no order
			rows[n-1], rows[n-2] = rows[n-2], rows[n-1]
		}
	}
	return head, rows
}

// show prints a comparison.
func (d *ingestDemo) show(r *duel.LevelsReport, together []carried, a, b string) {
	head, rows := levelRows(r, together, a, b)
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // into a strings.Builder, which cannot fail
	for line := range strings.Lines(out.String()) {
		d.screen.Say("%s", strings.TrimRight(line, "\n"))
	}
	for _, v := range r.Verdict {
		d.screen.Say("%s", v)
	}
	if r.Void != "" {
		d.screen.Say("VOID: %s", r.Void)
	}
}

func (d *ingestDemo) report() (any, *chart.Page, error) { return d.figures, d.figures.page(), nil }

// page shows the figures as one file.
func (s *ingestFigures) page() *chart.Page {
	p := &chart.Page{
		Title: "POST /import: Go against Node.js",
		Lead:  "The same events, the same users, one server after the other, answered only when the event was kept.",
		Footer: fmt.Sprintf("Made by demo ingest on %d cores of %s, Kinesis API by %s, started %s. The seed's ramp of a tenth of a second a user is divided by %g.",
			s.Machine.Cores, s.Machine.CPU, s.API, s.Started.Format("2006-01-02 15:04:05 MST"), s.Scale),
	}
	var read, missing, wrong int
	for _, a := range s.Audits {
		read, missing, wrong = read+a.Acknowledged, missing+a.Missing, wrong+a.Twice+a.Changed
	}
	tone := chart.Good
	if missing+wrong > 0 {
		tone = chart.Bad
	}
	p.Sections = append(p.Sections, chart.Section{Facts: []chart.Fact{
		{Value: fmt.Sprint(read), Label: "events acknowledged and looked for"},
		{Value: fmt.Sprint(missing), Label: "of them missing", Tone: tone},
		{Value: fmt.Sprint(wrong), Label: "twice, or not byte for byte", Tone: tone},
	}})
	if s.Kinesis != nil {
		p.Sections = append(p.Sections, ingestSection("Onto Kinesis", s.Kinesis, s.Carried, "Node.js", "Go"))
	}
	if s.Embedded != nil {
		p.Sections = append(p.Sections, ingestSection("Onto the embedded log, against Node.js onto Kinesis", s.Embedded, s.Carried[len(s.Kinesis.Levels):], "Node.js, Kinesis", "Go, fsync"))
	}
	return p
}

func ingestSection(title string, r *duel.LevelsReport, together []carried, a, b string) chart.Section {
	head, rows := levelRows(r, together, a, b)
	s := chart.Section{Title: title, Tables: []chart.Table{{Caption: "Response times, each run at each number of users", Head: head, Rows: rows}}}
	s.Paragraphs = append(s.Paragraphs, r.Verdict...)
	s.Paragraphs = append(s.Paragraphs, "A is "+a+", B is "+b+". Users are closed: a slower server is asked less. "+asSent)
	var groups []chart.BarGroup
	for i := range r.Levels {
		l := &r.Levels[i]
		g := chart.BarGroup{Name: fmt.Sprintf("%d users", l.Users), Unit: "ms"}
		for n := range ingestSeed.runs {
			for side, name := range []string{a, b} {
				runs := runsOf(l, []string{"a", "b"}[side])
				if n < len(runs) {
					g.Bars = append(g.Bars, chart.Bar{Label: fmt.Sprintf("%s, run %d", name, n+1), Value: runs[n].Median, Role: []chart.Role{chart.Monolith, chart.Candidate}[side]})
				}
			}
		}
		groups = append(groups, g)
	}
	s.Figures = []chart.Figure{chart.Bars("Median response time", "The seed's four figures: each number of users with its runs.", groups)}
	return s
}
