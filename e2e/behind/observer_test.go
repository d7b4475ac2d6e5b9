package behind

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	core "whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
)

const (
	observedRoute  = sinkRoute + "    rollout: {sticky_by: \"cookie:session\"}\n"
	testedObserver = testedSink + "    rollout: {steps: [50, 100], sticky_by: \"header:X-User\"}\n    guard: {p99: off} # a machine that is busy with other tests would decide it\n"
	byFlaw         = "GET /odd/{id}"
	byFailure      = "GET /broken/{id}"
)

// observer is an Envoy whose ext_proc filter tells whittle what goes by.
var observer = fronts[2].copying("envoy-ext-proc", [2]string{"{prefix: /items/}", `{safe_regex: {regex: "/(items|odd|broken)/.*"}}`})

// TestObserver holds what the example of ext_proc promises. Envoy has half of the users on the
// candidate, and whittle is told so. Verdict, harm budget, guards and breaker are those of a
// gateway, the ledger adds up, and whatever whittle does fails no user.
func TestObserver(t *testing.T) {
	f := observer
	w := beginAtProxy(t, f, observedRoute, testedObserver, byFlaw, byFailure)
	f.more = append([][2]string{{"{address: 127.0.0.1, port_value: 3001}", written("{address: %h, port_value: %p}", w.candidate.address)}}, f.more...)
	d := w.spawn(t, t, f)
	c, err := admin.Dial(w.whittle.Admin, "")
	fatal.If(t, err)
	defer c.Close()
	w.promote(t, byCookie, byFlaw, byFailure)
	u := d.user("observed")
	defer u.transport.CloseIdleConnections()
	n, sides := 0, map[string]int{}
	asks := func(paths ...string) {
		for range 50 {
			n++
			for _, path := range paths {
				a := u.ask(http.MethodGet, fmt.Sprintf("%s%d", path, n), "X-User", fmt.Sprintf("user-%d", n), "X-Show", "identity")
				if a.status == 0 || a.way != "straight" { // what the flawed one says is no error of the proxy
					t.Fatalf("%+v\n%s", a, d.Tail())
				}
				sides[a.side]++
			}
		}
	}
	process.Await(t, "a verdict of both, and a breaker that trips", func() (bool, string) {
		asks("/items/", "/odd/", "/broken/")
		equal, odd, broken := status(t, c, byCookie), status(t, c, byFlaw), status(t, c, byFailure)
		return equal.Verdict.State == core.Equivalent && odd.Phase == core.PhaseRolledBack && broken.Phase == core.PhaseRolledBack && equal.Withheld == "",
			equal.Verdict.Summary + "; " + equal.Ledger.Account() + "; " + equal.Withheld + "\n" + odd.Next + "\n" + broken.Next
	})
	fatal.Same(t, len(sides), 2, "served by %v", sides)
	odd, broken := status(t, c, byFlaw), status(t, c, byFailure)
	if odd.Verdict.State != core.Different || !strings.Contains(broken.Timeline[len(broken.Timeline)-1].Reason, "breaker tripped: 5 bad responses of the candidate in a row") {
		t.Errorf("%s\n%+v", odd.Verdict.Summary, broken.Timeline)
	}
	s := status(t, c, byCookie)
	if s.Share != 5000 || !strings.Contains(s.Holds, "Verdict, harm budget and guards hold") || s.Harm.Budget == 0 {
		t.Errorf("%+v", s)
	}
	if _, err := c.Order(t.Context(), byCookie, rollout.Order{Kind: rollout.Promote}); err != nil {
		t.Errorf("the harm budget is earned, but: %v", err)
	}
	process.Await(t, "the ledger to be at rest", func() (bool, string) {
		l := status(t, c, byCookie).Ledger
		return l.Pending == 0 && l.Total == int64(n) && l.Total == l.Sum(), l.Account()
	})
	w.lost(t, c, d)
	h := w.candidate.head("identity")
	if h.Get("Host") != "shop.example" || h.Get("X-Forwarded-Proto") != "https" || !strings.Contains(h.Get("X-Forwarded-For"), clientAddress) {
		t.Errorf("the candidate was told %v", h)
	}
	w.unnoticed(t, d, "envoy's ext_proc")
}

// TestObserverSteers holds that an observed route climbs by itself within its harm budget where
// whittle tells Envoy the share.
func TestObserverSteers(t *testing.T) {
	at, err := child.Addresses(1)
	fatal.If(t, err)
	f := observer
	w := beginAtProxy(t, f, observedRoute, testedSink+`    rollout: {steps: [50, 100], hold: 0s, soak: 0s, min_requests: 10}
    guard: {p99: off}
    steer: {every: 1s, envoy: {admin: ["http://`+at[0]+`"], candidate: routing.items.items-candidate, monolith: routing.items.monolith}}
`)
	f.more = append([][2]string{
		{"{address: 127.0.0.1, port_value: 3001}", written("{address: %h, port_value: %p}", w.candidate.address)},
		{"static_resources:", written(`admin: {address: {socket_address: {address: %h, port_value: %p}}}
layered_runtime: {layers: [{name: begin, static_layer: {routing.items.items-candidate: 0, routing.items.monolith: 10000}}, {name: whittle, admin_layer: {}}]}
static_resources:`, at[0])},
		{"weighted_clusters:", "weighted_clusters:\n                              runtime_key_prefix: routing.items"},
		{"{name: monolith, weight: 50}", "{name: monolith, weight: 10000}"},
		{"{name: items-candidate, weight: 50}", "{name: items-candidate, weight: 0}"},
	}, f.more...)
	d := w.spawn(t, t, f)
	c, err := admin.Dial(w.whittle.Admin, "")
	fatal.If(t, err)
	defer c.Close()
	u := d.user("steered")
	defer u.transport.CloseIdleConnections()
	n := 0
	process.Await(t, "all users to be on the candidate", func() (bool, string) {
		last := ""
		for range 50 {
			n++
			a := u.ask(http.MethodGet, fmt.Sprintf("/items/%d", n))
			if a.err != nil {
				t.Fatalf("%+v\n%s", a, d.Tail())
			}
			last = a.side
		}
		s := status(t, c, byCookie)
		return s.Phase == core.PhaseLive && s.Share == core.All && last == "candidate" && s.Harm.Budget > 0,
			fmt.Sprintf("%s, %v, %s; %s; %s", s.Phase, s.Percent, s.Next, s.Verdict.Summary, s.Harm.Summary)
	})
}

// lost holds that a request whose response never came is unknown, and that the ledger adds up.
func (w *world) lost(t *testing.T, c *admin.Client, d *door) {
	t.Helper()
	before := status(t, c, byCookie).Ledger
	goes := d.user("lost")
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+d.address+"/items/hang", http.NoBody)
	fatal.If(t, err)
	go func() {
		resp, err := goes.transport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		gone <- err
	}()
	process.Await(t, "whittle to hear of the request", func() (bool, string) {
		l := status(t, c, byCookie).Ledger
		return l.Total == before.Total+1, l.Account()
	})
	cancel()
	if err := <-gone; err == nil {
		t.Error("it got a response")
	}
	process.Await(t, "the request to be unknown", func() (bool, string) {
		l := status(t, c, byCookie).Ledger
		return l.Skipped[core.SkipUnknown] == before.Skipped[core.SkipUnknown]+1 && l.Pending == 0 && l.Total == l.Sum(), l.Account()
	})
}
