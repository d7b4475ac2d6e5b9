package dashboard_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/dashboard/dashboardtest"
	"whittle/carve/rollout"
)

const (
	rows    = `document.querySelectorAll('.routes tbody tr').length`
	live    = `document.querySelector('.link.live')`
	counted = "POST%20%2FCount"
)

func open(t *testing.T, g *world, place string) *dashboardtest.Tab {
	t.Helper()
	b := dashboardtest.Open(t)
	b.Go(g.url + place)
	return b
}

func TestFiveHundredRoutes(t *testing.T) {
	g := serve(t, many(500))
	b := open(t, g, "")
	b.Until(rows + ` === 500`)
	b.Until(live)
	if first := b.JS(`document.querySelector('.routes tbody .verdict').textContent`); !strings.Contains(first, "DIFFERENT") {
		t.Errorf("the first route is not one that needs a look: %s", first)
	}
	b.Type("[name=search]", "things/12 get")
	b.Until(rows + ` === 10`)
	b.JS(`document.querySelector('[name=search]').select()`)
	b.Key("\b")
	b.Until(rows + ` === 500`)
	b.Click(".chip", "Live")
	b.Until(rows + ` === 50`)
	b.Until(`[...document.querySelectorAll('.routes .phase')].every(e => e.textContent === 'Live')`)
	b.Type("[name=search]", "nothing has this name")
	b.UntilText("No route fits")
	b.Click("button", "Show all 500 routes")
	b.Until(rows + ` === 500`)

	b.Click("button.head", "Requests/s")
	b.Until(`document.querySelector('[aria-sort=descending]')?.textContent.startsWith('Requests')`)
	b.Until(`document.querySelector('.routes tbody .name a').textContent.includes('things/499/')`)
	b.Click("button.head", "Requests/s")
	b.Until(`document.querySelector('[aria-sort=ascending]')?.textContent.startsWith('Requests')`)
	b.JS(`(() => { const s = document.querySelector('[name=sort]'); s.value = 'name'; s.dispatchEvent(new Event('change', {bubbles: true})); })()`)
	b.Until(`document.querySelector('.routes tbody .name a').textContent.includes('things/000/')`)

	// A change of one route is shown and said, and draws no other row anew.
	b.JS(`(() => {
		window.drawn = 0;
		new MutationObserver(list => { for (const m of list) if (m.target.nodeType !== 3 || m.target.parentElement?.closest('.routes')) window.drawn++; })
			.observe(document.querySelector('.routes'), {subtree: true, childList: true, characterData: true, attributes: true});
	})()`)
	g.set(func() {
		g.routes[3].Verdict.State, g.routes[3].Share, g.routes[3].Phase = whittle.Equivalent, 100, whittle.PhaseShift
	})
	b.Until(`document.querySelectorAll('.routes tbody tr')[3].textContent.includes('EQUIVALENT')`)
	b.Until(`document.getElementById('news').textContent.includes('things/003/{id}: verdict EQUIVALENT, it was UNDECIDED')`)
	// (one row has some 30 places; 500 rows would be thousands)
	if n, err := strconv.Atoi(b.JS(`window.drawn`)); err != nil || n > 60 {
		t.Errorf("one change touched %d nodes of the table", n)
	}
	g.set(func() {
		for i := range g.routes {
			g.routes[i].Monolith.PerSecond = 77
		}
	})
	b.Until(`[...document.querySelectorAll('.routes td.requests.first-of-two')].every(e => e.textContent === '77')`)
	b.Clean(g.url)
}

func TestARoute(t *testing.T) {
	g := serve(t, []whittle.RouteStatus{shifting("POST /Count"), idleRoute("GET /quiet")})
	b := open(t, g, "")
	b.Click(".name a", "POST /Count")
	b.Until(`document.querySelectorAll('.uplot').length === 8`)
	if got := b.JS(`location.hash + ' ' + document.activeElement.tagName + ' ' + document.title`); got != "#/route/"+counted+" H1 25 % EQUIVALENT POST /Count – whittle" {
		t.Errorf("the route's place, focus and title: %s", got)
	}
	for _, text := range []string{
		"25 % → 50 % in 12s at the earliest", "No difference was found in 1,812 exchanges", "✓ inside the margin",
		"evidence 96 of 300", "adds up", "5 % → 25 %", "1 % was held for 30s", "by whittle",
	} {
		b.UntilText(text)
	}
	// Times are of the viewer's zone, the exact one is at hand.
	got := b.JS(`(e => e.dateTime + ' ' + e.textContent + ' ' + e.title)(document.querySelector('.stand time'))`)
	if !strings.HasPrefix(got, "2026-05-04T12:00:00.000Z May 4, 14:00:00 ") || !strings.Contains(got, "14:00:00.000 GMT+2") {
		t.Errorf("a time reads %s", got)
	}
	b.Click(".segments label", "Exchanges")
	b.Until(`document.querySelector('.segments input[value=compared]').checked && document.querySelectorAll('.bound .uplot').length === 4`)
	b.Click(".bound summary", "Figures")
	b.Until(`document.querySelectorAll('.bound details[open] tbody tr').length === 12`)
	if got := b.JS(`document.querySelector('.bound [role=img]').getAttribute('aria-label')`); !strings.Contains(got, "narrowed from") || !strings.Contains(got, "over 1,812 exchanges") {
		t.Errorf("the plot in words: %s", got)
	}
	b.Click(".timeline button", "Show all 8 decisions")
	b.Until(`document.querySelectorAll('.timeline li').length === 8`)

	// The monolith comes first everywhere.
	if got := b.JS(`[...document.querySelectorAll('tr, .facts, .texts')].every(row => {
		const sides = [...row.querySelectorAll('.side')].map(s => s.classList.contains('monolith'));
		return sides.length < 2 || sides[0] && !sides[1];
	})`); got != "true" {
		t.Error("somewhere the candidate is before the monolith")
	}

	g.set(func() {
		g.routes[0].Share, g.routes[0].Percent, g.routes[0].Ledger.Compared = 5000, 50, 1814
		g.routes[0].Ledger.Pending = 0
	})
	b.UntilText("1,814")
	b.Until(`document.querySelector('.stand .large + .meter').previousElementSibling.textContent.startsWith('50')`)
	g.set(func() { g.routes[0].Ledger.Total++ })
	b.UntilText("The parts add up to 2,411, not to 2,412.")

	b.Go(g.url + "#/route/GET%20%2Fquiet")
	for _, text := range []string{
		"nothing has been compared yet", "Guards watch while the candidate serves users.", "No request of this route has come yet.",
		"Nothing has been compared yet.", "No user’s request came", "Nothing has been decided yet",
	} {
		b.UntilText(text)
	}
	b.Expect("404 (Not Found)")
	b.Go(g.url + "#/route/GET%20%2Fnowhere")
	b.UntilText("There is no such route.")
	g.set(func() { g.routes = nil })
	b.Go(g.url + "#/")
	b.UntilText("No route has a candidate yet.")
	b.Clean(g.url)
}

func TestTenThousandFindings(t *testing.T) {
	s := different("POST /Count")
	samples := s.Verdict.Findings
	for i := range 10_000 {
		f := samples[3]
		f.Path = fmt.Sprintf("$.items[%d].price", i)
		f.Summary = f.Path + " has another value"
		if i%100 == 7 {
			f.Kind, f.Path, f.Expected = whittle.FoundStatus, "", "known"
			f.Summary = "status 201 instead of 200"
		}
		s.Verdict.Findings = append(s.Verdict.Findings, f)
	}
	s.Guards = nil
	shown := 0
	for i := range s.Verdict.Findings {
		if f := &s.Verdict.Findings[i]; f.Decided && f.Expected == "" {
			shown++
		}
	}
	g := serve(t, []whittle.RouteStatus{s})
	b := open(t, g, "")
	b.UntilText(fmt.Sprintf("9,%03d findings", shown-9000))
	b.Go(g.url + "#/route/" + counted)
	list := `document.querySelectorAll('.finding').length`
	b.UntilText("1–20 of 10,005")
	b.Until(list + ` === 20`)
	b.Click(".pager button", "Next")
	b.UntilText("21–40 of 10,005")
	b.Click(".pager button", "»")
	b.UntilText("10,001–10,005 of 10,005")
	b.Until(list + ` === 5`)
	b.Until(`document.querySelector('.pager button:last-child').disabled`)
	b.Click(".pager button", "Previous")
	b.UntilText("9,981–10,000 of 10,005")
	b.Click(".pager button", "«")
	b.UntilText("1–20 of 10,005")

	b.JS(`(() => { const s = document.querySelector('[name=kind]'); s.value = 'status'; s.dispatchEvent(new Event('change', {bubbles: true})); })()`)
	b.UntilText("1–20 of 101")
	b.JS(`(() => { const s = document.querySelector('[name=expected]'); s.value = 'false'; s.dispatchEvent(new Event('change', {bubbles: true})); })()`)
	b.UntilText("status 500 instead of 200 in 3 of 318")
	b.Until(list + ` === 1`)
	b.JS(`(() => { const s = document.querySelector('[name=kind]'); s.value = ''; s.dispatchEvent(new Event('change', {bubbles: true})); })()`)
	b.Type("[name=q]", "items[4321]")
	b.Until(list + ` === 1`)
	b.UntilText("$.items[4321].price has another value")
	b.Click(".finding summary", "")
	b.Until(`document.querySelectorAll('.diff tr.changed').length === 1 && document.querySelectorAll('.diff tr.extra').length === 2`)
	if got := b.JS(`[...document.querySelector('.diff tr.changed').cells].map(c => c.textContent).join('|')`); got != `≠differs: "price": 9.90|≠differs: "price": "9.90"` {
		t.Errorf("the differing field is marked as %s", got)
	}
	b.Type("[name=q]", " and no such thing")
	b.UntilText("No finding matches these filters.")
	b.Clean(g.url)
}

// TestAcceptedAsIntended pastes what the dialog gives into a config.
func TestAcceptedAsIntended(t *testing.T) {
	s := different("POST /Count")
	s.Verdict.Findings[3].Candidate = "\"it's \\\"9.90\\\": # {no}\u2028\""
	g := serve(t, []whittle.RouteStatus{s})
	b := open(t, g, "#/route/"+counted)
	for i, want := range []whittle.Expectation{
		{Kind: "wrong_value", Path: "times = 60000000", Reason: "why it is intended"},
		{Kind: "mean", Reason: "why it is intended"},
		{Kind: "status", From: "200", To: "500", Reason: "why it is intended"},
		{Kind: "field", Path: "$.items[*].price", From: "9.90", To: s.Verdict.Findings[3].Candidate, Reason: `prices are "text" now: # yes`},
	} {
		at := fmt.Sprintf(".finding:nth-child(%d) ", i+1)
		b.Click(at+"summary", "")
		b.Click(at+"button", "Accept")
		b.Until(`document.querySelector('dialog[open]')`)
		if want.Kind == whittle.FoundField {
			for _, part := range []string{"Only where the monolith", "Only where the candidate"} {
				b.Click("dialog label", part)
			}
			b.Type("dialog input:not([type=checkbox])", want.Reason)
			b.Until(`document.querySelector('.yaml').textContent.includes('prices')`)
		}
		if want.Kind == whittle.FoundMean {
			b.UntilText("This accepts every finding of the kind mean")
		}
		pasted := b.JS(`document.querySelector('dialog .yaml').textContent`)
		kind := "statistical"
		if want.Kind == whittle.FoundField {
			kind = "json"
		}
		src := "monolith: http://127.0.0.1:1\nroutes:\n  - match: POST /Count\n    safe: true\n    candidate: http://127.0.0.1:2\n    " +
			strings.ReplaceAll(strings.Replace(pasted, "compare:\n", "compare:\n  kind: "+kind+"\n", 1), "\n", "\n    ") + "\n"
		file, err := config.Parse("whittle.yaml", []byte(src), nil)
		if err != nil {
			t.Fatalf("the config refuses what was pasted: %v\n%s", err, src)
		}
		if got := file.Routes[0].Compare.Expect; len(got) != 1 || got[0] != want {
			t.Errorf("the config reads %+v, not %+v, from\n%s", got, want, pasted)
		}
		b.Click("dialog button", "Copy the line")
		b.Until(`/Copied|Selected/.test(document.querySelector('dialog .copy').textContent)`)
		b.Click("dialog button", "Done")
		b.Until(`!document.querySelector('dialog')`)
	}
	b.Clean(g.url)
}

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
	r.Guards[2].Candidate, r.Guards[2].EValue, r.Guards[2].Count = 0.05, 0.49, 1
	r.Guards = append(r.Guards, whittle.Meter{Name: "query depth", Candidate: 12, Limit: 1000, Count: 4, Summary: "candidate 12, at most 1,000"})
	g := serve(t, []whittle.RouteStatus{r})
	b := open(t, g, "#/route/"+counted)
	b.UntilText("before the next step, asked 3 times since ")
	b.UntilText(`last response 503 "<b>tests</b> are running"`)
	b.UntilText("needs approval")
	b.UntilText("A limit rule: no error rate is claimed.")
	b.UntilText("above, not proven")
	b.UntilText("1 response")
	b.UntilText("are missing: whittle did not run, or ended before it had saved their counts.")
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
