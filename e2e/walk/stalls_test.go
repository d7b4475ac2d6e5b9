package walk

import (
	"regexp"
	"sync"
	"testing"
	"time"
)

const (
	// lookEvery is how often the stalls' timer is due, and stallLeast how late it
	// must be for that to be kept.
	lookEvery  = 5 * time.Millisecond
	stallLeast = 20 * time.Millisecond
)

// stalls measures how long the machine left this process standing: a timer that
// is due every few milliseconds, and how late it was.
type stalls struct {
	mu   sync.Mutex // guards the following
	late []stall
}

// stall is a time in which the process did not run.
type stall struct{ from, to time.Time }

// measureStalls begins now and ends with the test.
func measureStalls(t *testing.T) *stalls {
	t.Helper()
	s, stop, done := new(stalls), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		last := time.Now()
		for {
			select {
			case <-stop:
				return
			case <-look.C:
			}
			now := time.Now()
			s.add(last.Add(lookEvery), now)
			last = now
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
	return s
}

func (s *stalls) add(due, came time.Time) {
	if came.Sub(due) < stallLeast {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, stall{due, came})
}

// within adds up for how long the process stood between two moments.
func (s *stalls) within(from, to time.Time) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.late {
		begin, end := l.from, l.to
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		sum += max(0, end.Sub(begin))
	}
	return sum
}

var waitedInVain = regexp.MustCompile(`breaker tripped: [0-9]+ requests have waited for the candidate without one good response for ([0-9.a-zµ]+)`)

// explain reports whether a stall that was measured explains a rollback, and how
// long it was. Only one rollback can be explained so: the circuit breaker's, for
// which no response came in time. That time is at least four times the slowest
// response before, so of it responses fill a quarter at most; the process must
// have stood for half of it or more.
func (s *stalls) explain(reason string, at time.Time) (stood time.Duration, explained bool) {
	m := waitedInVain.FindStringSubmatch(reason)
	if m == nil {
		return 0, false
	}
	waited, err := time.ParseDuration(m[1])
	if err != nil {
		return 0, false
	}
	stood = s.within(at.Add(-waited), at)
	return stood, 2*stood >= waited
}

// TestOnlyAMeasuredStallExplainsARollback: not another reason, not a stall that was
// over before, and not one that is shorter than half of what the breaker waited.
func TestOnlyAMeasuredStallExplainsARollback(t *testing.T) {
	at := time.Unix(100, 0)
	ago := func(ms int) time.Time { return at.Add(-time.Duration(ms) * time.Millisecond) }
	const waited = "The breaker tripped: 50 requests have waited for the candidate without one good response for 500ms; the monolith serves everything again."
	for _, tc := range []struct {
		name, reason string
		late         []stall
		want         bool
	}{
		{"no stall", waited, nil, false},
		{"a stall", waited, []stall{{ago(300), ago(40)}}, true},
		{"two stalls", waited, []stall{{ago(450), ago(300)}, {ago(200), ago(50)}}, true},
		{"a short stall", waited, []stall{{ago(300), ago(60)}}, false},
		{"an earlier stall", waited, []stall{{ago(3000), ago(400)}}, false},
		{"another reason", "The errors guard was breached: 2 % of its responses were bad.", []stall{{ago(3000), at}}, false},
		{"bad responses", "The breaker tripped: 5 bad responses of the candidate in a row.", []stall{{ago(3000), at}}, false},
		{"a longer wait", "The breaker tripped: 9 requests have waited for the candidate without one good response for 1.2s.", []stall{{ago(500), at}}, false},
	} {
		s := stalls{late: tc.late}
		if stood, got := s.explain(tc.reason, at); got != tc.want {
			t.Errorf("%s: %t after %v", tc.name, got, stood)
		}
	}
}

// TestStallsAreMeasured: a timer that is late by what counts is kept, one that is on
// time is not.
func TestStallsAreMeasured(t *testing.T) {
	var s stalls
	at := time.Unix(100, 0)
	s.add(at, at.Add(stallLeast-time.Millisecond))
	s.add(at, at.Add(2*stallLeast))
	if got := s.within(at.Add(-time.Second), at.Add(time.Second)); got != 2*stallLeast {
		t.Errorf("%v, want %v", got, 2*stallLeast)
	}
}
