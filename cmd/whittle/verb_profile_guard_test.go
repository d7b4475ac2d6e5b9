package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	pprof "github.com/google/pprof/profile"

	"whittle"
	"whittle/internal/fatal"
	loaded "whittle/load/report"
	"whittle/profile"
	"whittle/profile/collect"
	"whittle/profile/guard"
	"whittle/profile/measure"
)

// goService is a Go service as whittle profile sees one.
type goService struct {
	rest, unlabelled atomic.Int64 // samples of GET /idle, and of no endpoint
	*httptest.Server
	page *goService // whose metrics page counts the others' requests
	// The following may be changed between measurements.
	status atomic.Int64 // of every response; 0: 200
	cost   atomic.Int64 // CPU time of a response, in microseconds
	others atomic.Int64 // requests that others send during a profile
	name   atomic.Value // of its program
	codes  atomic.Bool  // the metrics page has them

	served, used atomic.Int64
	read         atomic.Int64 // how often the metrics page was
}

func startGoService(t *testing.T) *goService {
	t.Helper()
	s := &goService{}
	s.page = s
	s.cost.Store(1000)
	s.name.Store("/srv/api")
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/cmdline", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, _ *http.Request) {
		s.page.served.Add(s.others.Load())
		if err := s.profile().Write(w); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		s.read.Add(1)
		code := ""
		if s.codes.Load() {
			code = fmt.Sprintf(",code=%q", fmt.Sprint(s.code()))
		}
		fmt.Fprintf(w, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %f\n", float64(s.used.Load())/1e6)
		fmt.Fprintf(w, "# TYPE http_requests_total counter\nhttp_requests_total{route=\"GET /work\"%s} %d\n", code, s.served.Load())
	})
	mux.HandleFunc("/work", func(w http.ResponseWriter, _ *http.Request) {
		s.served.Add(1)
		s.used.Add(s.cost.Load())
		w.WriteHeader(s.code())
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *goService) code() int {
	if code := s.status.Load(); code != 0 {
		return int(code)
	}
	return http.StatusOK
}

// profile has a sample where responses cost something, and those of another endpoint and of none.
func (s *goService) profile() *pprof.Profile {
	f := &pprof.Function{ID: 1, Name: "main.work", Filename: "/srv/main.go"}
	at := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f, Line: 7}}}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Function:   []*pprof.Function{f}, Location: []*pprof.Location{at},
		Mapping: []*pprof.Mapping{{ID: 1, File: s.name.Load().(string)}},
		// Longer than any measurement here takes, which is thus its whole time: none
		// of the requests are counted off.
		DurationNanos: 30e9,
	}
	if s.cost.Load() > 0 {
		p.Sample = []*pprof.Sample{{Location: []*pprof.Location{at}, Value: []int64{100, 1e7}, Label: map[string][]string{"endpoint": {"GET /work"}}}}
	}
	for endpoint, samples := range map[string]int64{"GET /idle": s.rest.Load(), "": s.unlabelled.Load()} {
		if samples == 0 {
			continue
		}
		more := &pprof.Sample{Location: []*pprof.Location{at}, Value: []int64{samples * 100, samples * 1e7}}
		if endpoint != "" {
			more.Label = map[string][]string{"endpoint": {endpoint}}
		}
		p.Sample = append(p.Sample, more)
	}
	return p
}

// guarding holds the service against a baseline in the folder, by two runs of a plan.
func guarding(t *testing.T, s *goService, folder string, more ...string) (status int, out string) {
	t.Helper()
	plan := filepath.Join(folder, "plan.yml")
	text := `{config: {target: "http://127.0.0.1:1", phases: [{duration: 0.4, arrivalRate: 100}]}, scenarios: [{flow: [{get: {url: /work}}]}]}`
	fatal.Write(t, plan, text)
	args := []string{"profile", "guard", s.URL, "--during", plan, "--target", s.URL, "--baseline", filepath.Join(folder, "cost.json"), "--runs", "2", "--max-late", "10s"}
	status, stdout, stderr := whittleOnce(t, append(args, more...)...)
	return status, stdout + stderr
}

func TestTheGuardIsNotPassedByFailing(t *testing.T) {
	s, folder := startGoService(t), t.TempDir()
	kept := filepath.Join(folder, "verdict.json")
	if status, said := guarding(t, s, folder, "--update"); status != 0 || !strings.Contains(said, "kept 2 runs") {
		t.Fatalf("status %d: %s", status, said)
	}
	for _, c := range []struct {
		name   string
		status int64 // of the responses
		cost   int64
		want   int
		says   string
		is     guard.Outcome
	}{
		{"as it was", 200, 1000, 0, "held", guard.Held},
		{"fails cheaply", 500, 100, 1, "100 % of the requests failed, 0 % in the baseline", guard.Incomparable},
		{"knows nobody any more", 401, 100, 1, "100 % of the responses are 4xx, 0 % in the baseline", guard.Incomparable},
		{"dearer", 200, 3000, 1, "broken", guard.Broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.status.Store(c.status)
			s.cost.Store(c.cost)
			status, said := guarding(t, s, folder, "--json", kept)
			if status != c.want || !strings.Contains(said, c.says) {
				t.Errorf("status %d, want %d with %q: %s", status, c.want, c.says, said)
			}
			if v := fatal.JSON[guard.Verdict](t, kept); v.Outcome != c.is {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

// Without a plan a metrics page tells what was returned, if it counts by code.
func TestTheGuardReadsCodesOfWhatIsLive(t *testing.T) {
	s, folder := startGoService(t), t.TempDir()
	s.others.Store(50)
	args := []string{"profile", "guard", s.URL, "--duration", "1s", "--baseline", filepath.Join(folder, "cost.json"), "--runs", "2"}
	if status, out, errs := whittleOnce(t, append(args, "--update")...); status != 0 || !strings.Contains(out, "the responses are not known") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	s.codes.Store(true)
	if status, out, errs := whittleOnce(t, append(args, "--update")...); status != 0 || strings.Contains(out, "note") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	s.status.Store(503)
	if status, out, errs := whittleOnce(t, args...); status != 1 || !strings.Contains(out, "of the requests failed, 0 % in the baseline") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

func TestWhatTheGuardTakesFromALoad(t *testing.T) {
	p := &profile.Profile{Requests: map[string]int64{"": 10}}
	m := &measure.Measured{Taken: []*collect.Collected{{Profile: p}}, Load: &loaded.Report{
		Requests: 25, Completed: 20, Failed: 7, Unfinished: 2, CPUPerRequest: 3,
		Codes: map[string]int64{"200": 12, "204": 3, "404": 1, "503": 4},
	}}
	run, err := guard.NewRun(p, factsOf(m))
	want := map[string]int64{"2xx": 15, "4xx": 1, "5xx": 4, guard.None: 3}
	if err != nil || run.CPU != 3e6 || !maps.Equal(run.Responses.Classes, want) || run.Responses.Failed != 7 {
		t.Errorf("%+v of %+v, %v", run, run.Responses, err)
	}
	m.Load.Void = "the generator was late"
	if _, err := guard.NewRun(p, factsOf(m)); err == nil || !strings.Contains(err.Error(), "the load of a run is void: the generator was late") {
		t.Errorf("a void load: %v", err)
	}
}

// Whoever ends the guard, or find, before it could tell gets no exit status of one that
// did.
func TestAnInterruptedGuardDoesNotPass(t *testing.T) {
	s, folder := startGoService(t), t.TempDir()
	if status, said := guarding(t, s, folder, "--update"); status != 0 {
		t.Fatalf("status %d: %s", status, said)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, args := range [][]string{
		{"profile", "guard", s.URL, "--baseline", filepath.Join(folder, "cost.json"), "--duration", "1s"},
		{"find", s.URL, "--duration", "1s"},
	} {
		status, out, errs := whittleUntil(ended, args...)
		if status != whittle.Canceled.ExitStatus() || !strings.Contains(errs, "interrupted") || strings.Contains(out, "Carve") {
			t.Errorf("%q: status %d, %q, %q", args, status, out, errs)
		}
	}
}

// What --lines chooses is Node's alone.
func TestLinesOfWhatIsNotNode(t *testing.T) {
	s := startGoService(t)
	if status, _, errs := whittleOnce(t, "profile", s.URL, "--duration", "1s", "--lines", "exact"); status != 2 || !strings.Contains(errs, "--lines") {
		t.Errorf("status %d: %s", status, errs)
	}
}
