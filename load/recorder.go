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
	requests, completed, failed int64
	sent, received              int64
	intended, actual            latency.Histogram
}

// tally is everything counted, by one shard or by all.
type tally struct {
	names         []nameTally
	codes         map[int]int64
	errors        map[string]int64
	samples       map[string]string // the text of one error of each kind
	connect       latency.Histogram
	firstByte     latency.Histogram
	scheduleError latency.Histogram  // schedule error
	paces         map[int]*groupPace // by a closed model's group, from 1
	// classes are the intended latencies by the status's first digit, 1 to 5.
	classes [6]latency.Histogram
	// unfinished requests were under way when the run was aborted.
	unfinished int64
}

func newTally(names int) *tally {
	return &tally{names: make([]nameTally, names), codes: map[int]int64{}, errors: map[string]int64{}, samples: map[string]string{}}
}

func (t *tally) merge(o *tally) {
	for i := range o.names {
		a, b := &t.names[i], &o.names[i]
		a.requests += b.requests
		a.completed += b.completed
		a.failed += b.failed
		a.sent += b.sent
		a.received += b.received
		a.intended.Merge(&b.intended)
		a.actual.Merge(&b.actual)
	}
	for k, v := range o.codes {
		t.codes[k] += v
	}
	for k, v := range o.errors {
		t.errors[k] += v
	}
	for k, v := range o.samples {
		if t.samples[k] == "" {
			t.samples[k] = v
		}
	}
	t.connect.Merge(&o.connect)
	t.firstByte.Merge(&o.firstByte)
	t.scheduleError.Merge(&o.scheduleError)
	for i := range o.classes {
		t.classes[i].Merge(&o.classes[i])
	}
	for i, p := range o.paces {
		t.pace(i).merge(p)
	}
	t.unfinished += o.unfinished
}

// delta is what happened since the last sample.
type delta struct {
	arrivals, requests, completed, failed int64
	lateness                              time.Duration // the latest start of a user
	latency                               latency.Histogram
}

func (p *delta) drain(from *delta) {
	p.arrivals += from.arrivals
	p.requests += from.requests
	p.completed += from.completed
	p.failed += from.failed
	p.lateness, from.lateness = max(p.lateness, from.lateness), 0
	p.latency.Merge(&from.latency)
	from.arrivals, from.requests, from.completed, from.failed = 0, 0, 0, 0
	from.latency.Reset()
}

// shard is one of several recorders, so that workers rarely contend for a lock.
type shard struct {
	mu sync.Mutex
	// The following is guarded by mu.
	sum      *tally
	recent   delta
	outcomes *outcomes // nil: nothing is exported
	_        [64]byte  // keeps neighbours off this cache line
}

// recordStart counts a virtual user that started, and how late.
func (s *shard) recordStart(late time.Duration) {
	s.mu.Lock()
	s.sum.scheduleError.Record(late)
	if s.outcomes != nil {
		s.outcomes.late = max(s.outcomes.late, late)
	}
	s.recent.arrivals++
	s.recent.lateness = max(s.recent.lateness, late)
	s.mu.Unlock()
}

// recordStepError counts an error that belongs to no request.
func (s *shard) recordStepError(kind string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.errors[kind]++
	if s.sum.samples[kind] == "" {
		s.sum.samples[kind] = sampleOf(&observation{failure: kind, err: err})
	}
}

// recordUnfinished counts a request that the end of the run aborted: it has no
// response and is no error.
func (s *shard) recordUnfinished(o *observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.names[o.name].requests++
	s.recent.requests++
	s.sum.unfinished++
}

// record counts one finished request.
//
// A request that timed out is in both latency views with its timeout: it would
// have taken longer, and leaving it out would make the target look faster.
func (s *shard) record(o *observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.sum.names[o.name]
	f.requests++
	f.sent += o.SentBytes
	f.received += o.ReceivedBytes
	s.recent.requests++
	if o.status > 0 {
		f.completed++
		s.recent.completed++
		s.sum.codes[o.status]++
	}
	if o.failure != "" {
		f.failed++
		s.recent.failed++
		s.sum.errors[o.failure]++
		if s.sum.samples[o.failure] == "" {
			s.sum.samples[o.failure] = sampleOf(o)
		}
	}
	if s.outcomes != nil {
		s.outcomes.record(o)
	}
	if o.Connect > 0 {
		s.sum.connect.Record(o.Connect)
	}
	if !o.First.IsZero() {
		s.sum.firstByte.Record(o.First.Sub(o.Sent))
	}
	if o.status > 0 || o.failure == report.ErrorTimeout {
		d := o.done.Sub(o.intended)
		f.intended.Record(d)
		f.actual.Record(o.done.Sub(o.Sent))
		s.sum.recordPace(o)
		s.recent.latency.Record(d)
		if class := o.status / 100; class > 0 && class < len(s.sum.classes) {
			s.sum.classes[class].Record(d)
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

// runCounts is what a run has counted so far, without the distributions: small
// enough to be added up at every sample.
type runCounts struct {
	requests, sent, received  int64
	finished, failed, skipped int64 // virtual users; failed ones ended by an error
	codes                     map[int]int64
	errors                    map[string]int64
}

// add adds o times a factor; −1 subtracts it. Counts that come to 0 are left out.
func (l *runCounts) add(o *runCounts, times int64) {
	l.requests += times * o.requests
	l.sent += times * o.sent
	l.received += times * o.received
	l.finished += times * o.finished
	l.failed += times * o.failed
	l.skipped += times * o.skipped
	l.codes = addCounts(l.codes, o.codes, times)
	l.errors = addCounts(l.errors, o.errors, times)
}

func addCounts[K comparable](to, from map[K]int64, times int64) map[K]int64 {
	if to == nil && len(from) > 0 {
		to = make(map[K]int64, len(from))
	}
	for k, n := range from {
		if to[k] += times * n; to[k] == 0 {
			delete(to, k)
		}
	}
	return to
}

// counts adds up what all shards have counted.
func (s *execution) counts() runCounts {
	var l runCounts
	for _, sh := range s.recorder.shards {
		sh.mu.Lock()
		for i := range sh.sum.names {
			f := &sh.sum.names[i]
			l.requests += f.requests
			l.sent += f.sent
			l.received += f.received
		}
		l.codes = addCounts(l.codes, sh.sum.codes, 1)
		l.errors = addCounts(l.errors, sh.sum.errors, 1)
		sh.mu.Unlock()
	}
	l.finished, l.failed, l.skipped = s.finished.Load(), s.failed.Load(), s.skipped.Load()
	return l
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

func newPoint(w *latency.Window, c *windowCounts) report.Point {
	p := report.Point{
		At: w.Start.Seconds(), Width: w.Width.Seconds(), Span: thousandths(c.span.Seconds()),
		Arrivals: c.arrivals, Completed: c.completed, Failed: c.failed, InFlight: c.inFlight,
		Requests: c.counts.requests, Finished: c.counts.finished, UsersFailed: c.counts.failed, Skipped: c.counts.skipped,
		Received: c.counts.received, Late: latency.Milliseconds(c.lateness), Cores: cpu.Busy(c.cores),
		Timed: w.Count, Min: latency.Milliseconds(w.Min), Mean: latency.Milliseconds(w.Mean), Max: latency.Milliseconds(w.Max),
		P50: latency.Milliseconds(w.P50), P75: latency.Milliseconds(w.P75), P90: latency.Milliseconds(w.P90),
		P95: latency.Milliseconds(w.P95), P99: latency.Milliseconds(w.P99), P999: latency.Milliseconds(w.P999),
	}
	if c.span > 0 {
		p.GeneratorCores = cores(c.generatorCPU, c.span)
		p.WatchedCores = cores(c.watchedCPU, c.span)
	}
	for code, n := range c.counts.codes {
		if p.Codes == nil {
			p.Codes = map[string]int64{}
		}
		p.Codes[strconv.Itoa(code)] = n
	}
	if len(c.counts.errors) > 0 {
		p.Errors = c.counts.errors
	}
	return p
}
