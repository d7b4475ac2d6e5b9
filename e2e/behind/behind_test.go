package behind

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// user asks over connections of his own, and is known by a cookie and by a header.
type user struct {
	name, door string
	transport  *http.Transport
}

// clientAddress is where users come from: not the proxy's own address.
const clientAddress = "127.9.8.7"

func (d *door) user(name string) *user {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}}
	return &user{name: name, door: d.address, transport: &http.Transport{
		DialContext:     dialer.DialContext,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the test's own, of this machine
	}}
}

// answer is what became of a request.
type answer struct {
	status    int
	side, way string
	err       error
}

func (u *user) ask(method, path string, fields ...string) answer {
	req, err := http.NewRequestWithContext(context.Background(), method, "https://"+u.door+path, http.NoBody)
	if err != nil {
		return answer{err: err}
	}
	if method == http.MethodPost {
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader("a write")), 7
	}
	req.Host = "shop.example"
	req.Header.Set("X-User", u.name)
	req.Header.Set("Cookie", "session="+u.name)
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := u.transport.RoundTrip(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK && string(b) != fmt.Sprintf(`{"path": %q}`, path) {
		err = fmt.Errorf("the response is %q", b)
	}
	return answer{resp.StatusCode, resp.Header.Get("X-Side"), resp.Header.Get("X-Way"), err}
}

// phase counts what users saw while one thing was done to whittle.
type phase struct {
	name                          string
	reads, failed, writes, undone int
	straight, through             int // which way reads went
	slowest                       time.Duration
	took                          []time.Duration // by reads
}

// load is users who ask at a pace: a hundred requests a second together.
type load struct {
	name string
	stop chan struct{}
	all  sync.WaitGroup

	mu     sync.Mutex // guards the following
	phases []phase
	faults []string                  // of reads
	undone []string                  // writes without a response of the application
	sides  map[string]map[string]int // by user and route, of responses by way of whittle; nil: no more
	were   map[string]map[string]int // the same when they were settled
}

const (
	users = 20
	pace  = 200 * time.Millisecond // of each
)

func (d *door) load() *load {
	l := &load{name: d.name, stop: make(chan struct{}), sides: map[string]map[string]int{}, phases: []phase{{}}}
	for i := range users {
		l.all.Go(func() {
			u := d.user(fmt.Sprintf("user-%d", i))
			defer u.transport.CloseIdleConnections()
			tick := time.NewTicker(pace)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				case <-tick.C:
				}
				method, path := http.MethodGet, fmt.Sprintf("/items/%s-%d-%d", d.name, i, n)
				switch (i + n) % 4 {
				case 1:
					path += "/price"
				case 3:
					method = http.MethodPost
				}
				began := time.Now()
				l.note(u.name, method, path, u.ask(method, path), time.Since(began))
			}
		})
	}
	return l
}

func (l *load) note(name, method, path string, a answer, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.phases[len(l.phases)-1]
	good := a.err == nil && a.status == http.StatusOK
	if method == http.MethodPost {
		p.writes++
		if !good {
			p.undone++
			l.undone = append(l.undone, fmt.Sprintf("%s: %d %v", p.name, a.status, a.err))
		}
		return
	}
	p.reads++
	p.slowest, p.took = max(p.slowest, took), append(p.took, took)
	switch {
	case !good:
		p.failed++
		l.faults = append(l.faults, fmt.Sprintf("%s: GET %s: %d, %v", p.name, path, a.status, a.err))
	case a.way == "straight":
		p.straight++
	default:
		p.through++
		key := name + " " + byCookie
		if strings.HasSuffix(path, "/price") {
			key = name + " " + byHeader
		}
		if l.sides == nil {
			break
		}
		if l.sides[key] == nil {
			l.sides[key] = map[string]int{}
		}
		l.sides[key][a.side]++
	}
}

// during begins a phase.
func (l *load) during(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phases = append(l.phases, phase{name: name})
}

// settled keeps on which sides users have been, and no more.
func (l *load) settled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.were, l.sides = l.sides, nil
}

// went is how many reads of the phase went a way.
func (l *load) went(way string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.phases[len(l.phases)-1]
	if way == "straight" {
		return p.straight
	}
	return p.through
}

// TestBehind holds what the examples promise of each proxy: who the user is reaches the
// monolith, users stay on their side, and whatever is done to whittle fails no user's GET
// and sends no write twice.
func TestBehind(t *testing.T) {
	w := begin(t)
	loads := map[string]*load{}
	for _, f := range fronts {
		t.Run(f.name+" tells who the user is", func(s *testing.T) {
			d := w.open(t, s, f)
			w.identity(s, d)
			loads[f.name] = d.load()
		})
	}
	all := func(do func(*load)) {
		for _, l := range loads {
			do(l)
		}
	}
	// reads waits until at each proxy so many more reads went a way.
	reads := func(what, way string, more int) {
		from := map[string]int{}
		for name, l := range loads {
			from[name] = l.went(way)
		}
		for name, l := range loads {
			process.Await(t, fmt.Sprintf("%s: %d reads at %s go %s", what, more, name, way), func() (bool, string) {
				n := l.went(way) - from[name]
				return n >= more, strconv.Itoa(n)
			})
		}
	}
	during := func(name string) { all(func(l *load) { l.during(name) }) }
	reads("before", "whittle", 60)

	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		during("ended by " + unix.SignalName(s))
		w.signal(t, s)
		<-w.whittle.Ended
		reads("ended", "straight", 60)
		w.start(t)
		reads("started again", "whittle", 30)
	}
	during("replaced by SIGUSR2, twice")
	for range 2 {
		w.whittle.Replace()
		reads("replaced", "whittle", 60)
	}

	// What was under way at the candidate seems to have hung when whittle goes on: its breaker
	// may take all users off it.
	all(func(l *load) { l.settled() })
	during("stopped by SIGSTOP")
	w.signal(t, syscall.SIGSTOP)
	stopped := 60
	if !testing.Short() {
		stopped = 1000 // ten seconds of the load
	}
	reads("stopped", "straight", stopped)
	w.signal(t, syscall.SIGCONT)
	reads("continued", "whittle", 30)
	all(func(l *load) { close(l.stop); l.all.Wait() })
	for name, l := range loads {
		t.Run(name, func(t *testing.T) { l.content(t) })
	}
	if twice := w.monolith.twice(); twice != nil {
		t.Errorf("written twice: %q", twice)
	}
	if n := len(w.candidate.writes); n > 0 {
		t.Errorf("%d writes were sent to the candidate", n)
	}
	if !t.Failed() {
		all(func(l *load) { rows[l.name] = l.phases[1:] })
	}
}

// content holds what users saw.
func (l *load) content(t *testing.T) {
	t.Helper()
	for _, p := range l.phases {
		p.took = nil
		t.Logf("%-8s %+v", p.name, p)
	}
	t.Logf("undone: %q", l.undone)
	for i, f := range l.faults[:min(len(l.faults), 10)] {
		t.Errorf("%d of %d: %s", i+1, len(l.faults), f)
	}
	both := map[string]bool{}
	for key, sides := range l.were {
		if len(sides) > 1 {
			t.Errorf("%s was on both sides: %v", key, sides)
		}
		for side := range sides {
			both[side] = true
		}
	}
	fatal.Same(t, len(both), 2, "all users were on %v", both)
}

// identity holds that the application is told the same of the user on both ways: who it is,
// which host and scheme were asked for, and the request's id.
func (w *world) identity(t *testing.T, d *door) {
	t.Helper()
	u := d.user("identity")
	defer u.transport.CloseIdleConnections()
	for i, path := range []string{"/items/1", "/other/1"} {
		for j, id := range []string{"", "an-id-of-the-client"} {
			show := fmt.Sprintf("%d-%d", i, j)
			fields := []string{"X-Show", show}
			if id != "" {
				fields = append(fields, "X-Request-ID", id)
			}
			a := u.ask(http.MethodGet, path, fields...)
			if a.err != nil || a.status != http.StatusOK || (a.way == "whittle") != (i == 0) {
				t.Fatalf("%s: %+v", path, a)
			}
			h := w.monolith.head(show)
			if a.side == "candidate" {
				h = w.candidate.head(show)
			}
			client := ""
			for _, hop := range strings.Split(h.Get("X-Forwarded-For"), ",") {
				if hop = strings.TrimSpace(hop); hop != "127.0.0.1" { // the proxy's own: trusted
					client = hop
				}
			}
			if client != clientAddress || h.Get("Host") != "shop.example" || h.Get("X-Forwarded-Proto") != "https" || h.Get("X-Request-Id") == "" || id != "" && h.Get("X-Request-Id") != id {
				t.Errorf("%s with id %q came as %v", path, id, h)
			}
		}
	}
}
