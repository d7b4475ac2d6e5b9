package duel

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/latency"
	"whittle/load/report"
)

func TestSavedReportsAreCompared(t *testing.T) {
	a, b := saved(t, 1), saved(t, 30)
	c, err := CompareReports(a, b, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := compared(t, c, "median")
	if m.Low > 30 || m.High < 30 || !m.Different || m.High/m.Low < 1.5 {
		t.Errorf("median: %+v", m)
	}
	if c.Pairs != 0 || !strings.Contains(strings.Join(c.Warnings, " "), "not measured in turn") || !strings.Contains(c.Method, "unpaired") {
		t.Errorf("%d pairs, %s, %v", c.Pairs, c.Method, c.Warnings)
	}
	if f := compared(t, c, "cpu"); f.Different || f.Ratio != 1 {
		t.Errorf("cpu: %+v", f)
	}
	var text, page strings.Builder
	if err := c.WriteSummary(&text); err != nil {
		t.Fatal(err)
	}
	matchesGolden(t, "compare-saved.txt", []byte(text.String()))
	if err := c.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	needsNothing(t, page.String())
	void := saved(t, 1)
	void.Void = "late"
	if c, err := CompareReports(void, b, 0); err != nil || c.Void == "" || whittle.CodeOf(c.Err(nil)) != whittle.Unavailable {
		t.Errorf("a void run compares: %v", err)
	}
	other := saved(t, 1)
	other.Users.Planned = 7
	if _, err := CompareReports(a, other, 0); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("another plan: %v", err)
	}
}

// A run without errors and one in which everything failed: the ratio is without
// bound, not unknown, and a condition on it must see that.
func TestErrorsOfOneSavedReportOnly(t *testing.T) {
	clean, broken := saved(t, 1), saved(t, 1)
	clean.Failed, broken.Failed = 0, broken.Requests
	gate := func(s string) []Gate {
		g, err := ParseGate(s)
		if err != nil {
			t.Fatal(err)
		}
		return []Gate{g}
	}
	for _, c := range []struct {
		a, b  *report.Report
		fails string
		holds string
	}{
		{clean, broken, "errors ratio > 1", "errors ratio < 1"},
		{broken, clean, "errors ratio < 1", "errors ratio > 1"},
	} {
		got, err := CompareReports(c.a, c.b, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Err(gate(c.fails)); whittle.CodeOf(err) != whittle.FallsShort {
			t.Errorf("%s: %v of %+v", c.fails, err, compared(t, got, "errors"))
		}
		if err := got.Err(gate(c.holds)); err != nil {
			t.Errorf("%s: %v", c.holds, err)
		}
		var text, page strings.Builder
		if err := got.WriteSummary(&text); err != nil || strings.Contains(text.String(), "NaN") {
			t.Errorf("%v:\n%s", err, text.String())
		}
		if err := got.WriteHTML(&page); err != nil {
			t.Fatal(err)
		}
		needsNothing(t, page.String())
		if b, err := json.Marshal(got); err != nil || !json.Valid(b) {
			t.Errorf("as JSON: %v", err)
		}
	}
	neither, err := CompareReports(broken, broken, 0)
	if err != nil || whittle.CodeOf(neither.Err(gate("errors ratio > 1"))) != whittle.Unavailable || !strings.Contains(neither.Void, "there is nothing to compare: of A not one of") {
		t.Errorf("both failed at everything: %v, void %q", err, neither.Void)
	}
	both, err := CompareReports(clean, clean, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := both.Err(gate("errors ratio > 1")); err != nil {
		t.Errorf("no errors on either side: %v", err)
	}
}

var updateGolden = flag.Bool("update", false, "write the golden files anew")

// matchesGolden compares with a file in testdata.
func matchesGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden {
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

// needsNothing checks that a page fetches nothing and runs nothing.
func needsNothing(t *testing.T, page string) {
	t.Helper()
	for _, bad := range []string{"<script", "src=", "href=", "url(", "NaN", "Inf"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

// saved is the report of 25 seconds whose latencies grow, read back from its
// JSON; scale makes them longer.
func saved(t testing.TB, scale float64) *report.Report {
	t.Helper()
	r := &report.Report{
		Format: report.Format, Plan: "plan.yml", Target: "http://target", Model: report.ModelOpen, Started: time.Date(2026, 3, 1, 12, 0, 4, 0, time.UTC),
		Seconds: 24.5, Users: report.Users{Planned: 500}, CPUPerRequest: 20, Names: []report.NameReport{{Name: "POST /Count"}},
	}
	all := new(latency.Histogram)
	for i := range 25 {
		var h latency.Histogram
		for k := range 20 {
			h.Record(time.Duration(scale * float64(time.Millisecond) * float64(20+5*i+k)))
		}
		s, span := h.Snapshot(), 1.0
		if i == 24 {
			span = .5
		}
		r.Series = append(r.Series, report.Point{
			At: float64(i), Width: 1, Span: span, Timed: 20, Completed: 20, WatchedCores: .97,
			Figures: latency.Figures{P50: latency.Milliseconds(s.P50), P95: latency.Milliseconds(s.P95), P99: latency.Milliseconds(s.P99)},
		})
		all.Merge(&h)
	}
	r.Requests, r.Completed, r.Failed, r.Rate = 500, 500, 5, 500/24.5
	r.Histograms = report.Histograms{Intended: all, Actual: all}
	r.Median, r.P95, r.P99 = latency.Milliseconds(all.Quantile(.5)), latency.Milliseconds(all.Quantile(.95)), latency.Milliseconds(all.Quantile(.99))
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := report.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func FuzzCompareReports(f *testing.F) {
	b, err := json.Marshal(saved(f, 1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format":"whittle.load/1","histograms":{"intended":{"unit":"us","hdr":""}},"series":[{"span_s":-1}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := report.Parse(b)
		if err != nil {
			return
		}
		c, err := CompareReports(r, r, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.WriteHTML(io.Discard); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatal(err)
		}
	})
}
