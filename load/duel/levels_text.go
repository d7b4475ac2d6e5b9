package duel

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
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
