package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle/cmdline"
	"whittle/internal/fatal"
	"whittle/load"
	"whittle/load/plan"
	"whittle/profile"
	"whittle/profile/measure"
	"whittle/profile/rank"
)

// threeServices are processes of one service, with 20 requests each while they are profiled.
// The first one's page has what all of them answered, where they share it.
func threeServices(t *testing.T, share bool) (targets []string, page *goService) {
	t.Helper()
	for range 3 {
		s := startGoService(t)
		if page == nil {
			page = s
		}
		if share {
			s.page = page
		}
		s.others.Store(20)
		targets = append(targets, s.URL)
	}
	return targets, page
}

// A page that was given counts the requests of all processes, once. The page at each process's
// pprof port counts that process's.
func TestFindCountsEachRequestOnce(t *testing.T) {
	for _, share := range []bool{true, false} {
		targets, page := threeServices(t, share)
		kept := filepath.Join(t.TempDir(), "find.json")
		args := append([]string{"find", "--duration", "1s", "--json", kept}, targets...)
		if share {
			args = append(args, "--metrics", page.URL+"/metrics")
		}
		if status, out, errs := whittleOnce(t, args...); status != 0 {
			t.Fatalf("status %d: %s%s", status, out, errs)
		}
		if r := fatal.JSON[rank.Ranking](t, kept); len(r.Endpoints) != 1 || r.Endpoints[0].Requests != 60 {
			t.Errorf("a page for all is %v: 60 requests became %+v", share, r.Endpoints)
		}
		if n := page.read.Load(); share && n != 2 {
			t.Errorf("the page was read %d times, where twice is enough", n)
		}
	}
}

// The CPU time that such a page tells is counted once, too.
func TestAPlanWatchesOnePageOnce(t *testing.T) {
	targets, page := threeServices(t, true)
	under, err := load.Parse("plan.yml", []byte(`{config: {target: "`+page.URL+`", phases: [{duration: 0.4, arrivalRate: 50}]}, scenarios: [{flow: [{get: {url: /work}}]}]}`), plan.Source{})
	fatal.If(t, err)
	m := measure.Settings{Metrics: page.URL + "/metrics", MaxLate: time.Minute}
	all, err := m.MeasureAll(t.Context(), targets, []profile.Kind{profile.CPU}, under, cmdline.NewScreen(cmdline.Streams{Out: new(strings.Builder)}).Progress)
	fatal.If(t, err)
	for _, got := range all {
		var watched []string
		for _, p := range got.Load.Processes {
			watched = append(watched, p.Name)
		}
		if !slices.Equal(watched, []string{page.URL + "/metrics"}) {
			t.Errorf("watched %q", watched)
		}
	}
	if r := rank.Endpoints(all); len(r.Endpoints) != 1 || r.Endpoints[0].Requests > 20 {
		text, _ := json.Marshal(r.Endpoints)
		t.Errorf("20 requests became %s", text)
	}
}

// find names an endpoint only where the CPU of no known request, given whole to
// any other endpoint, would not put that one ahead; else it says so, and what to
// do, in words and as JSON.
func TestFindAdvisesNothingThatTheUnknownPartCouldOverturn(t *testing.T) {
	for name, c := range map[string]struct {
		cost, rest, unlabelled int64 // samples are 1 of GET /work where cost is above 0
		status                 int
		words, reason          string
	}{
		"most is unknown":    {1, 3, 26, 1, "No advice: ", "87 % of the CPU belongs to no request that is known, which is more than the 6.7 % by which GET /idle leads GET /work"},
		"more than the lead": {1, 3, 3, 1, "No advice: ", "43 % of the CPU belongs to no request that is known, which is more than the 28.6 %"},
		"no more than that":  {1, 3, 2, 0, "Carve GET /idle first: 50 % of CPU.", ""},
		"one endpoint":       {1, 0, 2, 1, "No advice: ", "67 % of the CPU belongs to no request that is known, and only 33 % to GET /work"},
		"no endpoint":        {0, 0, 2, 1, "No advice: ", "100 % of the CPU belongs to no request that is known, and none to any endpoint"},
		"nothing at work":    {0, 0, 0, 1, "", "no endpoint was seen at work"},
	} {
		s := startGoService(t)
		s.cost.Store(c.cost)
		s.rest.Store(c.rest)
		s.unlabelled.Store(c.unlabelled)
		kept := filepath.Join(t.TempDir(), "find.json")
		status, out, errs := whittleOnce(t, "find", "--duration", "1s", "--json", kept, s.URL)
		if status != c.status || !strings.Contains(out, c.words) || !strings.Contains(errs, c.reason) {
			t.Errorf("%s: status %d\n%s%s", name, status, out, errs)
		}
		r := fatal.JSON[rank.Ranking](t, kept)
		if (r.Advice == "") != (c.status != 0) || !strings.Contains(r.NoAdvice, c.reason) || (r.Missing == "") != (c.status == 0) {
			t.Errorf("%s: the JSON says %q, %q, %q", name, r.Advice, r.NoAdvice, r.Missing)
		}
		if c.status == 1 && c.unlabelled > 0 && (!strings.Contains(errs, "pprof.Labels") || !strings.Contains(r.Missing, "pprof.Labels")) {
			t.Errorf("%s: nothing says what to do: %s", name, errs)
		}
		if unknown := "(no request that is known)"; c.unlabelled > 0 && !strings.Contains(out, unknown) {
			t.Errorf("%s: what is unknown has no row:\n%s", name, out)
		}
	}
}

func whittleOnce(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	return whittleUntil(t.Context(), args...)
}

// whittleUntil runs whittle in this process, until its context ends at the latest.
func whittleUntil(ctx context.Context, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = Run(ctx, args, cmdline.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return status, o.String(), e.String()
}
