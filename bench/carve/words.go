package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"whittle/internal/table"
	"whittle/load/report"
)

// printTable writes one row for each setup. What cannot be written is the
// caller's terminal and is not reported.
func printTable(w io.Writer, done []*setup) {
	m := table.ThisMachine()
	fmt.Fprintf(w, "the count application before and after the carve, on %d cores, %s, %s, kernel %s; latencies from when each request was due, in ms\n\n", m.Cores, m.CPU, m.Go, m.Kernel)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\tREQUESTS\tERRORS\tUSERS COMPLETED\tMEDIAN\tP95\tP99\tCPU MS/REQUEST\tPUBLISHED MEDIAN\tP95\tP99")
	for _, sc := range done {
		r := &sc.report
		then := "–\t–\t–"
		if p := sc.then; p.median > 0 {
			then = fmt.Sprintf("%.1f\t%.1f\t%.1f", p.median, p.p95, p.p99)
		}
		fmt.Fprintf(tw, "%s\t%d\t%s\t%d of %d\t%.1f\t%.1f\t%.1f\t%.1f\t%s\n", sc.name, r.Requests, errorsOf(r), completed(r), r.Users.Started,
			r.Median, r.P95, r.P99, r.CPUPerRequest, then)
	}
	_ = tw.Flush() // fails with w only
	fmt.Fprintln(w)
}

func errorsOf(r *report.Report) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
		parts = append(parts, fmt.Sprintf("%d %s", r.Errors[kind], kind))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// words say how the setups compare with each other and with what was published.
func words(done []*setup) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	by := map[string]*setup{}
	for _, sc := range done {
		by[sc.name] = sc
		if sc.report.Void != "" {
			say("%s is void: %s", sc.name, sc.report.Void)
		}
	}
	b, a := by[before], by[after]
	if b == nil || a == nil {
		return lines
	}
	say("Before: %d of %d virtual users came to their end, %d requests timed out, and up to %d waited at once.",
		completed(&b.report), b.report.Users.Started, b.report.Errors["timeout"], mostWaiting(&b.report))
	if w := by[waiting]; w != nil {
		say("Published, by an Artillery that waited 120 s: median %.1f s, p99 %.1f s. With that patience here: median %.1f s, p99 %.1f s, %s.",
			w.then.median/1e3, w.then.p99/1e3, w.report.Median/1e3, w.report.P99/1e3, collapse(&w.report))
	}
	if l := by[lighter]; l != nil {
		say("A tenth of the work. Published: median %.1f ms. Here: %.1f ms, %.1f times, and %s.",
			l.then.median, l.report.Median, l.report.Median/l.then.median, collapse(&l.report))
	}
	say("After: %d of %d came to their end, and up to %d waited at once. Median %.1f ms (published: %.1f), p99 %.1f ms (published: %.1f).",
		completed(&a.report), a.report.Users.Started, mostWaiting(&a.report), a.report.Median, a.then.median, a.report.P99, a.then.p99)
	if w := by[waiting]; w != nil && a.report.Median > 0 {
		say("The carve makes the median %.0f times lower; as published, %.0f times.", w.report.Median/a.report.Median, w.then.median/a.then.median)
	}
	if a.report.CPUPerRequest > 0 {
		cost, where := b.report.CPUPerRequest, "what users gave up on included"
		if w := by[waiting]; w != nil {
			cost, where = w.report.CPUPerRequest, "where all waited for their responses"
		}
		say("CPU of the whole system per completed request: %.1f ms before (%s), %.1f ms after: %.0f times less. The publication gives none; it shows one busy core, then all of them.",
			cost, where, a.report.CPUPerRequest, cost/a.report.CPUPerRequest)
	}
	say("The published runs had two machines and counted to the first byte; here both share one, and latency counts from when a request was due to its last byte.")
	return lines
}

// collapse says whether the system kept up: users who come to 20 a second and
// get a response within a second are at most some 20 at once.
func collapse(r *report.Report) string {
	switch {
	case r.Errors["timeout"] > 0:
		return "users gave up"
	case mostWaiting(r) > 40:
		return fmt.Sprintf("a queue of up to %d", mostWaiting(r))
	}
	return "no queue"
}
