package report

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/latency"
)

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
		if whittle.CodeOf(err) != whittle.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
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
		if !strings.Contains(MetricNames, name) {
			t.Errorf("%s is not in the list of names", name)
		}
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
