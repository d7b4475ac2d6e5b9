package report

import (
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/latency"
)

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
	src, err := os.ReadFile("kinds.go")
	fatal.If(t, err)
	named := regexp.MustCompile(`Error\w+\s+= "(\w+)"`).FindAllStringSubmatch(string(src), -1)
	if len(named) < 10 {
		t.Fatalf("%d kinds found in kinds.go", len(named))
	}
	for _, m := range named {
		if !KnownMetric("errors." + m[1]) {
			t.Errorf("errors.%s is not known", m[1])
		}
	}
}
