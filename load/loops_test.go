//go:build linux

package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/internal/rawtest"
	"whittle/load/plan"
	"whittle/load/report"
)

func TestLoopsByLoad(t *testing.T) {
	for _, c := range []struct {
		plan string
		want int
	}{
		{"config: {phases: [{duration: 1, arrivalRate: 10}]}\nscenarios: [{flow: [{get: {url: /}}]}]", 1},
		{"config: {phases: [{duration: 1, arrivalRate: 14999}]}\nscenarios: [{flow: [{get: {url: /}}]}]", 1},
		{"config: {phases: [{duration: 1, arrivalRate: 1, rampTo: 31000}]}\nscenarios: [{flow: [{get: {url: /}}]}]", 3},
		{"config: {phases: [{duration: 2, arrivalCount: 40000}]}\nscenarios: [{flow: [{get: {url: /}}]}]", 2},
		{"config: {phases: [{duration: 1, arrivalRate: 1000}]}\nscenarios: [{flow: [{loop: [{get: {url: /}}, {get: {url: /a}}], count: 10}]}]", 2},
	} {
		fatal.Same(t, loopsFor(parsed(t, c.plan), plan.Part{}), c.want, "event loops: %s", c.plan)
	}
	reads := parsed(t, "config: {phases: [{duration: 1, arrivalRate: 1}]}\nscenarios: [{flow: [{get: {url: /, capture: {json: $.a, as: a}}}]}]")
	if got := loopsFor(reads, plan.Part{}); got < 1000 {
		t.Errorf("%d event loops for a plan that reads bodies, want as many as there are cores", got)
	}
	closed, err := parsed(t, "scenarios: [{flow: [{get: {url: /}}]}]").WithUsers(plan.Closed{Users: 130})
	fatal.If(t, err)
	fatal.Same(t, loopsFor(closed, plan.Part{}), 3, "event loops for 130 users")
}

// TestTLSBesideALane sends over both from one flow: what an event loop cannot do goes
// on away from it, and the user's next step finds it done.
func TestTLSOutsideALoop(t *testing.T) {
	response := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }
	plain, secure := serving(t, response), httptest.NewTLSServer(http.HandlerFunc(response))
	defer secure.Close()
	for _, pool := range []int{0, 3} {
		p := parsed(t, fmt.Sprintf(`
config: {phases: [{duration: 0.2, arrivalCount: 40}], tls: {rejectUnauthorized: false}}
scenarios: [{flow: [{get: {url: /a}}, {get: {url: "%s/b"}}, {get: {url: /c}}]}]`, secure.URL))
		r := run(t, p, Options{Target: plain, Pool: pool})
		if r.Completed != 120 || r.Failed != 0 {
			t.Errorf("pool %d: %d completed, %d failed %v; want 120 and none", pool, r.Completed, r.Failed, r.Errors)
		}
	}
}

// TestANameIsLookedUpBesideALane goes by a name, whose look-up would block.
func TestANameIsLookedUpOutsideALoop(t *testing.T) {
	srv := serving(t, func(http.ResponseWriter, *http.Request) {})
	p := parsed(t, "config: {phases: [{duration: 0.2, arrivalCount: 50}]}\nscenarios: [{flow: [{get: {url: /}}]}]")
	r := run(t, p, Options{Target: strings.Replace(srv, "127.0.0.1", "localhost", 1)})
	fatal.Same(t, r.Completed, 50, "completed; %v", r.Errors)
}

// TestALaneCutsWhatStands ends a run whose users wait for responses, for a
// connection of the pool, and for the end of a think time.
func TestALoopCutsWhatStands(t *testing.T) {
	t.Parallel()
	target := rawtest.Serve(t, func(c net.Conn, _ int) { _, _ = io.Copy(io.Discard, c) })
	ctx, cancel := context.WithCancel(t.Context())
	p := parsed(t, `
config: {phases: [{duration: 0.1, arrivalCount: 12}, {pause: 60}], http: {timeout: 60, pool: 2}}
scenarios: [{flow: [{think: 1ms}, {get: {url: /}}]}, {flow: [{think: 600}]}]`)
	r, err := Run(ctx, p, Options{Target: target, Seed: 4, Grace: -1, OnProgress: func(p report.Progress) {
		if p.InFlight == 12 {
			cancel()
		}
	}})
	fatal.If(t, err)
	if !r.Early || r.Completed != 0 || r.Failed != 0 || r.Users.Finished != 12 {
		t.Errorf("early %v, %d completed, %d failed, %d users finished; want early, none, none, all 12", r.Early, r.Completed, r.Failed, r.Users.Finished)
	}
	if r.Unfinished == 0 {
		t.Error("no request was under way")
	}
}
