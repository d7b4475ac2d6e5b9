package walk

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// inForce waits until the config in force says so.
func (g *gate) inForce(t *testing.T, words string) {
	t.Helper()
	process.Await(t, words+" to be in force", func() (bool, string) {
		raw, err := g.client.Config(t.Context())
		fatal.If(t, err)
		return strings.Contains(string(raw), words), string(raw)
	})
}

// placeOf gives file:line:column of the first such word in the config.
func (g *gate) placeOf(t *testing.T, word string) string {
	t.Helper()
	before, _, found := strings.Cut(fatal.Read(t, g.path()), word)
	if !found {
		t.Fatalf("no %q in the config", word)
	}
	return fmt.Sprintf("%s:%d:%d:", g.path(), 1+strings.Count(before, "\n"), len(before)-strings.LastIndexByte(before, '\n'))
}

// TestReload changes the config under load: by signal, by the file alone, and
// by a file that is wrong. No user notices any of it.
func TestReload(t *testing.T) {
	const users = 8
	reloads := 20
	if testing.Short() {
		reloads = 6
	}
	m := process.Monolith(t)
	s := setting{Monolith: m.Public, Candidate: newFake(t).address(), Plain: true}
	g := open(t, s)
	s.Work = g.setting.Work
	c := gather(g.Public, users, small)
	g.climb(t, 1, 10)
	for i := range reloads {
		s.Timeout = fmt.Sprintf("%ds", 11+i)
		g.write(t, s)
		if i%2 == 0 {
			g.Signal(t, syscall.SIGHUP)
		}
		g.inForce(t, s.Timeout)
		c.more(t, users)
	}
	before := g.route(t)
	if before.Percent != 25 || before.Verdict.Compared == 0 {
		t.Errorf("after %d reloads: %s at %g %%, %d compared", reloads, before.Phase, before.Percent, before.Verdict.Compared)
	}

	bad := s
	bad.Mirror = "{shed_abve: off}"
	g.write(t, bad)
	place := g.placeOf(t, "shed_abve")
	g.Signal(t, syscall.SIGHUP)
	process.Await(t, "the bad config to be refused", func() (bool, string) {
		said := g.Said()
		return strings.Contains(said, "config refused") && strings.Contains(said, place), said
	})
	c.more(t, users)
	g.inForce(t, s.Timeout)
	if r := g.route(t); r.Percent != 25 {
		t.Errorf("a refused config moved the share: %s at %g %%", r.Phase, r.Percent)
	}

	s.Candidate = newFake(t).address()
	g.write(t, s)
	g.Signal(t, syscall.SIGHUP)
	after := g.await(t, "the evidence to begin afresh", func(r *whittle.RouteStatus) bool { return r.Phase == whittle.PhaseShadow && r.Share == 0 })
	if after.Verdict.Compared >= before.Verdict.Compared {
		t.Errorf("%d compared before, %d with another candidate", before.Verdict.Compared, after.Verdict.Compared)
	}
	c.more(t, users)
	c.home()
	c.content(t)
	g.atRest(t)
}

// TestReloadUnderWay answers a request from the monolith that it was sent to,
// though the config has another one by then.
func TestReloadUnderWay(t *testing.T) {
	came, release := make(chan struct{}), make(chan struct{})
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(came)
		<-release
		_, _ = w.Write([]byte("old"))
	}))
	t.Cleanup(old.Close)
	next := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("next")) }))
	t.Cleanup(next.Close)
	s := setting{Monolith: old.Listener.Addr().String()}
	g := open(t, s)
	s.Work = g.setting.Work
	responded := make(chan string, 1)
	go func() {
		u := newUser(g.Public, 1)
		defer u.close()
		status, response, err := u.ask(http.MethodPost, "/", "{}")
		responded <- fmt.Sprint(status, response, err)
	}()
	<-came
	s.Monolith = next.Listener.Addr().String()
	g.write(t, s)
	g.inForce(t, s.Monolith)
	u := newUser(g.Public, 2)
	defer u.close()
	if status, response, err := u.ask(http.MethodPost, "/", "{}"); status != http.StatusOK || response != "next" || err != nil {
		t.Errorf("a new request got %d %q, %v", status, response, err)
	}
	close(release)
	fatal.Same(t, <-responded, "200old<nil>", "the request under way")
}

const (
	// lookEvery is how often the stalls' timer is due, and stallLeast the lateness that is kept.
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
