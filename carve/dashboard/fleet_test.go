package dashboard_test

import (
	"testing"

	"whittle"
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
