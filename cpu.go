package whittle

import "time"

// CPUReading is what the processes of a route's two sides had used at one
// moment.
type CPUReading struct {
	At                  time.Time
	Monolith, Candidate CPUUse
}

// CPUUse is what a process has used since it began: CPU time on all cores, for
// all requests that it answered.
type CPUUse struct {
	CPU      time.Duration `json:"cpu_ns"`
	Requests int64         `json:"requests"`
}

// PerRequest is in microseconds. 0: no request was answered.
func (u CPUUse) PerRequest() float64 {
	if u.Requests == 0 {
		return 0
	}
	return float64(u.CPU) / float64(time.Microsecond) / float64(u.Requests)
}
