package load

import (
	"math/rand/v2"
	"time"

	"whittle"
	"whittle/load/cpu"
	"whittle/load/plan"
	"whittle/load/report"
)

// Options are the settings of a run that are not in its plan. The zero value runs
// the plan as it is. Their JSON form has what a worker needs of them.
type Options struct {
	// Target replaces the plan's own base URL. Empty: the plan's.
	Target string
	// Part is which part of the plan's users this run has; the zero value has all.
	// Limits of the whole, such as MaxInFlight, are divided too.
	Part plan.Part `json:"-"`
	// Pool replaces the plan's number of shared connections. 0: the plan's.
	Pool int
	// MaxInFlight bounds the virtual users under way at once; arrivals above it
	// are skipped and counted. 0: 10,000.
	MaxInFlight int
	// Seed makes the random choices of a run repeatable. 0: a random seed, which
	// is in the report.
	Seed uint64
	// Headers appends the headers, as name and value in turn, of all requests of
	// virtual user i (from 0). Called on many goroutines at once. Nil: none.
	Headers func(pairs []string, i int64) []string `json:"-"`
	// OnResult is called for every request that ended, on many goroutines at
	// once; the body (its first MiB) is valid only until it returns. Nil: not
	// called.
	OnResult func(Result) `json:"-"`
	// OnLog is called with the lines of the plan's log steps, on many goroutines
	// at once, and with those that its scripts print, of user -1. Nil: the lines are
	// not rendered.
	OnLog func(user int64, line string) `json:"-"`
	// OnProgress is called about once a second, from one goroutine. Nil: not
	// called.
	OnProgress func(report.Progress) `json:"-"`
	// Watch names processes whose CPU time is measured over the run.
	Watch []cpu.Process `json:"-"`
	// WatchURLs are Prometheus metrics pages that give a process's CPU time, as
	// process_cpu_seconds_total.
	WatchURLs []string `json:"-"`
	// Protocol is wire.HTTP1 or wire.HTTP2, for all requests. Empty: wire.HTTP1.
	Protocol string
	// FailIf are conditions under which the report's Err fails. Nil: the plan's bounds
	// alone.
	FailIf []report.FailIf `json:"-"`
	// Grace is how long requests under way may go on when the context ends.
	// 0: 2 s; negative: not at all.
	Grace time.Duration
	// MaxLate is the schedule error that a run may have at its 99th percentile
	// (or a tenth of the median latency, where that is more) without being
	// void. 0: 10 ms.
	MaxLate time.Duration
	// Now is the clock. Nil: the machine's time when the run begins, and from there its monotonic clock.
	Now func() time.Time `json:"-"`
}

// Result is the outcome of one request.
type Result struct {
	User    int64  // the virtual user, from 0
	Name    string // the request's name in the report
	Status  int    // 0: no complete response
	Failure string // an error kind, empty for none
	Body    []byte
	// Intended, Sent and Done: latency is Done − Intended.
	Intended, Sent, Done time.Time
}

// WithDefaults sets the documented defaults of zero fields.
func (o Options) WithDefaults() Options {
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 10_000
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()>>12 | 1 // 52 bits: exact in JSON
	}
	if o.Grace == 0 {
		o.Grace = 2 * time.Second
	}
	if o.MaxLate == 0 {
		o.MaxLate = 10 * time.Millisecond
	}
	if o.Now == nil {
		// The monotonic clock alone takes half as long as time.Now, and a wall clock that is set
		// during a run moves nothing.
		began := time.Now()
		o.Now = func() time.Time { return began.Add(time.Since(began)) }
	}
	return o
}

// check refuses numbers that mean nothing.
func (o *Options) check() error {
	switch {
	case o.Pool < 0 || o.Pool > plan.MaxPool:
		return whittle.Errorf(whittle.Invalid, "a pool of %d connections is not within 0 and %d", o.Pool, plan.MaxPool)
	case o.MaxInFlight < 0 || o.MaxInFlight > plan.MaxUsers:
		return whittle.Errorf(whittle.Invalid, "%d users at once are not within 0 and %d", o.MaxInFlight, plan.MaxUsers)
	case o.MaxLate < 0:
		return whittle.Errorf(whittle.Invalid, "a schedule error of at most %v is below 0", o.MaxLate)
	}
	return nil
}
