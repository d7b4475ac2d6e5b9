package report

import (
	"fmt"
	"math"
	"strconv"

	"whittle/internal/chart"
)

// machineSection shows who used the machine, and whether the generator was the
// limit.
func (r *Report) machineSection() chart.Section {
	s := chart.Section{Title: "The machine"}
	if cores := r.coreCount(); cores > 0 {
		s.Paragraphs = append(s.Paragraphs, r.coreSummary())
		s.Figures = append(s.Figures, r.coreMap(cores))
	}
	busy := []chart.Series{r.line("generator", chart.Neutral, func(p *Point) float64 { return p.GeneratorCores })}
	if r.watchedCores() > 0 {
		busy = append(busy, r.line("watched processes", chart.Monolith, func(p *Point) float64 { return p.WatchedCores }))
	}
	s.Figures = append(
		s.Figures,
		OverTime("Cores kept busy", "A target that stays at one core while others are idle is limited by a single thread, whatever the machine has left.", "cores", "", busy...),
		OverTime("The generator's lateness", "The latest start of a virtual user in each window, against its planned time. What is late here is the generator's own doing.", "late by", "ms",
			r.line("", chart.Neutral, func(p *Point) float64 { return p.Late })),
	)
	t := chart.Table{Caption: "CPU time", Head: []string{"Who", "Used", "Per request"}}
	for _, p := range r.Processes {
		t.Rows = append(t.Rows, []string{p.Name, seconds(p.CPU / 1e3), chart.Number(p.CPUPerRequest) + " ms"})
	}
	t.Rows = append(t.Rows, []string{"generator", seconds(r.Generator.CPU / 1e3), chart.Number(r.Generator.CPUPerRequest) + " µs"})
	s.Tables = append(s.Tables, t)
	if len(r.Workers) > 0 {
		s.Tables = append(s.Tables, r.workersTable())
	}
	return s
}

// workersTable says what each of several processes did.
func (r *Report) workersTable() chart.Table {
	t := chart.Table{Caption: "Workers", Head: []string{"Worker", "Users", "Requests", "Completed", "Failed", "Cores", "p99 late", "Clock ±", "Void"}}
	for _, w := range r.Workers {
		t.Rows = append(t.Rows, []string{
			w.Name, strconv.FormatInt(w.Users, 10), strconv.FormatInt(w.Requests, 10), strconv.FormatInt(w.Completed, 10), strconv.FormatInt(w.Failed, 10),
			chart.Number(w.Cores), milliseconds(w.ScheduleError.P99) + " ms", chart.Number(w.ClockError) + " ms", w.Void,
		})
	}
	return t
}

// coreAverages is how busy each core was over the run.
func (r *Report) coreAverages(cores int) []float64 {
	out, span := make([]float64, cores), make([]float64, cores)
	for i := range r.Series {
		p := &r.Series[i]
		for c, v := range p.Cores {
			out[c] += v * p.Span
			span[c] += p.Span
		}
	}
	for c := range out {
		if span[c] > 0 {
			out[c] /= span[c]
		}
	}
	return out
}

// machineBusy is the part of all cores' time that was used, by anything; 0
// where nobody knows.
func (r *Report) machineBusy() float64 {
	sum, n := 0.0, 0.0
	for _, a := range r.coreAverages(r.coreCount()) {
		sum, n = sum+a, n+1
	}
	return sum / max(n, 1)
}

// coreSummary says in words what the map shows.
func (r *Report) coreSummary() string {
	averages := r.coreAverages(r.coreCount())
	sum, most, which := 0.0, 0.0, 0
	for i, a := range averages {
		sum += a
		if a > most {
			most, which = a, i
		}
	}
	rest := 0.0
	if len(averages) > 1 {
		rest = (sum - most) / float64(len(averages)-1)
	}
	all := r.machineBusy()
	switch {
	case all > 0.9:
		return fmt.Sprintf("All %d cores were busy: %.0f %% of the time on average, with all that ran on the machine. What is measured then is the machine, and the generator has a part in it.", len(averages), 100*all)
	case most > 0.7 && most > 2*rest:
		return fmt.Sprintf("Core %d was busy %.0f %% of the time, the other cores %.0f %% on average: the work runs on one thread.", which, 100*most, 100*rest)
	}
	return fmt.Sprintf("The machine's %d cores were busy %.0f %% of the time on average, the busiest %.0f %%.", len(averages), 100*all, 100*most)
}

// coreMap is htop over time: a row for each core.
func (r *Report) coreMap(cores int) chart.Figure {
	rows := make([]chart.HeatRow, cores)
	for c := range rows {
		rows[c].Name = "core " + strconv.Itoa(c)
	}
	from, to := 0.0, 0.0
	for i := range r.Series {
		p := &r.Series[i]
		to = math.Max(to, p.At+p.Width)
		for c := range rows {
			v := math.NaN()
			if c < len(p.Cores) {
				v = p.Cores[c]
			}
			rows[c].Values = append(rows[c].Values, v)
		}
	}
	return chart.Heat("Every core over time", "All programs on the generator's machine together: the fuller the colour, the busier the core.", "since the start", "s", from, to, rows)
}
