package load

import (
	"strconv"

	"whittle/internal/latency"
	"whittle/load/cpu"
	"whittle/load/plan"
	"whittle/load/report"
)

// report is the result of the run; early: it ended before its plan.
func (m *monitor) report(target string, early bool) *report.Report {
	s := m.run
	t := s.recorder.total()
	r := &report.Report{
		Format: report.Format, Plan: s.plan.Name, Target: target, Model: modelOf(s.plan), Started: s.began.UTC(),
		Seconds: m.sampledAt.Seconds(), Early: early || t.Unfinished > 0, Seed: s.seed,
	}
	r.ScriptFailures = s.plan.Failures.Take()
	t.fill(r, s.plan)
	r.Users.Planned = s.plan.Planned()
	r.Users.Started, r.Users.Skipped = s.users.Load()-s.firstUser, s.skipped.Load()
	r.Users.Finished, r.Users.Failed = s.finished.Load(), s.failed.Load()
	r.Generator.CPU = latency.Milliseconds(cpu.Own() - m.startCPU)
	r.SpreadCPU()
	m.meter.fill(r)
	r.Series = m.points()
	checkBounds(s.plan, &s.options, r)
	r.Validate(s.options.MaxLate, s.plan.HTTP.Timeout)
	return r
}

// fill sets all fields that follow from a tally. Seconds is set already.
func (t *tally) fill(r *report.Report, p *plan.Plan) {
	r.Unfinished, r.Codes, r.Errors = t.Unfinished, map[string]int64{}, t.Errors
	intended, actual := new(latency.Histogram), new(latency.Histogram)
	for i := range t.Names {
		f := &t.Names[i]
		r.Requests += f.Requests
		r.Completed += f.Completed
		r.Failed += f.Failed
		r.Sent += f.Sent
		r.Received += f.Received
		intended.Merge(f.Intended)
		actual.Merge(f.Actual)
		r.Names = append(r.Names, report.NameReport{
			Name: p.Names[i], Requests: f.Requests, Completed: f.Completed, Failed: f.Failed, Sent: f.Sent, Received: f.Received,
			Intended: f.Intended.Snapshot(), Actual: f.Actual.Snapshot(),
		})
	}
	r.ErrorSamples = t.Samples
	for code, n := range t.Codes {
		r.Codes[strconv.Itoa(code)] = n
	}
	r.Histograms = report.Histograms{Intended: intended, Actual: actual, Succeeded: t.Succeeded}
	r.Latency = report.Views{
		Intended: intended.Snapshot(), Actual: actual.Snapshot(), Connect: t.Connect.Snapshot(),
		FirstByte: t.FirstByte.Snapshot(), ScheduleError: t.ScheduleError.Snapshot(), Succeeded: t.Succeeded.Snapshot(),
	}
	if p.Closed() {
		r.Histograms.Corrected, r.Paces = t.correctGroups(p.Groups)
		view := r.Histograms.Corrected.Snapshot()
		r.Latency.Corrected = &view
	}
	r.Median = latency.Milliseconds(r.Latency.Intended.P50)
	r.P95 = latency.Milliseconds(r.Latency.Intended.P95)
	r.P99 = latency.Milliseconds(r.Latency.Intended.P99)
	if r.Seconds > 0 {
		r.Rate = float64(r.Completed) / r.Seconds
	}
}
