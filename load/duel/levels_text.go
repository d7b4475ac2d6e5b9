package duel

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"whittle/internal/chart"
	"whittle/load/report"
)

// rows is the table of all levels: a line for each target and one for the
// ratio.
func (r *LevelsReport) rows() (head []string, rows [][]string) {
	head = []string{"users", "target"}
	for i := range r.Levels {
		l := &r.Levels[i]
		a, b, ratio := []string{fmt.Sprint(l.Users), "A"}, []string{"", "B"}, []string{"", "B over A"}
		for k := range l.Figures {
			f := &l.Figures[k]
			if i == 0 {
				head = append(head, f.label())
			}
			a, b = append(a, f.value(f.A)), append(b, f.value(f.B))
			ratio = append(ratio, f.ratioLabel())
		}
		rows = append(rows, a, b, ratio)
	}
	return head, rows
}

// pageRows is the same table with a line for each figure: a page has less room
// across than a terminal.
func (r *LevelsReport) pageRows() (rows [][]string) {
	for i := range r.Levels {
		l := &r.Levels[i]
		for k := range l.Figures {
			f := &l.Figures[k]
			rows = append(rows, []string{fmt.Sprint(l.Users), f.label(), f.value(f.A), f.value(f.B), f.ratioLabel()})
		}
	}
	return rows
}

// ratioLabel is the ratio with its interval, marked where it is called different.
func (f *Compared) ratioLabel() string {
	cell := ratioText(f.Ratio)
	if f.interval() != "–" {
		cell += " (" + f.interval() + ")"
	}
	if f.Different {
		cell += " *"
	}
	return cell
}

// WriteSummary prints the table and the verdicts for people.
func (r *LevelsReport) WriteSummary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nA  %s\nB  %s\n\n", r.Plan, r.A, r.B)
	head, rows := r.rows()
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // into a strings.Builder, which cannot fail
	fmt.Fprintf(&b, "\nIn brackets 95 %% intervals (%s); * is called different, all figures judged together.\n\n", r.Method)
	for _, v := range r.Verdict {
		fmt.Fprintln(&b, v)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "\nnote: %s\n", warning)
	}
	if r.Void != "" {
		fmt.Fprintf(&b, "\nVOID: %s\n", r.Void)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteHTML writes the comparison as one self-contained HTML file.
func (r *LevelsReport) WriteHTML(w io.Writer) error {
	s := chart.Section{
		Title:      "By the number of users",
		Paragraphs: append([]string{"A is " + r.A + ", B is " + r.B + "."}, r.Verdict...),
		Tables: []chart.Table{{Caption: "Means over the runs, and the ratio with its 95 % interval, * where it is called " +
			"different", Head: []string{"users", "figure", "A", "B", "B over A"}, Rows: r.pageRows()}},
	}
	s.Paragraphs = append(s.Paragraphs, report.Sentences(r.Warnings)...)
	lead := "The same plan, the same users, two targets, in whole runs whose order a coin decided."
	if r.Void != "" {
		lead = "These figures may not be used: " + r.Void + "."
	}
	p := &chart.Page{
		Title: "Two targets from few users to many", Lead: lead, Sections: []chart.Section{s, {
			Title: "How this was measured", Paragraphs: []string{
				"Intervals: " + r.Method + ". They show how runs differ, not how requests within a run do.",
				"Users are closed: each sends its next request after the response to the one before, so a slower target gets fewer requests.",
			},
		}},
		Footer: fmt.Sprintf("Made by whittle compare from %s, started %s, seed %d.", r.Plan, r.Started.Format("2006-01-02 15:04:05 MST"), r.Seed),
	}
	return p.WriteHTML(w)
}
