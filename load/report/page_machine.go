package report

import "whittle/internal/chart"

// machineSection shows who used the machine, and whether the generator was the limit.
func (r *Report) machineSection() chart.Section {
	s := chart.Section{Title: "The machine"}
	busy := []chart.Series{r.line("generator", chart.Neutral, func(p *Point) float64 { return p.GeneratorCores })}
	if r.watchedCores() > 0 {
		busy = append(busy, r.line("watched processes", chart.Monolith, func(p *Point) float64 { return p.WatchedCores }))
	}
	s.Figures = append(
		s.Figures,
		overTime("Cores kept busy", "A target that stays at one core while others are idle is limited by a single thread, whatever the machine has left.", "cores", "", busy...),
		overTime("The generator's lateness", "The latest start of a virtual user in each window, against its planned time. What is late here is the generator's own doing.", "late by", "ms",
			r.line("", chart.Neutral, func(p *Point) float64 { return p.Late })),
	)
	return s
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
