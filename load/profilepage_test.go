package load

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"testing"
	"time"

	"whittle"
)

// spin uses the processor.
func spin() {
	var h uint64 = 1469598103934665603
	for i := range uint64(400_000) {
		h = (h ^ i) * 1099511628211
	}
	if h == 0 {
		panic("the sum of nothing")
	}
}

func TestAProfileGivesCPUPerRequest(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { spin() })
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	p := parsed(t, "config: {phases: [{duration: 1, arrivalRate: 200}]}\nscenarios: [{flow: [{get: {url: /}}]}]")
	r := run(t, p, Options{Target: srv.URL, WatchURLs: []string{srv.URL + "/debug/pprof/"}, MaxLate: time.Minute})
	if len(r.Processes) != 1 || !(r.CPUPerRequest > 0) || r.Processes[0].CPU > 1e4 || r.Processes[0].Ended {
		t.Errorf("%+v, %v ms per request", r.Processes, r.CPUPerRequest)
	}
	if !strings.HasSuffix(r.Processes[0].Name, "/debug/pprof/profile") || !strings.Contains(strings.Join(r.Warnings, " "), "samples: right to about") {
		t.Errorf("%s, %q", r.Processes[0].Name, r.Warnings)
	}
}

func TestWhatGivesNoProfileIsRefusedBeforeAnythingIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		code  whittle.Code
		says  string
	}{
		"none":  {http.NotFound, whittle.Unavailable, "404"},
		"busy":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "cpu profiling already in use", 500) }, whittle.Unavailable, "already in use"},
		"other": {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }, whittle.Invalid, "profile"},
	} {
		srv := httptest.NewServer(c.serve)
		_, err := Run(t.Context(), parsed(t, fivePlan), Options{Target: "http://127.0.0.1:1", WatchURLs: []string{srv.URL + "/debug/pprof"}})
		if whittle.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		srv.Close()
	}
}

// A profile that fails now and then leaves a gap, which the others fill.
func TestGapsBetweenProfilesAreFilled(t *testing.T) {
	p := &profilePage{began: time.Now().Add(-4 * time.Second), sum: time.Second, profiled: 2 * time.Second, wall: 4 * time.Second}
	p.add(nil, context.DeadlineExceeded)
	if d, gone := p.used(); d != 2*time.Second || !gone {
		t.Errorf("%v, gone %v: half of the time was profiled, and cost a second", d, gone)
	}
	if note := p.note(); !strings.Contains(note, "of 100 samples: right to about 20 %") {
		t.Error(note)
	}
}

func TestWhichURLsAreProfiles(t *testing.T) {
	for u, want := range map[string]bool{
		"http://h:6060/debug/pprof": true, "http://h/debug/pprof/": true, "http://h/debug/pprof/profile?seconds=30": true,
		"http://h/metrics": false, "http://h/debug/pprofile": false, "http://h": false, "%": false,
	} {
		if IsProfileURL(u) != want {
			t.Errorf("%s: %v", u, !want)
		}
	}
}
