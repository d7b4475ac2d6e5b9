package load

import (
	"sync"
	"time"

	"whittle/internal/latency"
	"whittle/load/report"
)

// observed is what one request came to.
type observed struct {
	name     int
	intended time.Time // when it was due
	sent     time.Time // when the generator began on it
	first    time.Time // first byte of the answer; zero where none came
	done     time.Time
	connect  time.Duration // 0: an open connection was used
	status   int           // 0: no whole answer
	failure  string        // an error kind, or empty
	up, down int64         // bytes
	crowd    int           // a closed model's group, from 1; else 0
	gap      time.Duration // since the user's request before; 0 for its first
}

// figures are one request name's.
type figures struct {
	requests, completed, failed int64
	up, down                    int64
	intended, actual            latency.Histogram
}

// tally is everything counted, by one shard or by all together.
type tally struct {
	names     []figures
	codes     map[int]int64
	errors    map[string]int64
	connect   latency.Histogram
	firstByte latency.Histogram
	late      latency.Histogram // schedule error
	crowds    map[int]*paced    // by a closed model's group, from 1
	// classes are the intended latencies by the status's first digit, 1 to 5.
	classes [6]latency.Histogram
	// unfinished requests were under way when the run was cut.
	unfinished int64
}

func newTally(names int) *tally {
	return &tally{names: make([]figures, names), codes: map[int]int64{}, errors: map[string]int64{}}
}

func (t *tally) merge(o *tally) {
	for i := range o.names {
		a, b := &t.names[i], &o.names[i]
		a.requests += b.requests
		a.completed += b.completed
		a.failed += b.failed
		a.up += b.up
		a.down += b.down
		a.intended.Merge(&b.intended)
		a.actual.Merge(&b.actual)
	}
	for k, v := range o.codes {
		t.codes[k] += v
	}
	for k, v := range o.errors {
		t.errors[k] += v
	}
	t.connect.Merge(&o.connect)
	t.firstByte.Merge(&o.firstByte)
	t.late.Merge(&o.late)
	for i := range o.classes {
		t.classes[i].Merge(&o.classes[i])
	}
	for i, p := range o.crowds {
		t.crowd(i).merge(p)
	}
	t.unfinished += o.unfinished
}

// pulse is what happened since the last look.
type pulse struct {
	arrivals, requests, completed, failed int64
	late                                  time.Duration // the latest start of a user
	latency                               latency.Histogram
}

func (p *pulse) drain(from *pulse) {
	p.arrivals += from.arrivals
	p.requests += from.requests
	p.completed += from.completed
	p.failed += from.failed
	p.late, from.late = max(p.late, from.late), 0
	p.latency.Merge(&from.latency)
	from.arrivals, from.requests, from.completed, from.failed = 0, 0, 0, 0
	from.latency.Reset()
}

// shard is one of a few recorders, so that workers seldom wait for each other.
type shard struct {
	mu sync.Mutex
	// The following is guarded by mu.
	sum *tally
	now pulse
	_   [64]byte // keeps neighbours off this cache line
}

// begun counts a virtual user that started late by so much.
func (s *shard) begun(late time.Duration) {
	s.mu.Lock()
	s.sum.late.Record(late)
	s.now.arrivals++
	s.now.late = max(s.now.late, late)
	s.mu.Unlock()
}

// cut counts a request that the end of the run broke off: no answer, and
// nobody's error.
func (s *shard) cut(o *observed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.names[o.name].requests++
	s.now.requests++
	s.sum.unfinished++
}

// record counts one finished request.
//
// A request that timed out is in both latency views with the time it was given
// up at: what it would have taken is more, and leaving it out would flatter.
func (s *shard) record(o *observed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.sum.names[o.name]
	f.requests++
	f.up += o.up
	f.down += o.down
	s.now.requests++
	if o.status > 0 {
		f.completed++
		s.now.completed++
		s.sum.codes[o.status]++
	}
	if o.failure != "" {
		f.failed++
		s.now.failed++
		s.sum.errors[o.failure]++
	}
	if o.connect > 0 {
		s.sum.connect.Record(o.connect)
	}
	if !o.first.IsZero() {
		s.sum.firstByte.Record(o.first.Sub(o.sent))
	}
	if o.status > 0 || o.failure == report.ErrorTimeout {
		d := o.done.Sub(o.intended)
		f.intended.Record(d)
		f.actual.Record(o.done.Sub(o.sent))
		s.sum.follow(o)
		s.now.latency.Record(d)
		if class := o.status / 100; class > 0 && class < len(s.sum.classes) {
			s.sum.classes[class].Record(d)
		}
	}
}
