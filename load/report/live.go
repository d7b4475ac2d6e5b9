package report

import (
	"fmt"
	"strings"
	"time"

	"whittle/internal/latency"
	"whittle/internal/units"
)

// Live is a run under way as a terminal shows it: how far it is, and its rate and
// percentiles over the last minutes. The zero value has seen nothing.
type Live struct {
	seen []Progress // the last of them, oldest first
}

// The size of the view.
const (
	liveSeen  = 240 // progresses that are kept
	liveWidth = 60  // columns that it needs at least
	liveRows  = 8   // rows that it takes
)

// liveFigures are the lines of the view that have a plot.
var liveFigures = []struct {
	name string
	of   func(*Progress) float64
}{
	{"rate, /s", func(p *Progress) float64 { return p.Rate }},
	{"median, ms", func(p *Progress) float64 { return latency.Milliseconds(p.Recent.P50) }},
	{"p95, ms", func(p *Progress) float64 { return latency.Milliseconds(p.Recent.P95) }},
	{"p99, ms", func(p *Progress) float64 { return latency.Milliseconds(p.Recent.P99) }},
	{"failed, /s", func(p *Progress) float64 { return p.FailedRate }},
}

// Add takes in how the run is now.
func (l *Live) Add(p Progress) {
	if len(l.seen) == liveSeen {
		l.seen = append(l.seen[:0], l.seen[1:]...)
	}
	l.seen = append(l.seen, p)
}

// Lines draw the view for a terminal of so many columns and rows. Nil: it is too small, or
// there is nothing as yet.
func (l *Live) Lines(width, height int) []string {
	if width < liveWidth || height <= liveRows || len(l.seen) == 0 {
		return nil
	}
	now := &l.seen[len(l.seen)-1]
	width--            // a full line may make a terminal begin another
	plot := width - 34 // what the name and the two figures leave
	seen := l.seen[max(len(l.seen)-plot, 0):]
	span := now.Elapsed - seen[0].Elapsed
	out := []string{
		fit("  "+now.head(), width),
		fit("  "+now.counts(), width),
		fmt.Sprintf("  %-10s  %-*s%10s%10s", "", plot, "the last "+max(span, time.Second).Round(time.Second).String(), "now", "most"),
	}
	for _, f := range liveFigures {
		values, most := make([]float64, len(seen)), 0.0
		for i := range seen {
			values[i] = f.of(&seen[i])
			most = max(most, values[i])
		}
		out = append(out, fmt.Sprintf("  %-10s  %s%*s%10s%10s", f.name, bars(values, most), plot-len(values), "",
			units.Figure(values[len(values)-1]), units.Figure(most)))
	}
	return out
}

// head says how far the run is.
func (p *Progress) head() string {
	s := p.Elapsed.Round(time.Second).String()
	if p.Left > 0 {
		done := float64(p.Elapsed) / float64(p.Elapsed+p.Left)
		s += fmt.Sprintf(", %s left (%.0f %%)", p.Left.Round(time.Second), 100*done)
	}
	return s
}

// counts are the totals so far.
func (p *Progress) counts() string {
	s := fmt.Sprintf("%s under way, %s completed, %d failed", units.Counted(p.InFlight, "user"), units.Counted(p.Completed, "request"), p.Failed)
	if p.Skipped > 0 {
		s += fmt.Sprintf(", %s skipped", units.Counted(p.Skipped, "arrival"))
	}
	return s
}

// bars draws values as columns of an eighth to eight eighths, and 0 as none.
func bars(values []float64, most float64) string {
	steps := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		if !(v > 0) {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(steps[min(int(v/most*float64(len(steps))), len(steps)-1)])
	}
	return b.String()
}

// fit cuts a line to a width.
func fit(line string, width int) string {
	if r := []rune(line); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return line
}
