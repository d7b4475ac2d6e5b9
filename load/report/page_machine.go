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

// machineBusy is the part of all cores' time that was used, by anything; 0
// where nobody knows.
func (r *Report) machineBusy() float64 {
	cores, sum := r.coreCount(), 0.0
	for c := range cores {
		used, span := 0.0, 0.0
		for i := range r.Series {
			if p := &r.Series[i]; c < len(p.Cores) {
				used, span = used+p.Cores[c]*p.Span, span+p.Span
			}
		}
		if span > 0 {
			sum += used / span
		}
	}
	return sum / float64(max(cores, 1))
}
