package load

import (
	"fmt"
	"strconv"
	"time"

	"whittle/latency"
)

// ReportFormat names the JSON form of a report and its version. A reader
// accepts the major version that it knows; fields are only ever added to one.
const ReportFormat = "whittle.load/1"

// Report is what a run came to. Its JSON form is documented in docs/load.md.
type Report struct {
	Format string `json:"format"`
	Plan   string `json:"plan"`
	Target string `json:"target"`
	// Model is ModelOpen (arrivals do not wait for answers) or ModelClosed.
	Model   string    `json:"model"`
	Started time.Time `json:"started_at"`
	// Seconds from the start to the last answer.
	Seconds float64 `json:"duration_s"`
	// Early says that the run was ended before its plan was.
	Early bool `json:"ended_early"`
	// Void is empty, or why the figures may not be used: the generator itself
	// was late.
	Void string `json:"void"`
	Seed uint64 `json:"seed"`

	// Requests that were sent, Completed with a whole answer, Failed by any of
	// Errors (an answered 5xx is completed and failed), and Unfinished when the
	// run was cut.
	Requests   int64 `json:"requests"`
	Completed  int64 `json:"completed"`
	Failed     int64 `json:"failed"`
	Unfinished int64 `json:"unfinished"`
	// Rate is completed requests per second.
	Rate float64 `json:"rate"`
	// Median, P95 and P99 are in milliseconds and count from the intended send
	// time; requests that timed out are in them with their timeout.
	Median float64 `json:"median_ms"`
	P95    float64 `json:"p95_ms"`
	P99    float64 `json:"p99_ms"`
	// CPUPerRequest is the watched processes' CPU time, in milliseconds, over
	// the completed requests; 0 where none was watched.
	CPUPerRequest float64 `json:"cpu_ms_per_request"`

	Users      Users            `json:"users"`
	Paces      []Pace           `json:"paces,omitempty"`
	Latency    Views            `json:"latency"`
	Histograms Histograms       `json:"histograms"`
	Names      []NameReport     `json:"by_name"`
	Codes      map[string]int64 `json:"codes"`
	Errors     map[string]int64 `json:"errors"`
	Sent       int64            `json:"bytes_sent"`
	Received   int64            `json:"bytes_received"`
	Series     []Point          `json:"series"`
	Generator  Generator        `json:"generator"`
	Processes  []ProcessReport  `json:"processes,omitempty"`
	Ensure     []Check          `json:"ensure,omitempty"`
	// Apdex is the index of that name, of the intended view, where the plan asks
	// for it.
	Apdex    float64  `json:"apdex,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Users counts virtual users: every planned arrival of a run that was not
// ended early is started or skipped.
type Users struct {
	Planned  int64 `json:"planned"` // a Poisson phase's expectation
	Started  int64 `json:"started"`
	Skipped  int64 `json:"skipped"`
	Finished int64 `json:"finished"`
	// Failed are the finished ones that an error ended.
	Failed int64 `json:"failed"`
}

// Views are the same requests, timed in several ways.
type Views struct {
	// Intended counts from when the request was due: what a user feels.
	Intended latency.Snapshot `json:"intended"`
	// Actual counts from when it was sent: what most tools show.
	Actual latency.Snapshot `json:"actual"`
	// Connect is the time to open a connection, TLS included, where one was.
	Connect latency.Snapshot `json:"connect"`
	// FirstByte is from sending to the first byte of the answer.
	FirstByte latency.Snapshot `json:"first_byte"`
	// ScheduleError is how late the generator started virtual users.
	ScheduleError latency.Snapshot `json:"schedule_error"`
	// Corrected is Actual corrected for coordinated omission, of a closed model.
	Corrected *latency.Snapshot `json:"corrected,omitempty"`
}

// Histograms hold the whole distributions, mergeable.
type Histograms struct {
	Intended  *latency.Histogram `json:"intended"`
	Actual    *latency.Histogram `json:"actual"`
	Corrected *latency.Histogram `json:"corrected,omitempty"`
	// Classes are the intended latencies of answers by the first digit of their
	// status: "2xx".
	Classes map[string]*latency.Histogram `json:"classes,omitempty"`
}

// NameReport is one request's part of the figures.
type NameReport struct {
	Name      string           `json:"name"`
	Requests  int64            `json:"requests"`
	Completed int64            `json:"completed"`
	Failed    int64            `json:"failed"`
	Sent      int64            `json:"bytes_sent"`
	Received  int64            `json:"bytes_received"`
	Intended  latency.Snapshot `json:"intended"`
	Actual    latency.Snapshot `json:"actual"`
}

// Point is one window of the series.
type Point struct {
	// At and Width are in seconds since the start.
	At        float64 `json:"at_s"`
	Width     float64 `json:"width_s"`
	Arrivals  int64   `json:"arrivals"`
	Completed int64   `json:"completed"`
	Failed    int64   `json:"failed"`
	// InFlight is the most that were seen under way.
	InFlight int64 `json:"in_flight"`
	// Latencies count from the intended send time, as Report.Latency.Intended.
	Min  float64 `json:"min_ms"`
	Mean float64 `json:"mean_ms"`
	P50  float64 `json:"p50_ms"`
	P75  float64 `json:"p75_ms"`
	P90  float64 `json:"p90_ms"`
	P95  float64 `json:"p95_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p99_9_ms"`
	Max  float64 `json:"max_ms"`
	// Timed is how many requests the latencies are of.
	Timed int64 `json:"timed"`
	// Span is the part of Width, in seconds, in which the run was looked at: the
	// last window's may be short.
	Span float64 `json:"span_s"`
	// Codes and Errors as in the report; Requests, Finished, Broken and Skipped
	// virtual users, Received bytes of this window alone.
	Requests int64            `json:"requests"`
	Codes    map[string]int64 `json:"codes,omitempty"`
	Errors   map[string]int64 `json:"errors,omitempty"`
	Finished int64            `json:"users_finished"`
	Broken   int64            `json:"users_failed"`
	Skipped  int64            `json:"users_skipped"`
	Received int64            `json:"bytes_received"`
	// Late is the generator's greatest lateness in starting a virtual user.
	Late float64 `json:"late_max_ms"`
	// GeneratorCores and WatchedCores are how many cores the generator and the
	// watched processes kept busy; Cores is the busy part, 0 to 1, of each of
	// the machine's first 64 cores, all programs together.
	GeneratorCores float64   `json:"generator_cores"`
	WatchedCores   float64   `json:"watched_cores"`
	Cores          []float64 `json:"cores,omitempty"`
}

// Generator is what the run cost the machine it ran on.
type Generator struct {
	CPU float64 `json:"cpu_ms"`
	// CPUPerRequest is in microseconds, of the whole process.
	CPUPerRequest float64 `json:"cpu_us_per_request"`
	// Cores is how many cores were busy with it on average.
	Cores float64 `json:"cores"`
}

// ProcessReport is a watched process's CPU time.
type ProcessReport struct {
	Name string  `json:"name"`
	PID  int     `json:"pid"`
	CPU  float64 `json:"cpu_ms"`
	// CPUPerRequest is in milliseconds, over the completed requests.
	CPUPerRequest float64 `json:"cpu_ms_per_request"`
	// Ended says that it was gone before the run was over; CPU is then the last
	// that was seen.
	Ended bool `json:"ended,omitempty"`
}

func (m *monitor) report(target string, early bool) *Report {
	s := m.s
	t := s.total()
	r := &Report{
		Format: ReportFormat, Plan: s.plan.Name, Target: target, Model: s.plan.Model(), Started: s.start.UTC(),
		Seconds: m.looked.Seconds(), Early: early || t.unfinished > 0, Seed: s.seed, Unfinished: t.unfinished,
		Codes: map[string]int64{}, Errors: t.errors,
	}
	r.count(s.plan, t)
	r.Users.Planned = s.plan.planned()
	r.Users.Started, r.Users.Skipped = s.users.Load(), s.skipped.Load()
	r.Users.Finished, r.Users.Failed = s.finished.Load(), s.failed.Load()
	m.costs(r)
	r.Series = m.points()
	r.check(s.plan)
	r.Void = voidReason(&r.Latency, s.options.MaxLate)
	r.Warnings = append(r.Warnings, warnings(r, s.plan.HTTP.Timeout)...)
	return r
}

// count fills in all that follows from a tally. Seconds, Codes and Errors are
// there already.
func (r *Report) count(p *Plan, t *tally) {
	intended, actual := new(latency.Histogram), new(latency.Histogram)
	for i := range t.names {
		f := &t.names[i]
		r.Requests += f.requests
		r.Completed += f.completed
		r.Failed += f.failed
		r.Sent += f.up
		r.Received += f.down
		intended.Merge(&f.intended)
		actual.Merge(&f.actual)
		r.Names = append(r.Names, NameReport{
			p.names[i], f.requests, f.completed, f.failed, f.up, f.down,
			f.intended.Snapshot(), f.actual.Snapshot(),
		})
	}
	for code, n := range t.codes {
		r.Codes[strconv.Itoa(code)] = n
	}
	r.Histograms = Histograms{Intended: intended, Actual: actual}
	for i := range t.classes {
		if t.classes[i].Count() > 0 {
			if r.Histograms.Classes == nil {
				r.Histograms.Classes = map[string]*latency.Histogram{}
			}
			r.Histograms.Classes[strconv.Itoa(i)+"xx"] = &t.classes[i]
		}
	}
	r.Latency = Views{
		intended.Snapshot(), actual.Snapshot(), t.connect.Snapshot(), t.firstByte.Snapshot(), t.late.Snapshot(), nil,
	}
	r.correct(t, p.groups)
	r.Median = latency.Milliseconds(r.Latency.Intended.P50)
	r.P95 = latency.Milliseconds(r.Latency.Intended.P95)
	r.P99 = latency.Milliseconds(r.Latency.Intended.P99)
	if r.Seconds > 0 {
		r.Rate = float64(r.Completed) / r.Seconds
	}
}

func (m *monitor) costs(r *Report) {
	own := OwnCPU() - m.ownCPU
	r.Generator = Generator{CPU: latency.Milliseconds(own)}
	if r.Seconds > 0 {
		r.Generator.Cores = own.Seconds() / r.Seconds
	}
	if r.Requests > 0 {
		r.Generator.CPUPerRequest = own.Seconds() * 1e6 / float64(r.Requests)
	}
	for _, w := range m.processes {
		p := ProcessReport{Name: w.Name, PID: w.PID, CPU: latency.Milliseconds(w.last - w.first), Ended: w.gone}
		if r.Completed > 0 {
			p.CPUPerRequest = p.CPU / float64(r.Completed)
		}
		r.CPUPerRequest += p.CPUPerRequest
		r.Processes = append(r.Processes, p)
	}
	for _, page := range m.pages {
		used, gone := page.used()
		p := ProcessReport{Name: page.url, CPU: latency.Milliseconds(used), Ended: gone}
		if r.Completed > 0 {
			p.CPUPerRequest = p.CPU / float64(r.Completed)
		}
		r.CPUPerRequest += p.CPUPerRequest
		r.Processes = append(r.Processes, p)
	}
}

// voidReason says why a run proves nothing, empty where it does.
//
// Lateness only makes latency from the intended time look worse, but a late
// generator did not send what the plan says. It is beyond its bound when its
// 99th percentile is above maxLate and above a tenth of the median latency:
// against a target that takes seconds, milliseconds change nothing.
func voidReason(v *Views, maxLate time.Duration) string {
	bound := max(maxLate, v.Intended.P50/10)
	if late := v.ScheduleError.P99; late > bound {
		return fmt.Sprintf("the generator was late: 1 %% of virtual users started %v or more after their time, where %v is the bound; "+
			"lower the rate, or give the generator more of the machine", late.Round(time.Microsecond), bound.Round(time.Microsecond))
	}
	return ""
}
