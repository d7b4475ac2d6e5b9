package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/needs"
	"whittle/load/export"
	"whittle/load/plan"
	"whittle/load/report"
)

// listensAt finds the address in the log of Prometheus, once it is there.
type listensAt struct {
	mu  sync.Mutex
	log bytes.Buffer // guarded by mu
	at  chan string
}

var promListens = regexp.MustCompile(`msg="?Listening on"? address=(\S+)`)

func (l *listensAt) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.Write(p)
	if m := promListens.FindSubmatch(l.log.Bytes()); m != nil {
		select {
		case l.at <- string(m[1]):
		default:
		}
	}
	return len(p), nil
}

// startPrometheus starts a real Prometheus that takes remote write.
func startPrometheus(t *testing.T) (url string) {
	t.Helper()
	program := needs.Tool(t, "remote write to a real Prometheus", "apt-get install prometheus", "prometheus")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte("global: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &listensAt{at: make(chan string, 2)}
	cmd := exec.Command(program, "--config.file=p.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0", "--web.enable-remote-write-receiver")
	cmd.Dir, cmd.Stderr = dir, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
		select {
		case log.at <- "": // for who has no address yet
		default:
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	at := <-log.at
	if at == "" {
		t.Fatalf("Prometheus has ended:\n%s", log.log.String())
	}
	return "http://" + at
}

// query is the value of an instant query that gives one.
func query(t *testing.T, base, text string) string {
	t.Helper()
	resp, err := http.Get(base + "/api/v1/query?query=" + url.QueryEscape(text))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	if len(out.Data.Result) != 1 {
		return fmt.Sprintf("%d values", len(out.Data.Result))
	}
	return fmt.Sprint(out.Data.Result[0].Value[1])
}

// A real Prometheus has, after a run, exactly what its report has: by endpoint, status and
// error, on event loops and on goroutines, of arrivals and of users, in one process and in
// parts.
func TestPrometheusHasWhatTheReportHas(t *testing.T) {
	t.Parallel()
	prometheus := startPrometheus(t)
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b" {
			w.WriteHeader(500 + int(asked.Add(1)%2))
		}
	}))
	defer srv.Close()
	to, err := export.Prometheus(prometheus, nil)
	if err != nil {
		t.Fatal(err)
	}
	const flow = "scenarios: [{flow: [{get: {url: /a}}, {get: {url: /b, name: b}}, %s{post: {url: 'http://127.0.0.1:1/c', json: {a: 1}}}]}]"
	for name, src := range map[string]string{
		"loop":       "config: {phases: [{duration: 0.1, arrivalCount: 20}]}\n" + fmt.Sprintf(flow, ""),
		"goroutines": "config: {phases: [{duration: 0.1, arrivalCount: 20}]}\n" + fmt.Sprintf(flow, "{parallel: [{get: {url: /a}}]}, "),
		"parts":      "config: {phases: [{duration: 0.1, arrivalCount: 20}]}\n" + fmt.Sprintf(flow, ""),
	} {
		p := parsed(t, src)
		p.Name = name
		o := Options{Target: srv.URL, Exports: []*export.Target{to}, MaxLate: 60e9}
		var r *report.Report
		if name == "parts" {
			r = inParts(t, p, 4, o)
		} else {
			r = run(t, p, o)
		}
		for _, c := range []struct {
			figure, labels string
			want           int64
		}{
			{"http_client_request_duration_seconds_count", `endpoint="GET /a",http_response_status_code="200",http_request_method="GET"`, r.Codes["200"]},
			{"whittle_load_request_latency_seconds_count", `endpoint="b",http_response_status_code="501",error_type="server_error"`, r.Codes["501"]},
			{"whittle_load_request_latency_seconds_count", `endpoint="b",http_response_status_code="500"`, r.Codes["500"]},
			{"http_client_request_duration_seconds_bucket", `endpoint="GET /a",le="+Inf"`, r.Codes["200"]},
			{"whittle_load_users_total", `state="started"`, r.Users.Started},
			{"whittle_load_users_total", `state="finished"`, r.Users.Finished},
			{"whittle_load_users_total", `state="failed"`, r.Users.Failed},
			{"whittle_load_users_active", "", 0},
		} {
			text := fmt.Sprintf("%s{job=\"whittle-load\",whittle_plan=%q,%s}", c.figure, name, c.labels)
			if got := query(t, prometheus, text); got != fmt.Sprint(c.want) {
				t.Errorf("%s is %s, want %d", text, got, c.want)
			}
		}
		if got := query(t, prometheus, fmt.Sprintf("sum(whittle_load_received_bytes_total{whittle_plan=%q})", name)); got != fmt.Sprint(r.Received) {
			t.Errorf("%s: %s bytes received, want %d", name, got, r.Received)
		}
		// What got no response is there too.
		if got := query(t, prometheus, fmt.Sprintf("http_client_request_duration_seconds_count{whittle_plan=%q,error_type=\"refused\"}", name)); got != "20" || r.Errors["refused"] != 20 {
			t.Errorf("%s: %s refused, %v", name, got, r.Errors)
		}
		if len(r.Warnings) > 0 && strings.Contains(strings.Join(r.Warnings, " "), "exports to") {
			t.Error(r.Warnings)
		}
	}
}

// An export that fails is said, and fails no run.
func TestAnExportThatFailsFailsNoRun(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/metrics" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer srv.Close()
	to, err := export.OTLP(srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, parsed(t, "scenarios: [{flow: [{get: {url: /}}]}]"), Options{Target: srv.URL, Exports: []*export.Target{to}, MaxLate: 60e9})
	if r.Err() != nil || r.Completed != 1 || !strings.Contains(strings.Join(r.Warnings, "\n"), "1 of 1 exports to "+srv.URL+"/v1/metrics failed (status 401)") {
		t.Errorf("%v, %d completed, %q", r.Err(), r.Completed, r.Warnings)
	}
}

// A target that responds with any status cannot make series without end.
func TestOutcomesAreBounded(t *testing.T) {
	o := newOutcomes()
	for status := range 10 * maxOutcomes {
		o.record(&observation{status: status + 1})
	}
	if len(o.by) != maxOutcomes+1 || o.by[moreOutcomes].Duration != o.recent.Duration {
		t.Errorf("%d outcomes", len(o.by))
	}
	p := &plan.Plan{Names: []string{"a"}}
	several := newOutcomes()
	for range 3 {
		several.merge(o)
	}
	if n := len(several.requests(p)); n < maxOutcomes || n > maxOutcomes+1 {
		t.Errorf("%d outcomes of several", len(several.by))
	}
}

// What parts have counted, in samples and as JSON, is what one process counts, whatever
// has been drained of it and when.
func TestOutcomesOfPartsAddUp(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Names: []string{"a", "b", "c"}}
	rng := rand.New(rand.NewPCG(8, 1))
	whole, sum := newRecorder(3), newOutcomes()
	parts := []*recorder{newRecorder(3), newRecorder(3), newRecorder(3)}
	for _, r := range append(parts, whole) {
		r.exported()
	}
	drain := func(r *recorder) {
		s := Sample{Outcomes: r.drainOutcomes().sampled()}
		o, err := sent(t, &s).outcomes(3)
		if err != nil {
			t.Fatal(err)
		}
		sum.merge(o)
	}
	for i := range 2000 {
		o := someObservation(rng, time.Unix(0, 0))
		// Sums of these are exact in whatever order.
		o.Sent, o.done = o.intended.Add(time.Second/64), o.intended.Add(time.Second/64*time.Duration(1+rng.IntN(200)))
		part := parts[rng.IntN(3)]
		whole.shard(i).record(o)
		part.shard(i).record(o)
		if rng.IntN(50) == 0 {
			drain(part)
		}
	}
	for _, r := range parts {
		drain(r)
	}
	sorted := func(o *outcomes) []export.Requests {
		all := o.requests(p)
		slices.SortFunc(all, func(a, b export.Requests) int {
			return strings.Compare(fmt.Sprint(a.Outcome), fmt.Sprint(b.Outcome))
		})
		return all
	}
	if got, want := sorted(sum), sorted(whole.drainOutcomes()); !reflect.DeepEqual(got, want) {
		t.Errorf("parts:\n%v\nwhole:\n%v", got, want)
	}
	for name, text := range map[string]string{
		"a name too many": `{"name": 3}`, "a name below others": `{"name": -2}`, "a status below 0": `{"status": -1}`, "bytes below 0": `{"received": -1}`,
		"a long kind": `{"failure": "` + strings.Repeat("x", maxFailure+1) + `"}`, "a count below 0": `{"latency": {"counts": [-1]}}`,
		"too many buckets": `{"latency": {"counts": [` + strings.Repeat("0,", 50) + `1]}}`,
	} {
		s := new(Sample)
		err := json.Unmarshal([]byte(`{"outcomes": [`+text+`]}`), s)
		if err == nil {
			_, err = s.outcomes(3)
		}
		if whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
