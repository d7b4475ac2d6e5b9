package show

import (
	"strings"
	"testing"

	"whittle"
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
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
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
