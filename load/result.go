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
		Seconds: m.sampledAt.Seconds(), Early: early || t.unfinished > 0, Seed: s.seed, Unfinished: t.unfinished,
		Codes: map[string]int64{}, Errors: t.errors,
	}
	for _, f := range s.plan.Failures.Take() {
		r.ScriptFailures = append(r.ScriptFailures, report.ScriptFailure(f))
	}
	t.fill(r, s.plan)
	r.Users.Planned = s.plan.Planned()
	r.Users.Started, r.Users.Skipped = s.users.Load()-s.firstUser, s.skipped.Load()
	r.Users.Finished, r.Users.Failed = s.finished.Load(), s.failed.Load()
	m.costs(r)
	r.Series = m.points()
	checkBounds(s.plan, &s.options, r)
	r.Validate(s.options.MaxLate, s.plan.HTTP.Timeout)
	return r
}

// fill sets all fields that follow from a tally. Seconds, Codes and Errors are set
// already.
func (t *tally) fill(r *report.Report, p *plan.Plan) {
	intended, actual := new(latency.Histogram), new(latency.Histogram)
	for i := range t.names {
		f := &t.names[i]
		r.Requests += f.requests
		r.Completed += f.completed
		r.Failed += f.failed
		r.Sent += f.sent
		r.Received += f.received
		intended.Merge(&f.intended)
		actual.Merge(&f.actual)
		r.Names = append(r.Names, report.NameReport{
			Name: p.Names[i], Requests: f.requests, Completed: f.completed, Failed: f.failed, Sent: f.sent, Received: f.received,
			Intended: f.intended.Snapshot(), Actual: f.actual.Snapshot(),
		})
	}
	r.ErrorSamples = t.samples
	for code, n := range t.codes {
		r.Codes[strconv.Itoa(code)] = n
	}
	r.Histograms = report.Histograms{Intended: intended, Actual: actual}
	for i := range t.classes {
		if t.classes[i].Count() > 0 {
			if r.Histograms.Classes == nil {
				r.Histograms.Classes = map[string]*latency.Histogram{}
			}
			r.Histograms.Classes[strconv.Itoa(i)+"xx"] = &t.classes[i]
		}
	}
	r.Latency = report.Views{
		Intended: intended.Snapshot(), Actual: actual.Snapshot(), Connect: t.connect.Snapshot(),
		FirstByte: t.firstByte.Snapshot(), ScheduleError: t.scheduleError.Snapshot(),
	}
	t.fillCorrected(r, p.Groups)
	r.Median = latency.Milliseconds(r.Latency.Intended.P50)
	r.P95 = latency.Milliseconds(r.Latency.Intended.P95)
	r.P99 = latency.Milliseconds(r.Latency.Intended.P99)
	if r.Seconds > 0 {
		r.Rate = float64(r.Completed) / r.Seconds
	}
}

// costs sets the CPU time of the generator and of what it watches.
func (m *monitor) costs(r *report.Report) {
	own := cpu.Own() - m.startCPU
	r.Generator = report.Generator{CPU: latency.Milliseconds(own)}
	if r.Seconds > 0 {
		r.Generator.Cores = own.Seconds() / r.Seconds
	}
	if r.Requests > 0 {
		r.Generator.CPUPerRequest = own.Seconds() * 1e6 / float64(r.Requests)
	}
	m.meter.fill(r)
}
