package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/latency"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it, then run with -update:\n%s", name, got)
	}
}

// sampleReport is a run of 25 seconds against a target of one thread whose
// queue grows; scale makes its latencies longer.
func sampleReport(scale float64) *Report {
	start := time.Date(2026, 3, 1, 12, 0, 4, 0, time.UTC)
	r := &Report{
		Format: Format, Plan: "plan.yml", Target: "http://target", Model: ModelOpen, Started: start, Seconds: 24.5, Seed: 5,
		Users: Users{Planned: 500, Started: 500, Skipped: 2, Finished: 500, Failed: 5}, Codes: map[string]int64{}, Errors: map[string]int64{},
		Received: 125_000, Sent: 50_000,
		Generator: Generator{CPU: 300, CPUPerRequest: 600, Cores: .012},
		Processes: []ProcessReport{{Name: "process 7", PID: 7, CPU: 9900, CPUPerRequest: 20}}, CPUPerRequest: 20,
		Warnings: []string{"2 of 500 arrivals were skipped <because> of bounds"},
	}
	all, classes := new(latency.Histogram), map[string]*latency.Histogram{"2xx": new(latency.Histogram), "5xx": new(latency.Histogram)}
	for i := range 25 {
		var h latency.Histogram
		p := Point{At: float64(i), Width: 1, Span: 1, Codes: map[string]int64{"200": 19}, Cores: []float64{.98, .04}, WatchedCores: .97, GeneratorCores: .01, Late: .4}
		if i == 24 {
			p.Span = .5
		}
		for k := range 20 {
			d := time.Duration(scale * float64(time.Millisecond) * float64(20+5*i+k))
			h.Record(d)
			if k == 0 && i%5 == 0 {
				classes["5xx"].Record(d)
			} else {
				classes["2xx"].Record(d)
			}
		}
		if i%5 == 0 {
			p.Codes["503"], p.Errors, p.UsersFailed, p.Failed = 1, map[string]int64{ErrorServer: 1}, 1, 1
		} else {
			p.Codes["200"] = 20
		}
		s := h.Snapshot()
		p.Requests, p.Completed, p.Arrivals, p.Finished, p.Timed, p.Received, p.InFlight = 20, 20, 20, 20, 20, 5000, int64(i)
		p.Min, p.Mean, p.Max = latency.Milliseconds(s.Min), latency.Milliseconds(s.Mean), latency.Milliseconds(s.Max)
		p.P50, p.P75, p.P90 = latency.Milliseconds(s.P50), latency.Milliseconds(s.P75), latency.Milliseconds(s.P90)
		p.P95, p.P99, p.P999 = latency.Milliseconds(s.P95), latency.Milliseconds(s.P99), latency.Milliseconds(s.P999)
		r.Codes, r.Errors = sumCounts(r.Codes, p.Codes), sumCounts(r.Errors, p.Errors)
		r.Failed += p.Failed
		all.Merge(&h)
		r.Series = append(r.Series, p)
	}
	r.Requests, r.Completed, r.Rate = 500, 500, 500/24.5
	r.Histograms = Histograms{Intended: all, Actual: all, Classes: classes}
	r.Latency.Intended, r.Latency.Actual = all.Snapshot(), all.Snapshot()
	r.Median, r.P95, r.P99 = latency.Milliseconds(all.Quantile(.5)), latency.Milliseconds(all.Quantile(.95)), latency.Milliseconds(all.Quantile(.99))
	r.Names = []NameReport{{Name: "POST /Count", Requests: 500, Completed: 500, Failed: r.Failed, Intended: all.Snapshot(), Actual: all.Snapshot()}}
	return r
}

func TestArtilleryReport(t *testing.T) {
	var b bytes.Buffer
	if err := sampleReport(1).WriteArtillery(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "artillery.json", b.Bytes())
	var out struct {
		Aggregate struct {
			Counters map[string]int64
		}
		Intermediate []struct {
			Counters map[string]int64
			Period   string
		}
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	// Periods begin at whole tens of seconds: 6 s, 10 s and 9 s of this run.
	if len(out.Intermediate) != 3 || out.Intermediate[1].Period != "1772366410000" {
		t.Errorf("%d periods, the second is %q", len(out.Intermediate), out.Intermediate[1].Period)
	}
	for name, want := range out.Aggregate.Counters {
		sum := int64(0)
		for _, p := range out.Intermediate {
			sum += p.Counters[name]
		}
		if sum != want && name != "vusers.skipped" {
			t.Errorf("%s: the periods add up to %d, the whole is %d", name, sum, want)
		}
	}
}

// selfContained checks that a page needs nothing and runs nothing.
func selfContained(t *testing.T, page string) {
	t.Helper()
	for _, bad := range []string{"<script", "<because>", "src=", "href=", "NaN", "Inf"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if m := regexp.MustCompile(`url\([^)]*\)`).FindString(page); m != "" {
		t.Errorf("the page fetches %s", m)
	}
	if len(page) > 1<<20 {
		t.Errorf("the page is %d bytes", len(page))
	}
}

func TestTheLoadPageIsWhole(t *testing.T) {
	var b strings.Builder
	if err := sampleReport(1).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	selfContained(t, b.String())
	for _, want := range []string{
		"500 of 500 requests got a response", "The target kept 0.97 cores busy of the machine&#39;s 2",
		"Core 0 was busy 98 % of the time, the other cores 4 % on average: the work runs on one thread.",
		"Every core over time", "Latency over the percentiles", "POST /Count", "503", "server_error", "20 ms",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	void := sampleReport(1)
	void.Void, void.Series, void.Histograms.Actual, void.Names = "the generator was late", nil, nil, nil
	b.Reset()
	if err := void.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	selfContained(t, b.String())
	if !strings.Contains(b.String(), "These figures may not be used: the generator was late.") {
		t.Error("a void run's page does not say so")
	}
}

// A target that nobody listens at has no latency, and that comes before what the generator
// was: it is not 0 ms.
func TestThePageOfADeadTarget(t *testing.T) {
	r := sampleReport(1)
	r.Requests, r.Completed, r.Failed, r.Errors, r.Void = 60, 0, 60, map[string]int64{"refused": 60}, "the generator was late"
	r.Latency, r.Median, r.P99 = Views{}, 0, 0
	r.Names = []NameReport{{Name: "GET /", Requests: 60, Failed: 60}}
	r.Warnings = []string{"p95 is void", "the machine was busy"}
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Not one of 60 requests got a response: refused: 60.", "<dd>–</dd>", "VOID", "p95 is void.", "The machine was busy."} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	for _, wrong := range []string{"<dd>0 ms<", ">0.000<", "P95"} {
		if strings.Contains(page.String(), wrong) {
			t.Errorf("%q", wrong)
		}
	}
}

// TestThePageSaysWhoIsInTheMedian holds that a page with timeouts does not give a median of
// requests as one of responses.
func TestThePageSaysWhoIsInTheMedian(t *testing.T) {
	t.Parallel()
	r := sampleReport(1)
	r.Errors, r.Failed = map[string]int64{ErrorTimeout: 6}, 6
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if want := "Half of them and of the 6 without one in time took at most"; !strings.Contains(page.String(), want) {
		t.Errorf("the page does not say: %s", want)
	}
}

func TestReportsAreReadBackOrRefused(t *testing.T) {
	b, err := json.Marshal(sampleReport(1))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := Read(path); err != nil || r.Completed != 500 || r.Histograms.Intended.Count() != 500 {
		t.Errorf("read back: %v, %+v", err, r)
	}
	for name, text := range map[string]string{
		"no JSON": "{", "another format": `{"format":"k6"}`, "no histogram": `{"format":"whittle.load/1"}`,
	} {
		if _, err := Parse([]byte(text)); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(path + ".none"); whittle.CodeOf(err) != whittle.NotFound {
		t.Errorf("no file: %v", err)
	}
}

func FuzzReport(f *testing.F) {
	b, err := json.Marshal(sampleReport(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format":"whittle.load/1","histograms":{"intended":{"unit":"us","hdr":""}},"series":[{"span_s":-1}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := r.WriteHTML(&out); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteArtillery(&out); err != nil {
			t.Fatal(err)
		}
		// What is read is kept: written and read again it is written the same.
		once, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(once)
		if err != nil {
			t.Fatalf("%v: %s", err, once)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s became %s, %v", once, twice, err)
		}
	})
}
