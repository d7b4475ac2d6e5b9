package load

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/latency"
	"whittle/load/plan"
	"whittle/load/report"
)

// users makes a closed plan of an Artillery flow.
func users(t testing.TB, flow string, c plan.Closed) *plan.Plan {
	t.Helper()
	p, err := parsed(t, "scenarios: [{flow: ["+flow+"]}]").WithUsers(c)
	fatal.If(t, err)
	return p
}

func TestEachUserWaitsForItsResponse(t *testing.T) {
	var mu sync.Mutex
	var under atomic.Int64
	perUser := map[string]int{}
	srv := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		if under.Add(1) > 5 {
			t.Error("more requests at once than users")
		}
		defer under.Add(-1)
		mu.Lock()
		defer mu.Unlock()
		perUser[r.Header.Get("X-User")]++
	})
	p := users(t, "{get: {url: /a}}, {think: 1ms}, {get: {url: /b}}", plan.Closed{Users: 5, Ramp: 50 * time.Millisecond, Loops: 4})
	r := run(t, p, Options{Target: srv, MaxLate: time.Minute, Headers: func(h []string, i int64) []string {
		return append(h, "X-User", fmt.Sprint(i))
	}})
	if r.Model != report.ModelClosed || r.Requests != 40 || r.Completed != 40 || r.Early || r.Users != (report.Users{Planned: 5, Started: 5, Finished: 5}) {
		t.Errorf("%s: %d requests, %d completed, early %v, %+v", r.Model, r.Requests, r.Completed, r.Early, r.Users)
	}
	for u := range 5 {
		fatal.Same(t, perUser[fmt.Sprint(u)], 8, "requests of user %d", u)
	}
	if len(r.Names) != 2 || r.Names[0].Requests != 20 {
		t.Errorf("%+v", r.Names)
	}
}

func TestUsersStartEvenlyOverTheRamp(t *testing.T) {
	srv := serving(t, func(http.ResponseWriter, *http.Request) {})
	p := users(t, "{get: {url: /}}", plan.Closed{Users: 10, Ramp: 200 * time.Millisecond})
	r := run(t, p, Options{Target: srv, MaxLate: time.Minute})
	if r.Requests != 10 || r.Latency.ScheduleError.Count != 10 || r.Seconds < .18 {
		t.Errorf("%d requests in %v s, %d starts timed", r.Requests, r.Seconds, r.Latency.ScheduleError.Count)
	}
}

func TestADurationEndsTheUsers(t *testing.T) {
	srv := serving(t, func(http.ResponseWriter, *http.Request) {})
	for _, flow := range []string{"{get: {url: /}}", "{get: {url: /}}, {think: 3600}"} {
		p := users(t, flow, plan.Closed{Users: 3, Duration: time.Second})
		r := run(t, p, Options{Target: srv, MaxLate: time.Minute})
		if r.Early || r.Requests == 0 || r.Completed != r.Requests || r.Seconds < 1 || r.Users != (report.Users{Planned: 3, Started: 3, Finished: 3}) {
			t.Errorf("%s: early %v, %d requests, %d completed in %v s, %+v", flow, r.Early, r.Requests, r.Completed, r.Seconds, r.Users)
		}
	}
	// Whoever would start after the end does not.
	p := users(t, "{get: {url: /}}, {think: 3600}", plan.Closed{Users: 10, Ramp: time.Hour, Duration: time.Second})
	if r := run(t, p, Options{Target: srv}); r.Users.Started != 1 || r.Early {
		t.Errorf("%+v, early %v", r.Users, r.Early)
	}
}

func TestAUserKeepsItsConnectionWithinALoop(t *testing.T) {
	srv := serving(t, func(http.ResponseWriter, *http.Request) {})
	p := users(t, "{get: {url: /}}, {get: {url: /}}", plan.Closed{Users: 3, Loops: 4})
	if r := run(t, p, Options{Target: srv}); r.Latency.Connect.Count != 12 {
		t.Errorf("%d connections, want one for each user and loop", r.Latency.Connect.Count)
	}
	p.Groups[0].Fresh = false
	if r := run(t, p, Options{Target: srv}); r.Latency.Connect.Count != 3 {
		t.Errorf("%d connections, want one for each user", r.Latency.Connect.Count)
	}
}

// A stall of a target that closed users wait out is in one request of each; the
// correction puts in those they did not send meanwhile.
func TestCorrectionAddsWhatUsersDidNotSend(t *testing.T) {
	var h latency.Histogram
	h.RecordN(10*time.Millisecond, 100)
	h.Record(time.Second)
	got, missing := correctOmission(&h, 100*time.Millisecond)
	// 900, 800 … 100 ms.
	if missing != 9 || got.Count() != 110 {
		t.Errorf("%d missing, %d in all", missing, got.Count())
	}
	for q, want := range map[float64]time.Duration{101. / 110: 100 * time.Millisecond, 105. / 110: 500 * time.Millisecond, 1: time.Second} {
		if d := got.Quantile(q); (d - want).Abs() > want/500 {
			t.Errorf("quantile %v is %v, want %v", q, d, want)
		}
	}
	fatal.Same(t, h.Count(), 101, "the measured histogram")
}

func TestAClosedReportCarriesTheCorrection(t *testing.T) {
	t.Parallel()
	// Long alongside the users' pace, on a busy machine, too.
	srv := newFrozenServer(100*time.Millisecond, 2*time.Second)
	defer srv.Close()
	p := users(t, "{get: {url: /}}, {think: 10ms}", plan.Closed{Users: 2, Duration: 5 * time.Second})
	r := run(t, p, Options{Target: srv.URL, MaxLate: time.Minute})
	if r.Latency.Corrected == nil || len(r.Paces) != 1 {
		t.Fatalf("no corrected view: %+v", r.Paces)
	}
	pace := r.Paces[0]
	if pace.Missing == 0 || pace.Users != 2 || pace.Expected < 10 || r.Latency.Corrected.Count != r.Latency.Actual.Count+pace.Missing {
		t.Errorf("%+v; %d corrected, %d measured", pace, r.Latency.Corrected.Count, r.Latency.Actual.Count)
	}
	if r.Latency.Corrected.Max != r.Latency.Actual.Max || r.Histograms.Corrected.Count() != r.Latency.Corrected.Count {
		t.Errorf("corrected %+v, measured %+v", r.Latency.Corrected, r.Latency.Actual)
	}
	if open := run(t, parsed(t, small), Options{Target: srv.URL}); open.Latency.Corrected != nil || open.Paces != nil {
		t.Error("an open run has a corrected view")
	}
}

func TestNumbersOfUsersAreBounded(t *testing.T) {
	p := parsed(t, small)
	for _, c := range []plan.Closed{{}, {Users: -1}, {Users: plan.MaxClosed + 1}, {Users: 1, Ramp: -1}, {Users: 1, Loops: -1}, {Users: 1, Duration: 400 * 24 * time.Hour}} {
		if _, err := p.WithUsers(c); err == nil {
			t.Errorf("%+v passed", c)
		}
	}
	if modelOf(p) != report.ModelOpen || !strings.Contains(p.Name, "plan") {
		t.Errorf("the plan was changed: %s", modelOf(p))
	}
}
