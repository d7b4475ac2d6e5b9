package duel

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/load"
	"whittle/load/jmxtest"
	"whittle/load/plan"
	"whittle/load/report"
)

const duelPlan = `
config: {target: "http://127.0.0.1:1", phases: [{duration: 1.2, arrivalRate: 200}], http: {pool: 40}}
scenarios: [{flow: [{get: {url: /}}]}]`

// slowed responds after a while; the wait is the server's, not the test's.
func slowed(t *testing.T, d time.Duration) (url string) {
	return serving(t, func(w http.ResponseWriter, _ *http.Request) {
		if d > 0 {
			t := time.NewTimer(d)
			defer t.Stop()
			<-t.C
		}
		w.Write([]byte("ok"))
	})
}

// serving is a server that ends with the test.
func serving(t *testing.T, response http.HandlerFunc) (url string) {
	t.Helper()
	srv := httptest.NewServer(response)
	t.Cleanup(srv.Close)
	return srv.URL
}

func compared(t *testing.T, c *Comparison, key string) Compared {
	t.Helper()
	for _, f := range c.Figures {
		if f.Key == key {
			return f
		}
	}
	t.Fatalf("no %s in %+v", key, c.Figures)
	return Compared{}
}

func TestADuelFindsTheSlowerTarget(t *testing.T) {
	t.Parallel()
	quick, slow := slowed(t, 0), slowed(t, 60*time.Millisecond)
	cpuA, cpuB := cpuCounter(t), cpuCounter(t)
	progress := 0
	c, err := Duel{
		Plan: parsed(t, duelPlan), A: Side{Target: slow, WatchURLs: []string{cpuA}}, B: Side{Target: quick, WatchURLs: []string{cpuB}},
		Block: 100 * time.Millisecond, Warmup: 100 * time.Millisecond, Options: load.Options{Seed: 3, MaxLate: time.Minute},
		OnProgress: func(p Progress) {
			if p.Pairs != 12 || p.Done != progress {
				t.Errorf("progress %+v", p)
			}
			progress++
		},
	}.Run(t.Context())
	fatal.If(t, err)
	m := compared(t, c, "median")
	if !m.Different || m.High > 0.9 || m.A < 60 {
		t.Errorf("median: %+v", m)
	}
	fatal.Has(t, c.Verdict, "B's median is", "lower")
	if c.Pairs != 12 || progress != 12 || c.Early || c.Void != "" {
		t.Errorf("%d pairs, %d progress, early %v, void %q", c.Pairs, progress, c.Early, c.Void)
	}
	for _, r := range []*report.Report{c.A, c.B} {
		if r.Completed != 240 || r.Users != (report.Users{Planned: 240, Started: 240, Finished: 240}) || len(r.Series) != 12 || r.Names[0].Intended.Count != 240 {
			t.Errorf("%d completed, users %+v, %d windows", r.Completed, r.Users, len(r.Series))
		}
		// Forty connections to each target for all its blocks, warming up included.
		if n := r.Latency.Connect.Count; n > 40 {
			t.Errorf("%d connections in the counted blocks", n)
		}
	}
	if f := compared(t, c, "errors"); f.Different || f.A != 0 {
		t.Errorf("errors: %+v", f)
	}
	if f := compared(t, c, "cpu"); !(f.A > 0) || !(f.B > 0) {
		t.Errorf("cpu: %+v", f)
	}
	first := map[string]int{}
	for _, p := range c.Blocks {
		first[p.First]++
	}
	if first["a"] == 0 || first["b"] == 0 {
		t.Errorf("who came first: %v", first)
	}
	b, err := json.Marshal(c)
	fatal.If(t, err)
	var back Comparison
	if err := json.Unmarshal(b, &back); err != nil || back.Figures[0] != c.Figures[0] {
		t.Errorf("read back: %v, %+v", err, back.Figures)
	}
}

func TestBothTargetsGetTheSameRequests(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := [2]map[string]int{{}, {}}
	serve := func(i int) string {
		return serving(t, func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			got[i][r.RequestURI]++
			mu.Unlock()
		})
	}
	a, b := serve(0), serve(1)
	p := parsed(t, `
config: {phases: [{duration: 0.4, arrivalRate: 50, rampTo: 100}, {duration: 0.3, arrivalRate: 100}], mode: poisson}
scenarios: [{flow: [{get: {url: "/{{ $randomNumber(1, 1000000) }}"}}]}]`)
	c, err := Duel{
		Plan: p, A: Side{Target: a}, B: Side{Target: b},
		Block: 100 * time.Millisecond, Warmup: -1, Options: load.Options{MaxLate: time.Minute},
	}.Run(t.Context())
	fatal.If(t, err)
	if c.A.Requests < 75 || c.A.Requests != c.B.Requests || len(got[0]) != len(got[1]) {
		t.Errorf("%d and %d requests, %d and %d different", c.A.Requests, c.B.Requests, len(got[0]), len(got[1]))
	}
	for uri, n := range got[0] {
		if got[1][uri] != n {
			t.Fatalf("%s: A got it %d times, B %d", uri, n, got[1][uri])
		}
	}
}

func TestADuelCanBeEndedEarly(t *testing.T) {
	t.Parallel()
	srv := slowed(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := Duel{
		Plan: parsed(t, strings.Replace(duelPlan, "1.2", "3600", 1)), A: Side{Target: srv}, B: Side{Target: srv},
		Block: 3600 * time.Millisecond, Warmup: -1, Options: load.Options{MaxLate: time.Minute, Grace: 10 * time.Millisecond},
		OnProgress: func(p Progress) {
			if p.Done == 0 {
				cancel()
			}
		},
	}.Run(ctx)
	fatal.If(t, err)
	if !c.Early || c.Pairs != 0 || c.Void == "" {
		t.Errorf("early %v, %d pairs, void %q", c.Early, c.Pairs, c.Void)
	}
}

func TestADuelOfClosedUsers(t *testing.T) {
	t.Parallel()
	quick, slow := slowed(t, 0), slowed(t, 60*time.Millisecond)
	p, err := parsed(t, duelPlan).WithUsers(plan.Closed{Users: 4, Duration: time.Hour})
	fatal.If(t, err)
	c, err := Duel{
		Plan: p, A: Side{Target: quick}, B: Side{Target: slow},
		Length: 800 * time.Millisecond, Block: 100 * time.Millisecond, Warmup: -1, Options: load.Options{MaxLate: time.Minute},
	}.Run(t.Context())
	fatal.If(t, err)
	if r := compared(t, c, "rate"); r.High > 0.9 || c.Pairs != 8 || c.Model != report.ModelClosed {
		t.Errorf("%d pairs, %s, rate %+v", c.Pairs, c.Model, r)
	}
}

// Rows that are dealt only once end sooner for the quicker target.
func TestADuelRefusesRowsThatRunOut(t *testing.T) {
	var asked atomic.Int64
	srv := serving(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, c := range []struct {
		recycle string
		refused bool
	}{{"false", true}, {"true", false}, {"", false}} {
		src := jmxtest.Plan(jmxtest.Group(1, 1, jmxtest.Element("CSVDataSet", "filename", "u.csv", "recycle", c.recycle)+jmxtest.Get("/${name}", "")))
		p, err := load.Parse("p.jmx", []byte(src), plan.Source{Open: func(string) ([]byte, error) { return []byte("name\na\nb\n"), nil }})
		fatal.If(t, err)
		_, err = Duel{
			Plan: p, A: Side{Target: srv}, B: Side{Target: srv},
			Length: 20 * time.Millisecond, Block: 20 * time.Millisecond, Warmup: -1, Options: load.Options{MaxLate: time.Minute},
		}.Run(t.Context())
		if refused := whittle.CodeOf(err) == whittle.Invalid && strings.Contains(err.Error(), "CSVDataSet"); refused != c.refused || err != nil && !refused {
			t.Errorf("recycle %q: %v", c.recycle, err)
		}
		if n := asked.Load(); c.refused && n > 0 {
			t.Errorf("recycle %q: %d requests were sent all the same", c.recycle, n)
		}
	}
}

// parsed reads a plan or fails the test.
func parsed(t testing.TB, src string) *plan.Plan {
	t.Helper()
	p, err := load.Parse("plan.yml", []byte(src), plan.Source{})
	fatal.If(t, err)
	return p
}

// cpuCounter says that each reading costs a second of CPU.
func cpuCounter(t *testing.T) (url string) {
	var n atomic.Int64
	return serving(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "process_cpu_seconds_total %d\n", n.Add(1))
	})
}
