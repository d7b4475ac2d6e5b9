package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"whittle/internal/latency"
	"whittle/internal/units"
)

// WriteSummary prints a report for people.
func (r *Report) WriteSummary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s → %s\n", r.Plan, r.Target)
	model, end := "open arrivals", ""
	if r.Model == ModelClosed {
		model = "closed users"
	}
	if r.Early {
		end = ", ended early"
	}
	fmt.Fprintf(&b, "%s, seed %d, %s%s\n\n", model, r.Seed, seconds(r.Seconds), end)
	r.summarizeCounts(&b)
	r.summarizeLatency(&b)
	r.summarizeNames(&b)
	r.summarizeCosts(&b)
	for _, c := range r.Ensure {
		fmt.Fprintln(&b, c)
	}
	for _, line := range ScriptLines(r.ScriptFailures) {
		fmt.Fprintf(&b, "\nSCRIPT FAILED: %s\n", line)
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

func (r *Report) summarizeCounts(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "virtual users\t%d of %d planned", r.Users.Started, r.Users.Planned)
	if r.Users.Skipped > 0 {
		fmt.Fprintf(t, ", %d skipped", r.Users.Skipped)
	}
	fmt.Fprintf(t, "\nrequests\t%d, %d completed, %d failed", r.Requests, r.Completed, r.Failed)
	if r.Unfinished > 0 {
		fmt.Fprintf(t, ", %d unfinished", r.Unfinished)
	}
	fmt.Fprintf(t, "\nrate\t%.2f completed per second\n", r.Rate)
	fmt.Fprintf(t, "bytes\t%s sent, %s received\n", units.Volume(r.Sent), units.Volume(r.Received))
	if len(r.Codes) > 0 {
		fmt.Fprintf(t, "status\t%s\n", counts(r.Codes))
	}
	if len(r.Errors) > 0 {
		fmt.Fprintf(t, "errors\t%s\n", counts(r.Errors))
		for _, kind := range slices.Sorted(maps.Keys(r.ErrorSamples)) {
			fmt.Fprintf(t, "\t%s, such as: %s\n", kind, r.sample(kind))
		}
	}
	_ = t.Flush() // into a strings.Builder, which cannot fail
}

func (r *Report) summarizeLatency(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\nmilliseconds\tmin\tmedian\tp90\tp95\tp99\tp99.9\tmax\t")
	row := func(name string, s latency.Snapshot) {
		if s.Count == 0 {
			return
		}
		fmt.Fprintf(t, "%s\t", name)
		for _, d := range []time.Duration{s.Min, s.P50, s.P90, s.P95, s.P99, s.P999, s.Max} {
			fmt.Fprintf(t, "%s\t", milliseconds(d))
		}
		fmt.Fprintln(t)
	}
	if r.Latency.Corrected == nil {
		row("latency, from the intended time", r.Latency.Intended)
		row("latency, from the actual send", r.Latency.Actual)
	} else {
		row("latency, as users waited", r.Latency.Actual)
		row("corrected for omission", *r.Latency.Corrected)
	}
	if r.Failed > 0 {
		row("from the intended time, successes", r.Latency.Succeeded)
	}
	row("to the first byte", r.Latency.FirstByte)
	row("to connect", r.Latency.Connect)
	row("generator's own lateness", r.Latency.ScheduleError)
	_ = t.Flush() // into a strings.Builder, which cannot fail
}

func (r *Report) summarizeNames(b *strings.Builder) {
	r.summarizePaces(b)
	if len(r.Names) < 2 {
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nrequest\tcompleted\tfailed\tmedian\tp95\tp99")
	for _, n := range r.Names {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%s\n", n.Name, n.Completed, n.Failed,
			latencyOf(&n.Intended, n.Intended.P50), latencyOf(&n.Intended, n.Intended.P95), latencyOf(&n.Intended, n.Intended.P99))
	}
	_ = t.Flush() // into a strings.Builder, which cannot fail
}

func (r *Report) summarizeCosts(b *strings.Builder) {
	b.WriteByte('\n')
	for _, p := range r.Processes {
		ended := ""
		if p.Ended {
			ended = ", until it ended"
		}
		fmt.Fprintf(b, "CPU of %s: %s, %.3g ms per completed request%s\n", p.Name, seconds(p.CPU/1e3), p.CPUPerRequest, ended)
	}
	fmt.Fprintf(b, "CPU of the generator: %s, %.1f µs per request, %.2f cores busy\n",
		seconds(r.Generator.CPU/1e3), r.Generator.CPUPerRequest, r.Generator.Cores)
	r.summarizeWorkers(b)
}

// summarizeWorkers prints what each of several processes did.
func (r *Report) summarizeWorkers(b *strings.Builder) {
	if len(r.Workers) == 0 {
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nworker, of %d\tusers\trequests\tcompleted\tfailed\tcores\tp99 late, ms\tclock ± ms\n", len(r.Workers))
	for _, w := range r.Workers {
		void := ""
		if w.Void != "" {
			void = "VOID"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%.2f\t%s\t%.3f\t%s\n", w.Name, w.Users, w.Requests, w.Completed, w.Failed, w.Cores, milliseconds(w.ScheduleError.P99), w.ClockError, void)
	}
	_ = t.Flush() // into a strings.Builder, which cannot fail
}

// milliseconds prints a latency with three significant digits.
func milliseconds(d time.Duration) string { return units.Figure(latency.Milliseconds(d)) }

// latencyOf is one of a distribution's latencies; where nothing was timed there is none.
func latencyOf(of *latency.Snapshot, d time.Duration) string {
	if of.Count == 0 {
		return "–"
	}
	return milliseconds(d)
}

func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d > 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

func counts(m map[string]int64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s: %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}

// summarizePaces prints what a closed model's latencies leave out.
func (r *Report) summarizePaces(b *strings.Builder) {
	if r.Latency.Corrected == nil {
		return
	}
	b.WriteString("\nclosed model: users who waited sent nothing meanwhile, so the latencies as they waited are not\n" +
		"corrected for coordinated omission; the corrected ones add what they would have met at their pace\n")
	for _, p := range r.Paces {
		of := ""
		if p.Group != "" {
			of = " of " + p.Group
		}
		fmt.Fprintf(b, "%s%s, one request in %.4g ms each: %d not sent meanwhile\n", units.Counted(p.Users, "user"), of, p.Expected, p.Missing)
	}
}

// Progress is the progress of a run.
type Progress struct {
	Elapsed time.Duration
	// Left until the last arrival; 0 when only users under way remain.
	Left time.Duration
	// Skipped arrivals would have been too many users under way.
	Skipped int64
	// Completed requests had a complete response of any status, Failed ones any
	// error kind, a 5xx included.
	Completed, Failed int64
	InFlight          int64
	// Rate is responses per second since the last progress.
	Rate float64
	// Recent are the latencies, from the intended times, of the last 5 s.
	Recent latency.Snapshot
}

// String is one line about a run under way.
func (p Progress) String() string {
	s := fmt.Sprintf("%6s  %7.1f/s  in flight %d  completed %d  failed %d  p50 %s ms  p99 %s ms",
		p.Elapsed.Round(time.Second), p.Rate, p.InFlight, p.Completed, p.Failed,
		milliseconds(p.Recent.P50), milliseconds(p.Recent.P99))
	if p.Left > 0 {
		s += fmt.Sprintf("  %s left", p.Left.Round(time.Second))
	}
	return s
}
