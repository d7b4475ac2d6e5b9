package show

import (
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// TestDiffsShowThePlace: of a sample with a place, the place and its two values
// are shown in the place of the bodies' beginnings.
func TestDiffsShowThePlace(t *testing.T) {
	v := whittle.Verdict{Findings: []whittle.Finding{{Kind: whittle.FoundField, Path: "$.items[*].price", Samples: []whittle.Sample{
		{
			Request: "GET /orders", Monolith: `{"items":[`, Candidate: `{"items":[`, Where: "$.items[3].price",
			MonolithValue: `"1.50"`, CandidateValue: `"1.5"`,
		},
		{Request: "GET /other", Monolith: "a whole", Candidate: "another"},
	}}}}
	var out strings.Builder
	Findings(&out, &v)
	for _, want := range []string{
		"  GET /orders\n             at        $.items[3].price\n             monolith  \"1.50\"\n             candidate \"1.5\"\n",
		"  GET /other\n             monolith  a whole\n             candidate another\n",
	} {
		fatal.Has(t, out.String(), want)
	}
	if strings.Contains(out.String(), `{"items":[`) {
		t.Errorf("the body's beginning is shown:\n%s", &out)
	}
}

// TestUpstreams: instances are shown where there is something to see.
func TestUpstreams(t *testing.T) {
	one := whittle.InstanceStatus{Address: "10.0.0.1:80", Running: 2}
	for _, tt := range []struct {
		name string
		u    whittle.UpstreamStatus
		want string
	}{
		{"one that is ready", whittle.UpstreamStatus{URL: "http://a", Instances: []whittle.InstanceStatus{one}}, ""},
		{"none that is known", whittle.UpstreamStatus{URL: "http://a", LookupsFailed: 2}, "http://a\n  instances 0 of 0 fit; 0 ejections, 0 requests sent elsewhere, 0 checks and 2 look-ups failed\n"},
		{
			"several",
			whittle.UpstreamStatus{URL: "http://a", Panic: true, Ejections: 1, Elsewhere: 3, ChecksFailed: 4, Instances: []whittle.InstanceStatus{
				one, {Address: "10.0.0.2:80", Ejected: true}, {Address: "10.0.0.3:80", Unhealthy: true},
			}},
			"http://a\n  instances 1 of 3 fit, so few that all get requests; 1 ejections, 3 requests sent elsewhere, 4 checks and 0 look-ups failed\n" +
				"  ready     10.0.0.1:80, 2 under way\n  ejected   10.0.0.2:80, 0 under way\n  unhealthy 10.0.0.3:80, 0 under way\n",
		},
	} {
		var b strings.Builder
		if Upstream(&b, &tt.u); b.String() != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, b.String(), tt.want)
		}
	}
}

// TestFindingsHaveEachHeadingOnce: a verdict has several bounds, and one list of them.
func TestFindingsHaveEachHeadingOnce(t *testing.T) {
	var b strings.Builder
	Findings(&b, &whittle.Verdict{
		Summary:  "UNDECIDED after 3 exchanges",
		Coverage: &whittle.Coverage{ByValue: 1},
		Bounds:   []whittle.Bound{{Summary: "0 of 3 responses differed"}, {Summary: "0 of 3 exchanges had another status"}},
	})
	want := `UNDECIDED after 3 exchanges
No difference has been seen.

What was compared: 1 field by value, 0 by form, 0 not compared

What could still differ:
  0 of 3 responses differed
  0 of 3 exchanges had another status
`
	fatal.Same(t, b.String(), want, "shown")
}

// TestWhatEquivalentWaitsForIsSaid: of several bounds a user sees which keep the verdict
// open, and none where nothing does.
func TestWhatEquivalentWaitsForIsSaid(t *testing.T) {
	const waits = "; EQUIVALENT waits for this"
	v := whittle.Verdict{
		State: whittle.Undecided, Compared: 1369,
		Findings: []whittle.Finding{{Kind: whittle.FoundMean, Expected: "as agreed"}},
		Bounds: []whittle.Bound{
			{What: "mean", Summary: "declared", High: 9, MarginHigh: 1},
			{What: "differences", Summary: "0 of 1,369 responses differed", Inside: true},
			{What: "noise", Summary: "$.user differs", High: 0.155, MarginHigh: 0.02},
			{What: "spread", Summary: "the mean lies apart", Low: -0.3, High: 0.1, MarginLow: -0.02, MarginHigh: 0.02},
		},
	}
	show := func() string {
		var b strings.Builder
		Findings(&b, &v)
		Detail(&b, &whittle.RouteStatus{Verdict: v})
		Route(&b, &whittle.RouteStatus{Verdict: v})
		return b.String()
	}
	if got := show(); strings.Count(got, waits) != 4 || strings.Count(got, "$.user differs"+waits) != 2 || !strings.Contains(got, "  waits     on this bound: the mean lies apart\n") {
		t.Errorf("got\n%s", got)
	}
	for _, state := range []whittle.State{whittle.Equivalent, whittle.Different} {
		if v.State = state; strings.Contains(show(), "waits") {
			t.Errorf("%s waits", state)
		}
	}
}

// TestSteered: what is under way is not said to be in force, and each proxy is named.
func TestSteered(t *testing.T) {
	var b strings.Builder
	Route(&b, &whittle.RouteStatus{Route: "GET /a", Phase: whittle.PhaseRolledBack, Steer: &whittle.SteerStatus{
		By: "haproxy", UnderWay: "fall to 0 %", Proxies: []whittle.SteerInstance{
			{Name: "a", Read: time.Now(), Confirmed: true, Note: "it had 90 %"},
			{Name: "b", Read: time.Now(), Share: 500, Trouble: "connection refused"},
			{Name: "c"},
		},
	}})
	for _, want := range []string{
		"share     0 % at the proxy (rolled back, fall to 0 % under way)\n",
		"haproxy   a has 0 %, confirmed; it had 90 %\n", "haproxy   b has 5 %, not confirmed: connection refused\n", "haproxy   c has no share that is known\n",
	} {
		fatal.Has(t, b.String(), want)
	}
}
