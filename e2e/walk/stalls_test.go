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
