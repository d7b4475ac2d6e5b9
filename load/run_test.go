package load

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/internal/rawtest"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/whittletest"
)

// TestMain lets more tests wait side by side than there are cores: waiting, for
// a server that stands still or a plan's phases, is what most of them do.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// parsed reads a plan or fails the test.
func parsed(t testing.TB, src string) *plan.Plan {
	t.Helper()
	p, err := Parse("plan.yml", []byte(src), plan.Source{})
	fatal.If(t, err)
	return p
}

// planOf reads plan.yml of a folder with these files.
func planOf(t testing.TB, files map[string]string) *plan.Plan {
	t.Helper()
	dir := t.TempDir()
	for name, src := range files {
		fatal.Write(t, filepath.Join(dir, name), src)
	}
	p, err := ReadPlan(filepath.Join(dir, "plan.yml"))
	fatal.If(t, err)
	return p
}

// serving is a server that ends with the test.
func serving(t testing.TB, response http.HandlerFunc) (url string) {
	t.Helper()
	srv := httptest.NewServer(response)
	t.Cleanup(srv.Close)
	return srv.URL
}

func run(t testing.TB, p *plan.Plan, o Options) *report.Report {
	t.Helper()
	r, err := Run(t.Context(), p, o)
	fatal.If(t, err)
	return r
}

func TestRunSendsExactlyWhatThePlanSays(t *testing.T) {
	type seen struct{ target, contentType, user, body string }
	var mu sync.Mutex
	got := map[seen]int{}
	srv := serving(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		got[seen{r.Method + " " + r.RequestURI, r.Header.Get("Content-Type"), r.Header.Get("X-User"), string(b)}]++
		mu.Unlock()
		fmt.Fprint(w, "Counted to 50 \n")
	})
	p := parsed(t, `
config:
  target: http://127.0.0.1:1
  phases: [{duration: 0.2, arrivalCount: 40, name: warm}]
  variables: {times: 1000, who: "a b"}
scenarios:
  - flow:
      - post: {url: "/Count?x={{ who }}&c={{ who[0] }}{{ who.length }}{{ who[3] }}", json: {times: "{{ times }}", note: "for {{ who }}"}}
      - think: 10ms
      - get: {url: /, qs: {q: "{{ who }}&", n: 2}, name: home, expect: {statusCode: 200, contentType: text/plain}}
`)
	for _, pool := range []int{0, 2} {
		clear(got)
		r := run(t, p, Options{Target: srv + "/", Pool: pool, Headers: func(h []string, i int64) []string {
			return append(h, "X-User", fmt.Sprintf("u%d", i%2))
		}})
		for u := range 2 {
			for _, k := range []seen{
				{"POST /Count?x=a%20b&c=a3undefined", "application/json", fmt.Sprint("u", u), `{"times":1000,"note":"for a b"}`},
				{"GET /?q=a+b%26&n=2", "", fmt.Sprint("u", u), ""},
			} {
				fatal.Same(t, got[k], 20, "pool %d: %+v (all: %v)", pool, k, got)
			}
		}
		if r.Requests != 80 || r.Completed != 80 || r.Failed != 0 || r.Codes["200"] != 80 || r.Users != (report.Users{Planned: 40, Started: 40, Finished: 40}) {
			t.Errorf("pool %d: report %d/%d/%d %v %+v", pool, r.Requests, r.Completed, r.Failed, r.Codes, r.Users)
		}
		if n := r.Latency.Connect.Count; pool > 0 && n > 2 || pool == 0 && n != 40 {
			t.Errorf("pool %d: %d connections", pool, n)
		}
		if len(r.Names) != 2 || r.Names[1].Name != "home" || r.Names[1].Intended.Count != 40 {
			t.Errorf("names: %+v", r.Names)
		}
	}
}

func TestTheEndOfTheContextEndsTheRunWithAReport(t *testing.T) {
	open := parsed(t, "config: {phases: [{duration: 24h, arrivalRate: 500}]}\n"+small)
	closed := users(t, "{get: {url: /}}", plan.Closed{Users: 20, Loops: 1_000_000})
	// Quick requests have all the time they need; those that hang only a little.
	for hang, grace := range map[bool]time.Duration{false: time.Minute, true: 100 * time.Millisecond} {
		for _, p := range []*plan.Plan{open, closed} {
			ctx, cancel := context.WithCancel(t.Context())
			var n atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) == 20 {
					cancel()
				}
				if hang {
					<-r.Context().Done()
				}
			}))
			r, err := Run(ctx, p, Options{Target: srv.URL, Grace: grace})
			srv.Close()
			cancel()
			fatal.If(t, err)
			if !r.Early || r.Requests < 20 || r.Failed != 0 || r.Users.Failed != 0 || (r.Unfinished > 0) != hang {
				t.Errorf("%s, hang %v: early %v, requests %d, failed %d %v, unfinished %d", r.Model, hang, r.Early, r.Requests, r.Failed, r.Errors, r.Unfinished)
			}
			if r.Completed+r.Unfinished != r.Requests || r.Users.Started != r.Users.Finished {
				t.Errorf("%s: %d + %d of %d requests, users %+v", r.Model, r.Completed, r.Unfinished, r.Requests, r.Users)
			}
		}
	}
}

func TestWhatMeansNothingIsRefusedBeforeAnythingIsSent(t *testing.T) {
	asked := false
	srv := serving(t, func(http.ResponseWriter, *http.Request) { asked = true })
	for says, o := range map[string]Options{
		"a pool of -1":                 {Pool: -1},
		"-2 users at once":             {MaxInFlight: -2},
		"a schedule error of at most":  {MaxLate: -time.Second},
		`the protocol "h3" is neither`: {Protocol: "h3"},
		"no target":                    {},
	} {
		if says != "no target" {
			o.Target = srv
		}
		_, err := NewRunner(parsed(t, small), o)
		whittletest.Refused(t, err, whittle.Invalid, "", says)
	}
	if asked {
		t.Error("a request was sent")
	}
}

// A runner does not change, so each of its runs sends the same.
func TestARunnerMayRunAgain(t *testing.T) {
	d := newAsked(t, shop)
	r, err := NewRunner(parsed(t, `
config: {target: '`+d.URL+`', phases: [{duration: 0.1, arrivalCount: 5}]}
scenarios: [{flow: [{get: {url: '/{{ $randomNumber(1, 1000000) }}'}}]}]`), Options{})
	fatal.If(t, err)
	var asked [2]map[string]int
	for i := range asked {
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked[i] = map[string]int{}
		for _, line := range d.read() {
			asked[i][line]++
		}
	}
	// The diary has both runs by then: each line twice as often.
	for line, n := range asked[0] {
		fatal.Same(t, asked[1][line], 2*n, "%s in both runs", line)
	}
}

// TestAPartThatDoesNotBeginLeavesNothingOpen: a worker serves run after run, and each may
// be called off before it begins.
func TestAPartThatDoesNotBeginLeavesNothingOpen(t *testing.T) {
	needs.Linux(t, "the descriptors of event loops, from /proc")
	r, err := NewRunner(parsed(t, small), Options{Target: "http://127.0.0.1:1"})
	fatal.If(t, err)
	ctx, end := context.WithCancel(t.Context())
	end()
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		fatal.If(t, err)
		return len(all)
	}
	const times = 200
	before := open()
	for range times {
		if _, err := r.RunPart(ctx, PartStart{Start: time.Now().Add(time.Hour), OnSample: func(*Sample) {}}); err == nil {
			t.Fatal("a part whose context has ended was run")
		}
	}
	// Each loop has three, and other tests open some meanwhile.
	if after := open(); after >= before+times {
		t.Errorf("%d descriptors are open after %d parts that did not begin, %d were before", after, times, before)
	}
}

// A thousand users wait for a server that never responds: what they take is
// bounded by 30 KB each, the server's end of the connections included.
func TestAVirtualUserIsSmall(t *testing.T) {
	url := rawtest.Serve(t, func(net.Conn, int) { <-t.Context().Done() })
	const users = 1000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := parsed(t, `
config: {phases: [{duration: 0.5, arrivalCount: 1000}, {pause: 1}], http: {timeout: 60}}
scenarios: [{flow: [{post: {url: /, json: {times: "{{ $randomNumber(1, 9) }}"}}}]}]`)
	seen := false
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	_, err := Run(ctx, p, Options{Target: url, Grace: -1, OnProgress: func(p report.Progress) {
		if p.InFlight == users && !seen {
			seen = true
			runtime.GC()
			runtime.ReadMemStats(&after)
			enough()
		}
	}})
	fatal.If(t, err)
	if !seen {
		t.Fatal("the thousand users were never under way at once")
	}
	grown := int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse)
	// The histograms of the run are not a user's; there are at most so many.
	const histogram = 190 << 10
	grown -= histogram * int64(3+recentTicks+4*min(runtime.GOMAXPROCS(0), 8))
	if each := grown / users; each > 30<<10 {
		t.Errorf("%d bytes for each virtual user", each)
	} else {
		t.Logf("%d bytes for each virtual user", each)
	}
}
