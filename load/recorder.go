package load

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"whittle/internal/latency"
	"whittle/load/cpu"
	"whittle/load/report"
	"whittle/load/wire"
)

// observation is the outcome of one request.
type observation struct {
	wire.Timing
	name     int
	intended time.Time // when it was due
	done     time.Time
	status   int           // 0: no complete response
	failure  string        // an error kind, or empty
	why      string        // what of the response made it fail
	mild     bool          // the failure ends nobody
	forgiven bool          // the failure is one in the report alone
	unseen   bool          // it says nothing of the user
	err      error         // what failed, where that says more than the kind
	group    int           // a closed model's group, from 1; else 0
	gap      time.Duration // since the user's previous request; 0 for its first
}

// nameTally is the tally of one request name.
type nameTally struct {
	Requests  int64 `json:"requests"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Sent      int64 `json:"sent"`
	Received  int64 `json:"received"`
	// Intended counts from when requests were due, Actual from when they were sent.
	Intended *latency.Histogram `json:"intended"`
	Actual   *latency.Histogram `json:"actual"`
}

// tally is everything counted, by one shard or by all. Its JSON form is what a part of a
// run says of itself.
type tally struct {
	Names         []nameTally        `json:"names"`
	Codes         map[int]int64      `json:"codes"`
	Errors        map[string]int64   `json:"errors"`
	Samples       map[string]string  `json:"error_samples"` // the text of one error of each kind
	Connect       *latency.Histogram `json:"connect"`
	FirstByte     *latency.Histogram `json:"first_byte"`
	ScheduleError *latency.Histogram `json:"schedule_error"`
	Paces         map[int]*groupPace `json:"paces,omitempty"` // by a closed model's group, from 1
	// Succeeded are the intended latencies of requests that did not fail.
	Succeeded *latency.Histogram `json:"succeeded"`
	// Unfinished requests were under way when the run was aborted.
	Unfinished int64 `json:"unfinished"`
}

func newTally(names int) *tally {
	t := &tally{
		Names: make([]nameTally, names), Codes: map[int]int64{}, Errors: map[string]int64{}, Samples: map[string]string{},
		Connect: new(latency.Histogram), FirstByte: new(latency.Histogram), ScheduleError: new(latency.Histogram),
		Succeeded: new(latency.Histogram),
	}
	for i := range t.Names {
		t.Names[i].Intended, t.Names[i].Actual = new(latency.Histogram), new(latency.Histogram)
	}
	return t
}

// histograms are all of the tally's, the same ones of every tally of a plan.
func (t *tally) histograms() []*latency.Histogram {
	out := []*latency.Histogram{t.Connect, t.FirstByte, t.ScheduleError, t.Succeeded}
	for i := range t.Names {
		out = append(out, t.Names[i].Intended, t.Names[i].Actual)
	}
	return out
}

func (t *tally) merge(o *tally) {
	from := o.histograms()
	for i, h := range t.histograms() {
		h.Merge(from[i])
	}
	for i := range o.Names {
		a, b := &t.Names[i], &o.Names[i]
		a.Requests += b.Requests
		a.Completed += b.Completed
		a.Failed += b.Failed
		a.Sent += b.Sent
		a.Received += b.Received
	}
	addCounts(t.Codes, o.Codes)
	addCounts(t.Errors, o.Errors)
	for k, v := range o.Samples {
		if t.Samples[k] == "" {
			t.Samples[k] = v
		}
	}
	for i, p := range o.Paces {
		own := t.pace(i)
		own.Actual.Merge(p.Actual)
		own.Gap.Merge(p.Gap)
	}
	t.Unfinished += o.Unfinished
}

// delta is what happened since the last sample.
type delta struct {
	arrivals, completed, failed int64
	lateness                    time.Duration // the latest start of a user
	latency                     latency.Histogram
}

func (p *delta) drain(from *delta) {
	p.arrivals += from.arrivals
	p.completed += from.completed
	p.failed += from.failed
	p.lateness, from.lateness = max(p.lateness, from.lateness), 0
	p.latency.Merge(&from.latency)
	from.arrivals, from.completed, from.failed = 0, 0, 0
	from.latency.Reset()
}

// shard is one of several recorders, so that workers rarely contend for a lock.
type shard struct {
	mu sync.Mutex
	// The following is guarded by mu.
	sum    *tally
	recent delta
	_      [64]byte // keeps neighbours off this cache line
}

// recordStart counts a virtual user that started, and how late.
func (s *shard) recordStart(late time.Duration) {
	s.mu.Lock()
	s.sum.ScheduleError.Record(late)
	s.recent.arrivals++
	s.recent.lateness = max(s.recent.lateness, late)
	s.mu.Unlock()
}

// recordStepError counts an error that belongs to no request.
func (s *shard) recordStepError(kind string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.Errors[kind]++
	if s.sum.Samples[kind] == "" {
		s.sum.Samples[kind] = sampleOf(&observation{failure: kind, err: err})
	}
}

// recordUnfinished counts a request that the end of the run aborted: it has no
// response and is no error.
func (s *shard) recordUnfinished(o *observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.Names[o.name].Requests++
	s.sum.Unfinished++
}

// record counts one finished request.
//
// A request that timed out is in both latency views with its timeout: it would
// have taken longer, and leaving it out would make the target look faster.
func (s *shard) record(o *observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.sum.Names[o.name]
	f.Requests++
	f.Sent += o.SentBytes
	f.Received += o.ReceivedBytes
	if o.status > 0 {
		f.Completed++
		s.recent.completed++
		s.sum.Codes[o.status]++
	}
	if o.failure != "" {
		f.Failed++
		s.recent.failed++
		s.sum.Errors[o.failure]++
		if s.sum.Samples[o.failure] == "" {
			s.sum.Samples[o.failure] = sampleOf(o)
		}
	}
	if o.Connect > 0 {
		s.sum.Connect.Record(o.Connect)
	}
	if !o.First.IsZero() {
		s.sum.FirstByte.Record(o.First.Sub(o.Sent))
	}
	if o.status > 0 || o.failure == report.ErrorTimeout {
		d := o.done.Sub(o.intended)
		f.Intended.Record(d)
		f.Actual.Record(o.done.Sub(o.Sent))
		s.sum.recordPace(o)
		s.recent.latency.Record(d)
		if o.failure == "" {
			s.sum.Succeeded.Record(d)
		}
	}
}

// maxSample bounds a sample of an error.
const maxSample = 200

// sampleOf is the text of a failed request's error, which may hold what a target sent:
// bounded, and without control characters, which would move a terminal's cursor.
func sampleOf(o *observation) string {
	text := "status " + strconv.Itoa(o.status)
	if o.why != "" {
		text = o.why + " (" + text + ")"
	}
	if o.err != nil {
		text = o.err.Error()
	}
	return printableLine(text, maxSample)
}

// printableLine is a text of bounded length without what would move a terminal's cursor.
func printableLine(text string, most int) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), most)], ""))
}

// recorder counts the outcomes of a run's requests.
type recorder struct {
	names  int // of requests in the plan
	shards []*shard
}

func newRecorder(names int) *recorder {
	r := &recorder{names: names, shards: make([]*shard, min(runtime.GOMAXPROCS(0), 8))}
	for i := range r.shards {
		r.shards[i] = &shard{sum: newTally(names)}
	}
	return r
}

// shard is the shard of the ith user.
func (r *recorder) shard(i int) *shard { return r.shards[i%len(r.shards)] }

// drain returns and resets what all shards counted since the last sample.
func (r *recorder) drain() *delta {
	p := new(delta)
	for _, sh := range r.shards {
		sh.mu.Lock()
		p.drain(&sh.recent)
		sh.mu.Unlock()
	}
	return p
}

// total adds up what all shards have recorded.
func (r *recorder) total() *tally {
	t := newTally(r.names)
	for _, sh := range r.shards {
		sh.mu.Lock()
		t.merge(sh.sum)
		sh.mu.Unlock()
	}
	return t
}

// addCounts adds the counts of one map to those of another.
func addCounts[K comparable](to, from map[K]int64) {
	for k, n := range from {
		to[k] += n
	}
}

func cores(used, span time.Duration) float64 {
	return thousandths(float64(used) / float64(span))
}

func thousandths(f float64) float64 { return math.Round(f*1e3) / 1e3 }

// points returns the series as the report shows it.
func (h *history) points() []report.Point {
	windows := h.series.Windows()
	out := make([]report.Point, len(windows))
	for i := range windows {
		out[i] = newPoint(&windows[i], &h.windows[i])
	}
	return out
}

func newPoint(w *latency.Window, c *window) report.Point {
	p := report.Point{
		At: w.Start.Seconds(), Width: w.Width.Seconds(), Span: thousandths(c.Span.Seconds()),
		Arrivals: c.Arrivals, Completed: c.Completed, Failed: c.Failed, InFlight: c.InFlight,
		Late: latency.Milliseconds(c.Late), Cores: cpu.Busy(c.cores), Timed: w.Count, Figures: w.Figures(),
	}
	if c.Span > 0 {
		p.GeneratorCores = cores(c.CPU, c.Span)
		p.WatchedCores = cores(c.watchedCPU, c.Span)
	}
	return p
}
