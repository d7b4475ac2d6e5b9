package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"whittle"
	"whittle/cmdline"
	"whittle/internal/fatal"
	"whittle/load"
	"whittle/load/plan"
	loaded "whittle/load/report"
	"whittle/profile"
	"whittle/profile/collect"
	"whittle/profile/guard"
	"whittle/profile/measure"
	"whittle/profile/rank"
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

// threeServices are processes of one service, with 20 requests each while they are profiled.
// The first one's page has what all of them answered, where they share it.
func threeServices(t *testing.T, share bool) (targets []string, page *goService) {
	t.Helper()
	for range 3 {
		s := startGoService(t)
		if page == nil {
			page = s
		}
		if share {
			s.page = page
		}
		s.others.Store(20)
		targets = append(targets, s.URL)
	}
	return targets, page
}

// A page that was given counts the requests of all processes, once. The page at each process's
// pprof port counts that process's.
func TestFindCountsEachRequestOnce(t *testing.T) {
	for _, share := range []bool{true, false} {
		targets, page := threeServices(t, share)
		kept := filepath.Join(t.TempDir(), "find.json")
		args := append([]string{"find", "--duration", "1s", "--json", kept}, targets...)
		if share {
			args = append(args, "--metrics", page.URL+"/metrics")
		}
		if status, out, errs := whittleOnce(t, args...); status != 0 {
			t.Fatalf("status %d: %s%s", status, out, errs)
		}
		if r := fatal.JSON[rank.Ranking](t, kept); len(r.Endpoints) != 1 || r.Endpoints[0].Requests != 60 {
			t.Errorf("a page for all is %v: 60 requests became %+v", share, r.Endpoints)
		}
		if n := page.read.Load(); share && n != 2 {
			t.Errorf("the page was read %d times, where twice is enough", n)
		}
	}
}

// The CPU time that such a page tells is counted once, too.
func TestAPlanWatchesOnePageOnce(t *testing.T) {
	targets, page := threeServices(t, true)
	under, err := load.Parse("plan.yml", []byte(`{config: {target: "`+page.URL+`", phases: [{duration: 0.4, arrivalRate: 50}]}, scenarios: [{flow: [{get: {url: /work}}]}]}`), plan.Source{})
	fatal.If(t, err)
	m := measure.Settings{Metrics: page.URL + "/metrics", MaxLate: time.Minute}
	all, err := m.MeasureAll(t.Context(), targets, []profile.Kind{profile.CPU}, under, cmdline.NewScreen(cmdline.Streams{Out: new(strings.Builder)}).Progress)
	fatal.If(t, err)
	for _, got := range all {
		var watched []string
		for _, p := range got.Load.Processes {
			watched = append(watched, p.Name)
		}
		fatal.Same(t, watched, []string{page.URL + "/metrics"}, "watched")
	}
	if r := rank.Endpoints(all); len(r.Endpoints) != 1 || r.Endpoints[0].Requests > 20 {
		text, _ := json.Marshal(r.Endpoints)
		t.Errorf("20 requests became %s", text)
	}
}

// find names an endpoint only where the CPU of no known request, given whole to
// any other endpoint, would not put that one ahead; else it says so, and what to
// do, in words and as JSON.
func TestFindAdvisesNothingThatTheUnknownPartCouldOverturn(t *testing.T) {
	for name, c := range map[string]struct {
		cost, rest, unlabelled int64 // samples are 1 of GET /work where cost is above 0
		status                 int
		words, reason          string
	}{
		"most is unknown":    {1, 3, 26, 1, "No advice: ", "87 % of the CPU belongs to no request that is known, which is more than the 6.7 % by which GET /idle leads GET /work"},
		"more than the lead": {1, 3, 3, 1, "No advice: ", "43 % of the CPU belongs to no request that is known, which is more than the 28.6 %"},
		"no more than that":  {1, 3, 2, 0, "Carve GET /idle first: 50 % of CPU.", ""},
		"one endpoint":       {1, 0, 2, 1, "No advice: ", "67 % of the CPU belongs to no request that is known, and only 33 % to GET /work"},
		"no endpoint":        {0, 0, 2, 1, "No advice: ", "100 % of the CPU belongs to no request that is known, and none to any endpoint"},
		"nothing at work":    {0, 0, 0, 1, "put load on it", "no endpoint was seen at work"},
	} {
		s := startGoService(t)
		s.cost.Store(c.cost)
		s.rest.Store(c.rest)
		s.unlabelled.Store(c.unlabelled)
		kept := filepath.Join(t.TempDir(), "find.json")
		status, out, errs := whittleOnce(t, "find", "--duration", "1s", "--json", kept, s.URL)
		if status != c.status || !strings.Contains(out, c.words) || !strings.Contains(errs, c.reason) {
			t.Errorf("%s: status %d\n%s%s", name, status, out, errs)
		}
		r := fatal.JSON[rank.Ranking](t, kept)
		if (r.Advice == "") != (c.status != 0) || !strings.Contains(r.NoAdvice, c.reason) || (r.Missing == "") != (c.status == 0) {
			t.Errorf("%s: the JSON says %q, %q, %q", name, r.Advice, r.NoAdvice, r.Missing)
		}
		if c.status == 1 && c.unlabelled > 0 && (!strings.Contains(errs, "pprof.Labels") || !strings.Contains(r.Missing, "pprof.Labels")) {
			t.Errorf("%s: nothing says what to do: %s", name, errs)
		}
		if unknown := "(no request that is known)"; c.unlabelled > 0 && !strings.Contains(out, unknown) {
			t.Errorf("%s: what is unknown has no row:\n%s", name, out)
		}
	}
}

func whittleOnce(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	return whittleUntil(t.Context(), args...)
}

// whittleUntil runs whittle in this process, until its context ends at the latest.
func whittleUntil(ctx context.Context, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = Run(ctx, args, cmdline.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return status, o.String(), e.String()
}
