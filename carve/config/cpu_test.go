package config

import (
	"strings"
	"testing"
)

func TestCPUIsGuardedWhereBothSidesAreKnown(t *testing.T) {
	const both = `
monolith: {url: http://127.0.0.1:3000, metrics: http://127.0.0.1:3000/metrics}
routes:
  - match: GET /count
    candidate: {url: http://127.0.0.1:6666, metrics: http://127.0.0.1:6667/metrics}
    guard: {cpu: 1.1x}
`
	f, err := Parse("whittle.yaml", []byte(both), readable(t))
	if err != nil {
		t.Fatal(err)
	}
	r := f.Routes[0]
	if r.Guard.CPU != 1.1 || r.Candidate.Metrics != "http://127.0.0.1:6667/metrics" || f.Monolith.Metrics != "http://127.0.0.1:3000/metrics" {
		t.Errorf("guard %+v, candidate %+v, monolith %+v", r.Guard, r.Candidate, f.Monolith)
	}
	var said strings.Builder
	if err := f.Describe(&said); err != nil || !strings.Contains(said.String(), "CPU per request at most 1.1x the monolith's, by http://127.0.0.1:6667/metrics") {
		t.Errorf("described as %s, %v", said.String(), err)
	}
	for text, want := range map[string]string{
		strings.Replace(both, ", metrics: http://127.0.0.1:6667/metrics", "", 1):                "routes[0].guard.cpu: needs the CPU time of both processes: write candidate: {url: http://127.0.0.1:6666, metrics: URL}",
		strings.Replace(both, ", metrics: http://127.0.0.1:3000/metrics", "", 1):                "routes[0].guard.cpu: needs the CPU time of both processes: write monolith: {url: http://127.0.0.1:3000, metrics: URL}",
		strings.Replace(both, "metrics: http://127.0.0.1:6667/metrics", "metrics: /metrics", 1): "routes[0].candidate.metrics: \"/metrics\" is not a URL",
		strings.Replace(both, "cpu: 1.1x", "cpu: 10%", 1):                                       "routes[0].guard.cpu: ",
	} {
		if _, err := Parse("whittle.yaml", []byte(text), readable(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	off := strings.NewReplacer(", metrics: http://127.0.0.1:3000/metrics", "", ", metrics: http://127.0.0.1:6667/metrics", "", "1.1x", "off").Replace(both)
	if f, err := Parse("whittle.yaml", []byte(off), readable(t)); err != nil || f.Routes[0].Guard.CPU != 0 {
		t.Errorf("switched off: %v", err)
	}
}
