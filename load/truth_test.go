package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/load/wire"
)

// frozenServer responds at once, except that from `from` after its first request
// on it holds all responses for `freeze`, as a process does in a long pause.
type frozenServer struct {
	*httptest.Server
	once       sync.Once
	freeze     time.Duration
	thawed     chan struct{}
	began, end time.Time // of the freeze

	mu sync.Mutex
	// responded, guarded by mu, is when each response since the freeze was given.
	responded []time.Time
}

func newFrozenServer(from, freeze time.Duration) *frozenServer {
	f := &frozenServer{freeze: freeze, thawed: make(chan struct{})}
	first := sync.OnceValue(time.Now)
	f.Server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if time.Since(first()) < from {
			return
		}
		f.once.Do(func() {
			f.began = time.Now()
			time.AfterFunc(f.freeze, func() {
				f.end = time.Now()
				close(f.thawed)
			})
		})
		<-f.thawed
		f.mu.Lock()
		f.responded = append(f.responded, time.Now())
		f.mu.Unlock()
	}))
	return f
}

// drain is how long the server took to respond to the n requests that were due while it stood.
func (f *frozenServer) drain(n float64) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.responded[min(int(n), len(f.responded)-1)].Sub(f.end)
}

// TestAFrozenServerShowsInTheLatency is the test of the whole idea: a target
// that stands still for six seconds must cost every user due in them the rest
// of it, however few connections there were to be stuck on.
//
// A busy machine can only add to a latency. So what is below the analytic
// value always fails; what is above it fails unless the generator, in the same
// process as the server, was held up itself: in each of three runs, and
// then it counts as not tried.
func TestAFrozenServerShowsInTheLatency(t *testing.T) {
	t.Parallel()
	for _, pool := range []int{0, 4} {
		t.Run(fmt.Sprintf("pool %d", pool), func(t *testing.T) {
			t.Parallel()
			for range 3 {
				above, calm := freezeOnce(t, pool)
				if above == "" {
					return
				}
				if calm {
					t.Fatal(above)
				}
				t.Logf("held up by the machine: %s", above)
			}
			needs.Missing(t, "the upper bound of the latency behind a freeze", "run it on a machine that does not hold the generator up in each of three runs")
		})
	}
}

func freezeOnce(t *testing.T, pool int) (above string, calm bool) {
	t.Helper()
	const rate, length, freeze = 50.0, 8.0, 6.0
	f := newFrozenServer(500*time.Millisecond, time.Duration(freeze*float64(time.Second)))
	defer f.Close()
	p := parsed(t, fmt.Sprintf("config: {http: {timeout: 60}, phases: [{duration: %v, arrivalRate: %v}]}\nscenarios: [{flow: [{get: {url: /}}]}]", length, rate))
	r := run(t, p, Options{Target: f.URL, Pool: pool})
	if r.Completed != rate*length {
		t.Fatalf("%d completed, want %v; errors %v", r.Completed, rate*length, r.Errors)
	}
	// Of the n users, those due while it stood waited evenly from 0 to its whole
	// length: the value at quantile q is that of the one who waited longer than
	// all but (1−q)·n.
	frozen, n := f.end.Sub(f.began).Seconds(), float64(r.Completed)
	for _, q := range []float64{.5, .6, .75, .9, .95, .99, .999} {
		want := frozen - (1-q)*n/rate
		got := r.Histograms.Intended.Quantile(q).Seconds()
		if got < want*0.98 {
			t.Errorf("p%v from the intended time: %.3f s, want at least %.3f s less 2 %%", q*100, got, want)
		}
		// What the server took to let all of them go is its own, not an error.
		if drain := f.drain(frozen * rate).Seconds(); got > want*1.02+drain {
			above = fmt.Sprintf("p%v from the intended time: %.3f s, want %.3f s within 2 %% (and %.3f s of draining)", q*100, got, want, drain)
		}
	}
	// The view that most tools show: with 4 connections, 4 requests saw it.
	if slow := r.Latency.Actual.P95; pool > 0 && slow > time.Duration(freeze/2*float64(time.Second)) {
		t.Errorf("p95 from the actual send %v: more than the 4 stuck requests saw the freeze", slow)
	}
	t.Logf("p50 %v, p99.9 %v from the intended time, p99.9 %v from the actual send; frozen for %.3f s", r.Latency.Intended.P50, r.Latency.Intended.P999, r.Latency.Actual.P999, frozen)
	return above, r.Latency.ScheduleError.Max < 5*time.Millisecond
}

// The clock here runs as the real one, but for one leap when the first request
// has come: the generator, from its own point of view, was stopped for a while.
func TestAStoppedGeneratorDeclaresItsRunVoid(t *testing.T) {
	var leap atomic.Int64 // ns
	srv := serving(t, func(http.ResponseWriter, *http.Request) { leap.Store(int64(300 * time.Millisecond)) })
	now := func() time.Time { return time.Now().Add(time.Duration(leap.Load())) }
	p := parsed(t, "config: {phases: [{duration: 1, arrivalRate: 200}]}\nscenarios: [{flow: [{get: {url: /}}]}]")
	r := run(t, p, Options{Target: srv, Now: now})
	if r.Void == "" || r.Latency.ScheduleError.Max < 250*time.Millisecond {
		t.Errorf("void %q, schedule error %+v", r.Void, r.Latency.ScheduleError)
	}
	if r.Latency.Intended.P99 < 250*time.Millisecond {
		t.Errorf("the lateness is not in the latency: %+v", r.Latency.Intended)
	}
}

// Virtual users are machines that never met: none resumes another's TLS session, in runs and
// in the blocks of a comparison. One resumes its own.
func TestNoUserResumesAnothersTLSSession(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{wire.HTTP1, wire.HTTP2} {
		var resumed, asked atomic.Int64
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if r.TLS.DidResume {
				resumed.Add(1)
			}
			if r.URL.Path == "/close" {
				w.Header().Set("Connection", "close")
			}
		}))
		srv.EnableHTTP2 = true
		srv.StartTLS()
		defer srv.Close()
		p := parsed(t, "config: {tls: {rejectUnauthorized: false}, phases: [{duration: 0.1, arrivalCount: 10}]}\nscenarios: [{flow: [{get: {url: /}}]}]")
		o := Options{Target: srv.URL, Protocol: protocol, MaxLate: time.Minute}
		run(t, p, o)
		sendBlocks(t, p, o, 2, plan.Arrival{}, plan.Arrival{})
		closed, err := p.WithUsers(plan.Closed{Users: 2, Loops: 3})
		fatal.If(t, err)
		run(t, closed, o)
		if asked.Load() != 20 || resumed.Load() != 0 {
			t.Errorf("%s: of %d requests %d were of a session that another had", protocol, asked.Load(), resumed.Load())
		}
		if protocol == wire.HTTP1 {
			run(t, once(parsed(t, "config: {tls: {rejectUnauthorized: false}}\nscenarios: [{flow: [{get: {url: /close}}, {get: {url: /}}]}]")), o)
			fatal.Same(t, resumed.Load(), 1, "how often a user resumed its own session")
		}
	}
}

// With fewer open files than users the generator is the limit: a kind of its own, few
// retries, and a run that is void; on a worker, which runs a part of a plan, too.
func TestTheGeneratorsOwnLimits(t *testing.T) {
	needs.Linux(t, "a limit of open files for a process of its own")
	const target, files = "WHITTLE_TEST_TARGET", 24
	if at := os.Getenv(target); at != "" {
		fatal.If(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: files}))
		p, err := parsed(t, "scenarios: [{flow: [{get: {url: /}}]}]").WithUsers(plan.Closed{Users: 50, Duration: 500 * time.Millisecond})
		fatal.If(t, err)
		o := Options{Target: at, MaxLate: time.Minute}
		whole := run(t, p, o)
		o.Part = plan.Part{Of: 2}
		worker, err := NewRunner(p, o)
		fatal.If(t, err)
		part, err := worker.RunPart(t.Context(), PartStart{Start: time.Now()})
		fatal.If(t, err)
		b, err := json.Marshal([]any{whole, part})
		fatal.If(t, err)
		fmt.Printf("reports %s\n", b)
		return
	}
	t.Parallel()
	srv := serving(t, func(http.ResponseWriter, *http.Request) {})
	cmd := exec.Command(os.Args[0], "-test.run=^TestTheGeneratorsOwnLimits$", "-test.count=1")
	cmd.Env = append(os.Environ(), target+"="+srv)
	out, err := cmd.CombinedOutput()
	_, text, ok := strings.Cut(string(out), "reports ")
	if err != nil || !ok {
		t.Fatalf("%v\n%s", err, out)
	}
	var r report.Report
	var part PartResult
	fatal.If(t, json.NewDecoder(strings.NewReader(text)).Decode(&[]any{&r, &part}))
	if n := part.Errors[report.ErrorGenerator]; n == 0 || n > 100 || !strings.Contains(part.Void, "had no more for") {
		t.Errorf("a part: %v, void: %s", part.Errors, part.Void)
	}
	if n := r.Errors[report.ErrorGenerator]; n == 0 || n > 100 || r.Errors[report.ErrorConnect] > 0 || !strings.Contains(r.Void, "had no more for") {
		t.Errorf("%v, void: %s", r.Errors, r.Void)
	}
	fatal.Same(t, r.LateFrom(), 0, "lateness that it is void for")
}

func TestAMetricsPageGivesCPUPerRequest(t *testing.T) {
	srv := serving(t, func(http.ResponseWriter, *http.Request) {})
	var n atomic.Int64
	page := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "process_cpu_seconds_total %d\n", n.Add(1))
	})
	p := parsed(t, "config: {phases: [{duration: 0.1, arrivalCount: 10}]}\nscenarios: [{flow: [{get: {url: /}}]}]")
	r := run(t, p, Options{Target: srv, WatchURLs: []string{page}})
	if len(r.Processes) != 1 || r.Processes[0].CPU < 1000 || r.CPUPerRequest != r.Processes[0].CPU/10 || r.Processes[0].Ended {
		t.Errorf("%+v, %v ms per request", r.Processes, r.CPUPerRequest)
	}
	if !strings.HasSuffix(r.Processes[0].Name, "/metrics") {
		t.Errorf("the page is %s", r.Processes[0].Name)
	}
}

func TestAPageWithoutTheCounterIsRefusedBeforeAnythingIsSent(t *testing.T) {
	for _, u := range []string{serving(t, http.NotFound), "ftp://x/metrics", "http://127.0.0.1:1/metrics"} {
		_, err := Run(t.Context(), parsed(t, small), Options{Target: "http://127.0.0.1:1", WatchURLs: []string{u}})
		if code := whittle.CodeOf(err); code != whittle.Invalid && code != whittle.Unavailable {
			t.Errorf("%s: %v", u, err)
		}
	}
}
