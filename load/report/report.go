// Package report holds the results of a load run and writes them: as text for the
// terminal, as an HTML page, as whittle's JSON.
package report

import (
	"time"

	"whittle/internal/latency"
)

// Format names the JSON form of a report and its version. A reader
// accepts the major version that it knows; fields are only ever added to one.
const Format = "whittle.load/1"

// Report is the result of a run. Its JSON form is documented in docs/load.md.
type Report struct {
	Format string `json:"format"`
	Plan   string `json:"plan"`
	Target string `json:"target"`
	// Model is ModelOpen (arrivals do not wait for responses) or ModelClosed.
	Model   string    `json:"model"`
	Started time.Time `json:"started_at"`
	// Seconds from the start to the last response.
	Seconds float64 `json:"duration_s"`
	// Early says that the run was ended before its plan was.
	Early bool `json:"ended_early"`
	// Void is empty, or why the figures may not be used: the generator itself
	// was late.
	Void string `json:"void"`
	// LateBound is how late the generator may be, in milliseconds. 0: not known.
	LateBound float64 `json:"late_bound_ms,omitempty"`
	Seed      uint64  `json:"seed"`

	// Requests that were sent, Completed with a complete response, Failed by any of
	// Errors (a 5xx response is completed and failed), and Unfinished when the run
	// was aborted.
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
	// ErrorSamples has the text of one error of each kind.
	ErrorSamples map[string]string `json:"error_samples,omitempty"`
	// ScriptFailures are the scripts of the plan that failed, by place. A processor of a
	// JMeter plan that fails ends no request, and so is in no other count.
	ScriptFailures []ScriptFailure `json:"script_failures,omitempty"`
	Sent           int64           `json:"bytes_sent"`
	Received       int64           `json:"bytes_received"`
	Series         []Point         `json:"series"`
	Generator      Generator       `json:"generator"`
	Workers        []Worker        `json:"workers,omitempty"`
	Processes      []ProcessReport `json:"processes,omitempty"`
	Ensure         []Check         `json:"ensure,omitempty"`
	Warnings       []string        `json:"warnings,omitempty"`
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

// Add adds those of another part, or block, of a run.
func (u *Users) Add(o Users) {
	u.Planned += o.Planned
	u.Started += o.Started
	u.Skipped += o.Skipped
	u.Finished += o.Finished
	u.Failed += o.Failed
}

// Views are the same requests, timed in several ways.
type Views struct {
	// Intended counts from when the request was due: the latency of a user.
	Intended latency.Snapshot `json:"intended"`
	// Actual counts from when it was sent: what most tools show.
	Actual latency.Snapshot `json:"actual"`
	// Connect is the time to open a connection, TLS included, where one was.
	Connect latency.Snapshot `json:"connect"`
	// FirstByte is from sending to the first byte of the response.
	FirstByte latency.Snapshot `json:"first_byte"`
	// ScheduleError is how late the generator started virtual users.
	ScheduleError latency.Snapshot `json:"schedule_error"`
	// Succeeded is Intended without the requests that failed.
	Succeeded latency.Snapshot `json:"succeeded"`
	// Corrected is Actual corrected for coordinated omission, of a closed model.
	Corrected *latency.Snapshot `json:"corrected,omitempty"`
}

// Histograms hold the whole distributions, mergeable.
type Histograms struct {
	Intended  *latency.Histogram `json:"intended"`
	Actual    *latency.Histogram `json:"actual"`
	Corrected *latency.Histogram `json:"corrected,omitempty"`
	// Succeeded is Intended without the requests that failed.
	Succeeded *latency.Histogram `json:"succeeded"`
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
	// InFlight is the greatest number of users seen in flight.
	InFlight int64 `json:"in_flight"`
	// Figures are latencies from the intended send time, as Report.Latency.Intended.
	latency.Figures
	// Timed is how many requests the latencies are of.
	Timed int64 `json:"timed"`
	// Span is the part of Width, in seconds, in which the run was looked at: the
	// last window's may be short.
	Span float64 `json:"span_s"`
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

// SpreadCPU divides the generator's CPU time by the run's length and its requests.
func (r *Report) SpreadCPU() {
	g := &r.Generator
	if r.Seconds > 0 {
		g.Cores = g.CPU / 1e3 / r.Seconds
	}
	if r.Requests > 0 {
		g.CPUPerRequest = g.CPU * 1e3 / float64(r.Requests)
	}
}

// Worker is one of several processes that ran parts of the plan.
type Worker struct {
	Name      string `json:"name"`
	Users     int64  `json:"users"`
	Requests  int64  `json:"requests"`
	Completed int64  `json:"completed"`
	Failed    int64  `json:"failed"`
	// Cores is how many were busy with its part on average.
	Cores float64 `json:"cores"`
	// ScheduleError is how late it started virtual users, and ClockError how far its
	// start may be from the others', in milliseconds.
	ScheduleError latency.Snapshot `json:"schedule_error"`
	ClockError    float64          `json:"clock_error_ms"`
	// Void is why its figures may not be used. Empty: they may.
	Void string `json:"void"`
}

// ProcessReport is a watched process's CPU time.
type ProcessReport struct {
	Name string  `json:"name"`
	PID  int     `json:"pid"`
	CPU  float64 `json:"cpu_ms"`
	// CPUPerRequest is in milliseconds, over the completed requests.
	CPUPerRequest float64 `json:"cpu_ms_per_request"`
	// Ended says that the process ended before the run; CPU is then the last
	// reading.
	Ended bool `json:"ended,omitempty"`
}

// Pace is the interval between a user's requests in a group, and how many requests
// the users would have sent while they waited.
type Pace struct {
	Group string `json:"group"`
	Users int    `json:"users"`
	// Expected is the time between two requests of one user, in milliseconds: the
	// median that was seen.
	Expected float64 `json:"expected_interval_ms"`
	// Missing is how many requests the correction adds: those that users would
	// have sent at that pace, had they not been waiting.
	Missing int64 `json:"missing"`
}
