//go:build !demo_count

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whittle/internal/table"
	"whittle/load/duel"
	"whittle/profile/report"
)

// ingestFigures is what the demo found; it is written as JSON.
type ingestFigures struct {
	Format  string        `json:"format"`
	Started time.Time     `json:"started_at"`
	Machine table.Machine `json:"machine"`
	API     string        `json:"kinesis_api"`
	Scale   float64       `json:"ramp_divided_by"`
	Loops   int64         `json:"loops"`
	// Batching is Node.js by PutRecord and by PutRecords, Language is Node.js and Go,
	// both by PutRecords, and Embedded is the seed's server and Go onto its own log.
	Batching *comparison `json:"batching"`
	Language *comparison `json:"language"`
	Embedded *comparison `json:"embedded"`
	Audits   []audit     `json:"audits"`
}

// serverRow is one server of one comparison.
type serverRow struct {
	of   *comparison
	side string // "a" or "b"
}

// ratio is what one comparison shows by itself.
type ratio struct {
	is string
	of *comparison
}

// view is a table of servers at each number of users, and what follows from it.
type view struct {
	rows   []serverRow
	ratios []ratio
}

// runs gives the runs of the row at a level.
func (r *serverRow) runs(level int) (runs []duel.LevelRun) {
	if level >= len(r.of.Levels.Levels) {
		return nil
	}
	for _, run := range r.of.Levels.Levels[level].Runs {
		if run.Side == r.side {
			runs = append(runs, run)
		}
	}
	return runs
}

// over is a figure's median over the runs, with the lowest and the highest.
func over(runs []duel.LevelRun, of func(*duel.LevelRun) float64) string {
	var all []float64
	for i := range runs {
		all = append(all, of(&runs[i]))
	}
	slices.Sort(all)
	switch n := len(all); n {
	case 0:
		return "–"
	case 1:
		return threeDigits(all[0])
	default:
		return fmt.Sprintf("%s (%s–%s)", threeDigits(table.Median(all)), threeDigits(all[0]), threeDigits(all[n-1]))
	}
}

// threeDigits writes a figure with three digits, and all that are before the point.
func threeDigits(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// table has each level with its servers: the medians of their runs.
func (v *view) table() (head []string, rows [][]string) {
	head = []string{"users", "server", "median, ms", "p99, ms", "requests/s", "CPU a request, ms", "failed"}
	for i := range v.rows[0].of.Levels.Levels {
		for k := range v.rows {
			r := &v.rows[k]
			runs := r.runs(i)
			if len(runs) == 0 {
				continue
			}
			failed := int64(0)
			for _, run := range runs {
				failed += run.Failed
			}
			name := map[string]string{"a": r.of.A, "b": r.of.B}[r.side]
			rows = append(rows, []string{
				fmt.Sprint(r.of.Levels.Levels[i].Users), name,
				over(runs, func(r *duel.LevelRun) float64 { return r.Median }),
				over(runs, func(r *duel.LevelRun) float64 { return r.P99 }),
				over(runs, func(r *duel.LevelRun) float64 { return r.Rate }),
				over(runs, func(r *duel.LevelRun) float64 { return r.CPU }),
				fmt.Sprint(failed),
			})
		}
	}
	return head, rows
}

// words says what each comparison shows at each level, as ratios with their 95 %
// intervals.
func (v *view) words() (lines []string) {
	for _, r := range v.ratios {
		for i := range r.of.Levels.Levels {
			l := &r.of.Levels.Levels[i]
			var parts []string
			for _, f := range l.Figures {
				if f.Key == "cpu" || f.Key == "median" {
					parts = append(parts, f.Name+" "+ratioWords(&f))
				}
			}
			if l.Void != "" {
				parts = []string{"void: " + l.Void}
			}
			lines = append(lines, fmt.Sprintf("%d users, %s (%s over %s): %s", l.Users, r.is, r.of.B, r.of.A, strings.Join(parts, ", ")))
		}
	}
	return lines
}

func ratioWords(f *duel.Compared) string {
	low, high := float64(f.Low), float64(f.High)
	if math.IsNaN(low) || math.IsNaN(high) || math.IsInf(high, 0) { // of one run there is none
		return fmt.Sprintf("× %.3g", float64(f.Ratio))
	}
	return fmt.Sprintf("× %.3g (%.3g–%.3g)", float64(f.Ratio), low, high)
}

// asMeasured says what stands in the tables.
const asMeasured = "Every server was warmed up at each number of users before it was measured. A figure is the median of the runs, with the lowest and the highest; a ratio has its 95 % interval. " +
	"Users are closed: a slower server is asked less."

// show prints a view.
func (d *ingestDemo) show(v view) {
	head, rows := v.table()
	var out strings.Builder
	report.WriteTable(&out, head, rows)
	for line := range strings.Lines(out.String()) {
		d.screen.Say("%s", strings.TrimRight(line, "\n"))
	}
	for _, line := range v.words() {
		d.screen.Say("%s", line)
	}
	d.screen.Say("%s", asMeasured)
	for _, r := range v.ratios {
		if r.of.Levels.Void != "" {
			d.screen.Say("VOID, %s: %s", r.is, r.of.Levels.Void)
		}
	}
}

func (d *ingestDemo) report() any { return d.figures }
