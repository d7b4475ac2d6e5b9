package load

import (
	"strconv"

	"whittle/internal/latency"
	"whittle/load/cpu"
	"whittle/load/plan"
	"whittle/load/report"
)

func (m *monitor) report(target string, early bool) *report.Report {
	s := m.s
	t := s.total()
	r := &report.Report{
		Format: report.Format, Plan: s.plan.Name, Target: target, Model: modelOf(s.plan), Started: s.start.UTC(),
		Seconds: m.sampledAt.Seconds(), Early: early || t.unfinished > 0, Seed: s.seed, Unfinished: t.unfinished,
		Codes: map[string]int64{}, Errors: t.errors,
	}
	t.fill(r, s.plan)
	r.Users.Planned = s.plan.Planned()
	r.Users.Started, r.Users.Skipped = s.users.Load(), s.skipped.Load()
	r.Users.Finished, r.Users.Failed = s.finished.Load(), s.failed.Load()
	m.costs(r)
	r.Series = m.points()
	checkBounds(s.plan, r)
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

func (m *monitor) costs(r *report.Report) {
	own := cpu.Own() - m.startCPU
	r.Generator = report.Generator{CPU: latency.Milliseconds(own)}
	if r.Seconds > 0 {
		r.Generator.Cores = own.Seconds() / r.Seconds
	}
	if r.Requests > 0 {
		r.Generator.CPUPerRequest = own.Seconds() * 1e6 / float64(r.Requests)
	}
	for _, w := range m.processes {
		used, gone := w.Used()
		p := report.ProcessReport{Name: w.Name, PID: w.PID, CPU: latency.Milliseconds(used), Ended: gone}
		if r.Completed > 0 {
			p.CPUPerRequest = p.CPU / float64(r.Completed)
		}
		r.CPUPerRequest += p.CPUPerRequest
		r.Processes = append(r.Processes, p)
	}
	for _, page := range m.pages {
		used, gone := page.Used()
		p := report.ProcessReport{Name: page.Name(), CPU: latency.Milliseconds(used), Ended: gone}
		if r.Completed > 0 {
			p.CPUPerRequest = p.CPU / float64(r.Completed)
		}
		r.CPUPerRequest += p.CPUPerRequest
		r.Processes = append(r.Processes, p)
		if note := page.Note(); note != "" {
			r.Warnings = append(r.Warnings, note)
		}
	}
}

// modelOf is the name of the plan's model in reports.
func modelOf(p *plan.Plan) string {
	if p.Closed() {
		return report.ModelClosed
	}
	return report.ModelOpen
}
