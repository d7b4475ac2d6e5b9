package report

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/latency"
	"whittle/whittletest"
)

// sampleReport is a run of 25 seconds, whose queue grows; scale makes its latencies longer.
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
	all, good := new(latency.Histogram), new(latency.Histogram)
	for i := range 25 {
		var h latency.Histogram
		p := Point{At: float64(i), Width: 1, Span: 1, Cores: []float64{.98, .04}, WatchedCores: .97, GeneratorCores: .01, Late: .4}
		if i == 24 {
			p.Span = .5
		}
		for k := range 20 {
			d := time.Duration(scale * float64(time.Millisecond) * float64(20+5*i+k))
			h.Record(d)
			if k > 0 || i%5 > 0 {
				good.Record(d)
			}
		}
		r.Codes["200"] += 20
		if i%5 == 0 {
			r.Codes["200"]--
			r.Codes["503"]++
			r.Errors[ErrorServer]++
			p.Failed = 1
		}
		s := h.Snapshot()
		p.Completed, p.Arrivals, p.Timed, p.InFlight = 20, 20, 20, int64(i)
		p.Min, p.Mean, p.Max = latency.Milliseconds(s.Min), latency.Milliseconds(s.Mean), latency.Milliseconds(s.Max)
		p.P50, p.P75, p.P90 = latency.Milliseconds(s.P50), latency.Milliseconds(s.P75), latency.Milliseconds(s.P90)
		p.P95, p.P99, p.P999 = latency.Milliseconds(s.P95), latency.Milliseconds(s.P99), latency.Milliseconds(s.P999)
		r.Failed += p.Failed
		all.Merge(&h)
		r.Series = append(r.Series, p)
	}
	r.Requests, r.Completed, r.Rate = 500, 500, 500/24.5
	r.Histograms = Histograms{Intended: all, Actual: all, Succeeded: good}
	r.Latency.Intended, r.Latency.Actual = all.Snapshot(), all.Snapshot()
	r.Median, r.P95, r.P99 = latency.Milliseconds(all.Quantile(.5)), latency.Milliseconds(all.Quantile(.95)), latency.Milliseconds(all.Quantile(.99))
	r.Names = []NameReport{{Name: "POST /Count", Requests: 500, Completed: 500, Failed: r.Failed, Intended: all.Snapshot(), Actual: all.Snapshot()}}
	return r
}

// selfContained checks that a page needs nothing and runs nothing.
func selfContained(t *testing.T, page string) {
	t.Helper()
	for _, bad := range []string{"<script", "<because>", "src=", "href=", "NaN", "Inf"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	fatal.Same(t, regexp.MustCompile(`url\([^)]*\)`).FindString(page), "", "the page fetches")
	if len(page) > 1<<20 {
		t.Errorf("the page is %d bytes", len(page))
	}
}

func TestTheLoadPageIsWhole(t *testing.T) {
	var b strings.Builder
	fatal.If(t, sampleReport(1).WriteHTML(&b))
	selfContained(t, b.String())
	fatal.Has(t, b.String(),
		"500 of 500 requests got a response", "The target kept 0.97 cores busy of the machine&#39;s 2",
		"Latency over the percentiles", "POST /Count", "503", "server_error", "20 ms",
	)
	void := sampleReport(1)
	void.Void, void.Series, void.Histograms.Actual, void.Names = "the generator was late", nil, nil, nil
	b.Reset()
	fatal.If(t, void.WriteHTML(&b))
	selfContained(t, b.String())
	fatal.Has(t, b.String(), "These figures may not be used: the generator was late.")
}

// TestThePageSaysWhoIsInTheMedian holds that a page with timeouts does not give a median of
// requests as one of responses.
func TestThePageSaysWhoIsInTheMedian(t *testing.T) {
	t.Parallel()
	r := sampleReport(1)
	r.Errors, r.Failed = map[string]int64{ErrorTimeout: 6}, 6
	var page bytes.Buffer
	fatal.If(t, r.WriteHTML(&page))
	if want := "Half of them and of the 6 without one in time took at most"; !strings.Contains(page.String(), want) {
		t.Errorf("the page does not say: %s", want)
	}
}

func TestTheSummarySaysWhatMatters(t *testing.T) {
	r := &Report{
		Plan: "p.yml", Target: "http://t", Seconds: 10.05, Seed: 9, Early: true,
		Requests: 200, Completed: 190, Failed: 10, Unfinished: 1, Rate: 19.04,
		Codes: map[string]int64{"200": 190}, Errors: map[string]int64{ErrorTimeout: 10},
		Users: Users{200, 199, 1, 199, 0}, Sent: 2048, Received: 5 << 20,
		Names:     []NameReport{{Name: "POST /Count"}, {Name: "GET /"}},
		Processes: []ProcessReport{{Name: "monolith", CPU: 1500, CPUPerRequest: 7.89, Ended: true}},
		Ensure:    []Check{{Metric: "vusers.failed", Value: 3}},
		Warnings:  []string{"mind this"}, Void: "the generator was late",
	}
	r.Latency.Intended.Count = 200
	r.Latency.Intended.P50 = 44300 * time.Microsecond
	var b strings.Builder
	fatal.If(t, r.WriteSummary(&b))
	fatal.Has(t, b.String(),
		"p.yml → http://t", "10.1s, ended early", "seed 9", "199 of 200 planned, 1 skipped", "200, 190 completed, 10 failed, 1 unfinished",
		"19.04 completed per second", "2.0 KiB sent, 5.0 MiB received", "timeout: 10", "44.3", "POST /Count",
		"CPU of monolith: 1.5s, 7.89 ms per completed request, until it ended", "bound on vusers.failed: 3 of at most 0, EXCEEDED", "note: mind this", "VOID: the generator was late",
	)
}

func TestLatenessBeyondItsBoundVoidsARun(t *testing.T) {
	var v Views
	v.ScheduleError.P99 = 30 * time.Millisecond
	v.Intended.P50 = 50 * time.Millisecond
	if voidReason(&v, 10*time.Millisecond) == "" {
		t.Error("30 ms late at a median of 50 ms passed")
	}
	v.Intended.P50 = 16 * time.Second
	fatal.Same(t, voidReason(&v, 10*time.Millisecond), "", "30 ms late at a median of 16 s")
	v.Intended.P50, v.ScheduleError.P99 = 50*time.Millisecond, 9*time.Millisecond
	fatal.Same(t, voidReason(&v, 10*time.Millisecond), "", "9 ms late")
}

// Requests that failed are in the percentiles, and where they move one the report says so.
func TestWhatPullsAPercentileIsSaid(t *testing.T) {
	r := Report{Requests: 100, Completed: 100, Failed: 70}
	r.Latency.Intended = latency.Snapshot{Count: 100, P50: time.Millisecond, P95: 800 * time.Millisecond, P99: 800 * time.Millisecond}
	r.Latency.Succeeded = latency.Snapshot{Count: 30, P50: 800 * time.Millisecond, P95: 800 * time.Millisecond, P99: 800 * time.Millisecond}
	if got := r.pulled(); !strings.Contains(got, "the median is 1.00 ms with them and 800 ms of successes alone, which a bound looks at as success.median") {
		t.Errorf("%q", got)
	}
	r.Latency.Succeeded.P50 = time.Millisecond
	fatal.Same(t, r.pulled(), "", "nothing is pulled")
}

func TestConditionsToFail(t *testing.T) {
	h := new(latency.Histogram)
	h.RecordN(100*time.Millisecond, 98)
	h.RecordN(400*time.Millisecond, 2)
	good := new(latency.Histogram)
	good.RecordN(800*time.Millisecond, 30)
	pulled := func() *Report { // by quick errors
		quick := new(latency.Histogram)
		quick.RecordN(time.Millisecond, 70)
		quick.Merge(good)
		return &Report{Requests: 100, Completed: 100, Failed: 70, Histograms: Histograms{Intended: quick, Succeeded: good}}
	}
	run := func() *Report {
		failures := []ScriptFailure{{Element: "a", Count: 3}, {Element: "b", Count: 4}}
		return &Report{Requests: 100, Completed: 100, Failed: 2, Rate: 50, Histograms: Histograms{Intended: h}, ScriptFailures: failures}
	}
	silent := func() *Report {
		return &Report{Requests: 10, Failed: 10, Histograms: Histograms{Intended: new(latency.Histogram)}}
	}
	for _, c := range []struct {
		text string
		of   func() *Report
		want string // part of the error; empty: none
	}{
		{"p99 > 200ms", run, "the condition p99 > 200ms holds: it is 4"},
		{"p99>1s", run, ""},
		{"median >= 100ms", run, "holds: it is 100"},
		{"p50 < 99ms", run, ""},
		{"mean > 0.2s", run, ""},
		{"errors > 1%", run, "the condition errors > 1% holds: it is 2"},
		{"errors > 2 %", run, ""},
		{"errors >= 2", run, "holds: it is 2"},
		{"rate < 49.5", run, ""},
		{"rate <= 50", run, "holds: it is 50"},
		{"responses < 100", run, ""},
		{"requests < 101", run, "holds: it is 100"},
		{"scripts > 0", run, "the condition scripts > 0 holds: it is 7"},
		{"scripts > 7", run, ""},
		{"cpu > 1", run, "cannot be decided: no process was watched"},
		{"p50 > 200ms", pulled, ""},
		{"success.p50 > 200ms", pulled, "the condition success.p50 > 200ms holds: it is 800"},
		{"success.mean > 1s", pulled, ""},
		{"p99 < 1h", silent, "cannot be decided: there was no response"},
	} {
		conditions, err := ParseFailIf([]string{c.text})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		r := c.of()
		r.CheckFailIf(conditions)
		err = r.Err()
		if c.want == "" && err != nil || c.want != "" && (whittle.CodeOf(err) != whittle.FallsShort || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
		if said := r.Ensure[0].String(); !strings.HasPrefix(said, "fail if ") || strings.Contains(said, "FAILED") != (c.want != "") {
			t.Errorf("%s: %q", c.text, said)
		}
	}
}

// TestWhatIsNoConditionIsRefused: nonsense is an error that says what is wrong with
// it, and whose hint says what to write.
func TestWhatIsNoConditionIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "no comparison",
		"p99":                             "no comparison",
		"p99 = 1ms":                       "no comparison",
		strings.Repeat("p", 300) + " > 1": "no comparison",
		"p99 > ":                          `"" is not a time such as 200ms`,
		"p99 > 200":                       `"200" has no unit; write "p99 > 200ms"`,
		"p99>0.5":                         `write "p99 > 0.5ms"`,
		"p99 > 200 ms":                    `"200 ms" is not a time such as 200ms`,
		"p99 > 5%":                        `"5%" is not a time such as 200ms`,
		"p99 > -1s":                       `"-1s" is not a time such as 200ms`,
		"p99 >> 1ms":                      `"> 1ms" is not a time`,
		"p99 > 1ms 2ms":                   `"1ms 2ms" is not a time`,
		"p99 => 1ms":                      `"p99 =" is not a figure`,
		"200ms < p99":                     `"200ms" is not a figure`,
		"p98 > 1ms":                       `"p98" is not a figure`,
		"P99 > 1ms":                       `"P99" is not a figure`,
		"> 1ms":                           `"" is not a figure`,
		"p99 latency > 1ms":               `"p99 latency" is not a figure`,
		"error > 1%":                      `"error" is not a figure`,
		"errors > x":                      `"x" is not a number of 0 or more`,
		"errors > -1":                     `"-1" is not a number of 0 or more`,
		"errors > NaN%":                   `"NaN%" is not a number of 0 or more`,
		"errors > 1%%":                    `"1%%" is not a number of 0 or more`,
		"errors > %":                      `"%" is not a number of 0 or more`,
		"errors > 1e999":                  `"1e999" is not a number of 0 or more`,
		"errors > 1,000":                  `"1,000" is not a number of 0 or more`,
		"rate > 5%":                       `"5%" is not a number of 0 or more`,
		"rate > 5/s":                      `"5/s" is not a number of 0 or more`,
		"rate > Inf":                      `"Inf" is not a number of 0 or more`,
		"cpu > 2ms":                       `"2ms" is not a number of 0 or more`,
		"p99 > 1ms && errors > 1":         "is not a time such as 200ms",
		"errors < 0":                      "no run meets",
		"p99 < 0s":                        "no run meets",
		"errors > 100%":                   "no run meets",
		"errors >= 100.5%":                "no run meets",
	} {
		_, err := ParseFailIf([]string{text})
		whittletest.Refused(t, err, whittle.Invalid, text, want)
		if e, ok := errors.AsType[*whittle.Error](err); !ok || !strings.Contains(e.Hint, `"p99 > 200ms" or "errors > 1%"`) {
			t.Errorf("%.40q: no hint says what to write: %v", text, err)
		}
	}
	for _, text := range []string{"errors > 0", "errors >= 0", "errors >= 100%", "errors < 100%", "rate <= 0", "p99 > 0s", "max >= 0s"} {
		if _, err := ParseFailIf([]string{text}); err != nil {
			t.Errorf("%s can hold: %v", text, err)
		}
	}
}

// Without a response there is no latency: not even one of 0 ms, which
// would be below any bound. Timeouts alone are no responses either: the latency
// that they count with is where the run stopped looking.
func TestLatencyOfNothingIsNoFigure(t *testing.T) {
	timedOut := new(latency.Histogram)
	timedOut.Record(100 * time.Millisecond)
	name := func(completed int64, h *latency.Histogram) []NameReport {
		return []NameReport{{Name: "GET /a.b", Completed: completed, Intended: h.Snapshot()}}
	}
	none := new(latency.Histogram)
	for what, r := range map[string]*Report{
		"nothing":  {Histograms: Histograms{Intended: none}, Names: name(0, none)},
		"timeouts": {Histograms: Histograms{Intended: timedOut}, Names: name(0, timedOut)},
	} {
		for _, m := range []string{responseTime + "p99", responseTime + "min", responseTime + "mean"} {
			if v, ok := r.Metric(m); ok || !math.IsNaN(v) {
				t.Errorf("%s: %s is %v, %v", what, m, v, ok)
			}
			if !KnownMetric(m) {
				t.Errorf("%s is not known", m)
			}
		}
	}
	r := &Report{Completed: 1, Histograms: Histograms{Intended: timedOut}, Names: name(1, timedOut)}
	for _, m := range []string{responseTime + "p99", responseTime + "mean"} {
		if v, ok := r.Metric(m); !ok || math.Abs(v-100) > 1 {
			t.Errorf("%s is %v, %v", m, v, ok)
		}
	}
}

// A plan written for Artillery bounds Artillery's names of errors, which the
// report counts under whittle's.
func TestErrorsGoByArtillerysNamesToo(t *testing.T) {
	r := &Report{Errors: map[string]int64{ErrorTimeout: 3, ErrorRefused: 4, ErrorDNS: 7, ErrorConnect: 8, ErrorReset: 5, ErrorServer: 6}}
	for name, want := range map[string]float64{
		"ETIMEDOUT": 3, "ECONNREFUSED": 4, "ECONNRESET": 5, ErrorTimeout: 3, ErrorRefused: 4, "ENOTFOUND": 7, ErrorDNS: 7, ErrorConnect: 8, ErrorReset: 5, ErrorServer: 6, ErrorCapture: 0,
	} {
		if v, ok := r.Metric("errors." + name); v != want || !ok || !KnownMetric("errors."+name) {
			t.Errorf("errors.%s is %v, %v, want %v", name, v, ok, want)
		}
		fatal.Has(t, MetricNames, name)
	}
	for _, name := range []string{"", "EPROTO", "timeouts", "Timeout"} {
		if KnownMetric("errors." + name) {
			t.Errorf("errors.%s is known", name)
		}
	}
}

// Every kind that the constants name can be bounded.
func TestKindsAreComplete(t *testing.T) {
	named := regexp.MustCompile(`Error\w+\s+= "(\w+)"`).FindAllStringSubmatch(fatal.Read(t, "kinds.go"), -1)
	if len(named) < 10 {
		t.Fatalf("%d kinds found in kinds.go", len(named))
	}
	for _, m := range named {
		if !KnownMetric("errors." + m[1]) {
			t.Errorf("errors.%s is not known", m[1])
		}
	}
}
