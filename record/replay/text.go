package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/show"
	"whittle/internal/chart"
	"whittle/internal/latency"
)

// ParseSpeed reads "10x", "0.5x" or "max", which is 0.
func ParseSpeed(s string) (float64, error) {
	if s == "max" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(s, "x"), 64)
	if err != nil || !(f > 0 && f <= 1e6) {
		return 0, whittle.Errorf(whittle.Invalid, "--speed %q is not a speed", s).WithHint("write 1x for the recorded pace, 10x, 0.5x or max")
	}
	return f, nil
}

// ProgressLine is how far a replay is, in one line.
func ProgressLine(p *Progress, speed float64) string {
	line := fmt.Sprintf("%d of %d  %d compared  %d differ  %d failed  %d skipped", p.Done, p.Total, p.Compared, p.Differing, p.Failed, p.Skipped)
	if seconds := p.Elapsed.Seconds(); seconds > 0 && speed == 0 {
		line += fmt.Sprintf("  %.0f/s", float64(p.Done)/seconds)
	}
	if p.Left > time.Second {
		line += "  " + p.Left.Round(time.Second).String() + " left"
	}
	if p.Late > 10*time.Millisecond {
		line += fmt.Sprintf("  %s late", p.Late.Round(time.Millisecond))
	}
	return line
}

// WriteSummary writes a report for a terminal.
func (r *Report) WriteSummary(w io.Writer) error {
	fmt.Fprintln(w, r.Summary)
	if r.Interrupted {
		fmt.Fprintln(w, "The replay was ended early.")
	}
	for i := range r.Routes {
		showReplayed(w, &r.Routes[i])
	}
	fmt.Fprintf(w, "\nExchanges    %d in %s: %d compared, %d failed; %d differing\n",
		r.Ledger.Total, r.Log, r.Ledger.Compared, r.Ledger.Failed, r.Differing)
	for _, why := range slices.Sorted(maps.Keys(r.Ledger.Skipped)) {
		fmt.Fprintf(w, "  skipped    %d: %s\n", r.Ledger.Skipped[why], skipText(why))
	}
	fmt.Fprintf(w, "Shapes       %d of %d recorded shapes of request met, %d differ\n", r.Shapes.Met, r.Shapes.Recorded, r.Shapes.Differing)
	for i := range r.Shapes.Unmet[:min(5, len(r.Shapes.Unmet))] {
		one := &r.Shapes.Unmet[i]
		fmt.Fprintf(w, "  not met    %s (%d recorded): %s\n", one.Shape, one.Recorded, skipText(one.Why))
	}
	showTimes(w, r)
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	return nil
}

func showReplayed(w io.Writer, o *Route) {
	if o.Ledger.Compared+o.Ledger.Failed == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s  (%s; %d compared, %d differ; median %s then, %s now)\n", o.Route, o.Kind, o.Ledger.Compared, o.Differing,
		inMilliseconds(o.Recorded.P50), inMilliseconds(o.Now.P50))
	show.Findings(w, &o.Verdict)
	if len(o.Noise) > 0 {
		fmt.Fprintf(w, "\nThe monolith changes by itself: %s\n", strings.Join(o.Noise, ", "))
	}
}

func showTimes(w io.Writer, r *Report) {
	l := &r.Latency
	fmt.Fprintf(w, "Latency      recorded: median %s, p99 %s   now: median %s, p99 %s\n",
		inMilliseconds(l.Recorded.P50), inMilliseconds(l.Recorded.P99), inMilliseconds(l.Now.P50), inMilliseconds(l.Now.P99))
	s := &r.Schedule
	if s.Speed == 0 {
		fmt.Fprintf(w, "Pace         as fast as %d connections allow: %.0f requests a second\n", s.Connections, s.PerSecond)
		return
	}
	fmt.Fprintf(w, "             from when each was due: median %s, p99 %s\n", inMilliseconds(l.Intended.P50), inMilliseconds(l.Intended.P99))
	fmt.Fprintf(w, "Pace         %gx the recorded one, %.1f requests a second; sent late by %s at the median, %s at p99 (whittle's own: %s)\n",
		s.Speed, s.PerSecond, inMilliseconds(s.Late.P50), inMilliseconds(s.Late.P99), inMilliseconds(s.Own.P99))
}

func inMilliseconds(d time.Duration) string {
	if ms := latency.Milliseconds(d); ms >= 100 {
		return chart.Milliseconds(ms)
	}
	return strconv.FormatFloat(latency.Milliseconds(d), 'g', 3, 64) + " ms"
}
