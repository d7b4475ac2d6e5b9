package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle/load"
	"whittle/load/plan"
	"whittle/profile"
)

// threeServices are processes of one service. The first one's page has what all
// of them answered, 20 requests each while they are profiled.
func threeServices(t *testing.T) (targets []string, page *goService) {
	t.Helper()
	for range 3 {
		s := startGoService(t)
		if page == nil {
			page = s
		}
		s.page = page
		s.others.Store(20)
		targets = append(targets, s.URL)
	}
	return targets, page
}

// A page that was given counts the requests of all processes: once.
func TestFindCountsRequestsOfOnePageOnce(t *testing.T) {
	targets, page := threeServices(t)
	kept := filepath.Join(t.TempDir(), "find.json")
	args := append([]string{"find", "--metrics", page.URL + "/metrics", "--duration", "1s", "--json", kept}, targets...)
	if status, out, errs := whittleOnce(t, args...); status != 0 {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	r := readJSON[ranking](t, kept)
	if len(r.Endpoints) != 1 || r.Endpoints[0].Requests != 60 {
		t.Errorf("60 requests became %+v", r.Endpoints)
	}
	if n := page.read.Load(); n != 2 {
		t.Errorf("the page was read %d times, where twice is enough", n)
	}
}

// Pages beside each process's own pprof count its own.
func TestFindAddsUpRequestsOfPagesOfTheirOwn(t *testing.T) {
	var targets []string
	for range 3 {
		s := startGoService(t)
		s.others.Store(20)
		targets = append(targets, s.URL)
	}
	kept := filepath.Join(t.TempDir(), "find.json")
	if status, out, errs := whittleOnce(t, append([]string{"find", "--duration", "1s", "--json", kept}, targets...)...); status != 0 {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	if r := readJSON[ranking](t, kept); len(r.Endpoints) != 1 || r.Endpoints[0].Requests != 60 {
		t.Errorf("three times 20 requests became %+v", r.Endpoints)
	}
}

// The CPU time that such a page tells is counted once, too.
func TestAPlanWatchesOnePageOnce(t *testing.T) {
	targets, page := threeServices(t)
	under, err := load.Parse("plan.yml", []byte(`{config: {target: "`+page.URL+`", phases: [{duration: 0.4, arrivalRate: 50}]}, scenarios: [{flow: [{get: {url: /work}}]}]}`), plan.Source{})
	if err != nil {
		t.Fatal(err)
	}
	m := measuring{Metrics: page.URL + "/metrics", MaxLate: time.Minute}
	all, err := m.measureAll(t.Context(), targets, []profile.Kind{profile.CPU}, under, newScreen(streams{out: new(strings.Builder)}))
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range all {
		var watched []string
		for _, p := range got.load.Processes {
			watched = append(watched, p.Name)
		}
		if !slices.Equal(watched, []string{page.URL + "/metrics"}) {
			t.Errorf("watched %q", watched)
		}
	}
	if r := rank(all); len(r.Endpoints) != 1 || r.Endpoints[0].Requests > 20 {
		text, _ := json.Marshal(r.Endpoints)
		t.Errorf("20 requests became %s", text)
	}
}
