package measure

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	loaded "whittle/load/report"
	"whittle/profile"
	"whittle/profile/collect"
	"whittle/profile/guard"
)

// A profile of a part of the time had a part of its requests.
func TestPortion(t *testing.T) {
	all := map[string]int64{"POST /Count": 100, "GET /": 3}
	for _, c := range []struct {
		part time.Duration
		want map[string]int64
	}{
		{9 * time.Second, map[string]int64{"POST /Count": 90, "GET /": 3}},
		{5 * time.Second, map[string]int64{"POST /Count": 50, "GET /": 2}},
		{10 * time.Second, all},
		{11 * time.Second, all},
		{0, all},
	} {
		fatal.Same(t, portion(all, c.part, 10*time.Second), c.want, "%s of 10 s", c.part)
	}
}

func TestTheGuardTakesAgainWhatHasNoProfile(t *testing.T) {
	s, calls := &subject{target: "7", got: &Measured{}}, 0
	runs, err := guard.Take(1, func(int) (guard.Run, error) {
		if calls++; calls == 1 {
			return guard.Run{}, fmt.Errorf("measure: %w", s.loaded(&loaded.Report{}))
		}
		return guard.Run{Requests: 5}, nil
	})
	if err != nil || calls != 2 || len(runs) != 1 || runs[0].Requests != 5 {
		t.Errorf("after %d calls %+v, %v", calls, runs, err)
	}
	if said, ok := errors.AsType[*whittle.Error](s.loaded(&loaded.Report{})); !ok || said.Code != whittle.FailedPrecondition || said.Hint == "" {
		t.Errorf("it says %+v", said)
	}
}

// Of a cluster's first process, which serves nothing itself, the report says so.
func TestWhoServesForACluster(t *testing.T) {
	m := &Measured{
		Taken:   []*collect.Collected{{Profile: &profile.Profile{Kind: profile.CPU, Runtime: profile.Node}}},
		Workers: []int{11, 12, 13, 14, 15},
	}
	if all := m.Report().Warnings; !slices.ContainsFunc(all, func(w string) bool { return strings.Contains(w, "(11, 12, 13, 14, …)") }) {
		t.Errorf("it says %q", all)
	}
}

// What was measured is not thrown away where the inspector does not close, as with an event
// loop that is blocked for longer than anybody waits; and that it is open is said.
func TestAMeasurementIsKeptThoughItsInspectorStaysOpen(t *testing.T) {
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Functions: []profile.Function{{Name: "work"}}, Samples: []profile.Sample{{Stack: []profile.Frame{{}}, Value: 1}}}
	s := &subject{got: &Measured{Taken: []*collect.Collected{{Profile: p}}}}
	var err error
	if s.closed(errors.New("close inspector of a: it is still open"), &err); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(s.got.Report().Warnings, "\n"); !strings.Contains(all, "it is still open") {
		t.Errorf("warnings %q", all)
	}
	failed := errors.New("it ended")
	err = failed
	if s.closed(errors.New("still open"), &err); !errors.Is(err, failed) || !strings.Contains(err.Error(), "still open") {
		t.Errorf("%v", err)
	}
}

// What is saved of a Node process is read again with all of its endpoints and threads.
func TestANodeProfileIsReadAsItWasSaved(t *testing.T) {
	raw := []byte(`{"nodes":[
 {"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1},"children":[2,3,4]},
 {"id":2,"callFrame":{"functionName":"","scriptId":"7","url":"/none/app.js","lineNumber":2}},
 {"id":3,"callFrame":{"functionName":"next","url":"/srv/node_modules/express/index.js","lineNumber":2}},
 {"id":4,"callFrame":{"functionName":"(idle)","url":"","lineNumber":-1}}],
 "startTime":0,"endTime":6000,"samples":[2,2,4,3,2,3],"timeDeltas":[0,1000,1000,1000,1000,1000]}`)
	p, err := profile.ReadV8CPU(raw, time.Time{})
	fatal.If(t, err)
	p.LabelEndpoints(func(f *profile.Function) string {
		return map[string]string{"/none/app.js": "GET /"}[f.File]
	}, nil)
	p.FitTotal(5500 * time.Microsecond)
	p.AddOther("(other threads)", 7*time.Millisecond, 1)
	p.AddOther("worker: a.js", 2*time.Millisecond, 3)
	p.Samples[len(p.Samples)-1].Endpoint = "GET /"
	p.Requests = map[string]int64{"GET /": 3}
	folder := t.TempDir()
	m := &Measured{Taken: []*collect.Collected{{Profile: p, Raw: raw, Ext: ".cpuprofile"}}}
	fatal.If(t, m.Save(folder))
	got, err := ReadProfile(folder+"/cpu.cpuprofile", nil)
	fatal.If(t, err)
	if got.Total() != p.Total() || got.Functions[0].Name != "handler of GET /" {
		t.Errorf("%d ns, want %d; the handler is %q", got.Total(), p.Total(), got.Functions[0].Name)
	}
	want := p.ByEndpoint()
	for i, e := range got.ByEndpoint() {
		fatal.Same(t, e, want[i], "")
	}
}
