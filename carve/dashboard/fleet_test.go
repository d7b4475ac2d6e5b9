package dashboard_test

import (
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

// TestAFleet: the gateways of a fleet are listed, what is wrong is said, and a gateway that
// is alone shows nothing of it.
func TestAFleet(t *testing.T) {
	alone := serve(t, many(2))
	b := open(t, alone, "")
	b.Until(live)
	if b.JS(`document.querySelector('.fleet') === null`) != "true" {
		t.Error("a gateway that is alone shows a fleet")
	}
	b.Clean(alone.url)

	g := &world{routes: many(2)}
	serveWith(t, g, func() (f *whittle.FleetStatus) {
		g.set(func() { now := g.fleet; f = &now })
		return f
	})
	f := whittle.FleetStatus{Name: "shop", Member: "a", Leader: "b", Connected: true, Wrong: []string{}}
	for _, name := range []string{"a", "b", "c"} {
		f.Members = append(f.Members, whittle.FleetMember{
			Name: name, Version: "whittle 1.2.3", Leads: name == "b", Alive: true, Connected: true, Silent: 0.4,
			Routes: []whittle.FleetMemberRoute{{Route: "GET /a", Share: 500, Requests: 1200}, {Route: "GET /b", Requests: 34}},
		})
	}
	g.set(func() { g.fleet = f })
	b = open(t, g, "")
	b.UntilText("Fleet shop: 3 gateways, b leads; this is a")
	b.Click(".fleet summary", "Fleet shop")
	b.Until(`document.querySelectorAll('.fleet tbody tr').length === 3`)
	b.Until(`document.querySelector('.fleet tbody tr').textContent.includes('1,234')`)
	g.set(func() {
		lost := f
		lost.Members = append([]whittle.FleetMember{}, f.Members...)
		lost.Members[2].Alive, lost.Members[2].Silent = false, 61
		lost.Wrong = []string{"c has not reported for 1m1s."}
		g.fleet = lost
	})
	b.UntilText("c has not reported for 1m1s.")
	b.Until(`document.querySelector('.fleet tbody tr').textContent.includes('silent')`) // what needs a look comes first
	b.Clean(g.url)
}

// TestProxies: a share that is under way is said so, and which proxy has not confirmed it.
func TestProxies(t *testing.T) {
	r := shifting("POST /Count")
	r.Steer = &whittle.SteerStatus{By: "haproxy", Share: 2500, UnderWay: "rise to 25 %", Proxies: []whittle.SteerInstance{
		{Name: "10.0.0.1:9999", Share: 2500, Read: time.Now(), Confirmed: true},
		{Name: "10.0.0.2:9999", Trouble: "<b>connection</b> refused"},
	}}
	g := serve(t, []whittle.RouteStatus{r})
	b := open(t, g, "")
	b.UntilText("rise to 25 % under way")
	b = open(t, g, "#/route/"+counted)
	b.UntilText("rise to 25 % under way")
	b.UntilText("Share at the proxy")
	b.UntilText("its share is not known yet: <b>connection</b> refused")
	b.Clean(g.url)
}

// TestGatesAndQueries: a gate's wait and a limit rule are shown, and what waits for an
// approval can be approved.
func TestGatesAndQueries(t *testing.T) {
	r := shifting("POST /Count")
	r.Gates = []whittle.GateStatus{
		{Name: "ci", Before: whittle.GateStep, Since: time.Now().Add(-time.Minute), Asked: 3, Last: `last response 503 "<b>tests</b> are running"`},
		{Name: "board", Before: whittle.GateStep, ByHand: true},
	}
	r.Guards = append(r.Guards, whittle.Meter{Name: "query depth", Candidate: 12, Limit: 1000, Count: 4, Summary: "candidate 12, at most 1,000"})
	g := serve(t, []whittle.RouteStatus{r})
	b := open(t, g, "#/route/"+counted)
	b.UntilText("before the next step, asked 3 times since ")
	b.UntilText(`last response 503 "<b>tests</b> are running"`)
	b.UntilText("needs approval")
	b.UntilText("A limit rule: no error rate is claimed.")
	b.Click("[data-verb=approve]", "Approve")
	b.UntilText("Opens for the next step: gate board.")
	b.Type("dialog [name=reason]", "board of Monday")
	b.Click("dialog form button:not([type])", "Approve")
	b.Until(`!document.querySelector('dialog')`)
	given := g.given()
	if want := (order{"POST /Count", rollout.Order{Kind: rollout.Approve, Reason: "board of Monday", By: "somebody"}}); len(given) != 1 || given[0].Kind != want.Kind || given[0].Reason != want.Reason {
		t.Errorf("the orders were %+v, not %+v", given, want)
	}
	b.Clean(g.url)
}
