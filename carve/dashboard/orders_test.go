package dashboard_test

import (
	"strings"
	"testing"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

const dialog = `document.querySelector('dialog[open]')`

func TestEveryOrder(t *testing.T) {
	g := serve(t, []whittle.RouteStatus{shifting("POST /Count")})
	b := open(t, g, "#/route/"+counted)
	for i, c := range []struct {
		verb    rollout.Kind
		confirm string
		shows   string
		to      whittle.Share // the step that was looked at
	}{
		{rollout.Hold, "Hold", "held", 0},
		{rollout.Resume, "Resume", "Resumed", 0},
		{rollout.Promote, "Promote", "50 %", 5000},
		{rollout.Rollback, "Roll back", "Rolled back", 0},
		{rollout.Reset, "Reset evidence", "UNDECIDED", 0},
		{rollout.Off, "Switch off", "Switched off", 0},
		{rollout.Promote, "Switch on", "Shifting", 0},
	} {
		b.Click("[data-verb="+string(c.verb)+"]", c.confirm)
		b.Until(dialog + `.contains(document.activeElement) && document.activeElement.name === 'reason'`)
		b.Type("dialog [name=reason]", "because of "+string(c.verb))
		if i == 0 {
			b.Type("dialog [name=by]", "ann")
		}
		b.Click("dialog form button:not([type])", c.confirm)
		b.Until(`!document.querySelector('dialog')`)
		b.UntilText(c.shows)
		b.UntilText(strings.ToUpper(string(c.verb)) + ": because of " + string(c.verb))
		given := g.given()
		if len(given) != i+1 {
			t.Fatalf("%d orders came of %d", len(given), i+1)
		}
		want := order{"POST /Count", rollout.Order{Kind: c.verb, Reason: "because of " + string(c.verb), By: "ann", To: c.to}}
		fatal.Same(t, given[i], want, "the order was")
		b.Until(`document.activeElement?.dataset.verb || document.activeElement === document.body`) // an order may take its button away
	}
	b.Clean(g.url)
}

func TestAnOrderThatIsNotGiven(t *testing.T) {
	undecided := shifting("POST /Count")
	undecided.Verdict.State = whittle.Undecided
	g := serve(t, []whittle.RouteStatus{undecided, different("GET /bad")})
	b := open(t, g, "#/route/"+counted)

	// Esc closes, and the focus goes back.
	b.Click("[data-verb=rollback]", "")
	b.Until(dialog)
	b.Key("\u001b")
	b.Until(`!document.querySelector('dialog') && document.activeElement.dataset.verb === 'rollback'`)

	// A forced promotion says so, and needs its reason.
	b.Click("[data-verb=promote]", "")
	confirm := func() { b.Click("dialog form button:not([type])", "Promote") }
	b.UntilText("Force it: the verdict is still UNDECIDED.")
	confirm()
	b.Click("dialog [name=force]", "")
	confirm()
	b.Until(dialog + ` && document.querySelector('dialog [name=reason]').matches(':invalid')`)
	if n := len(g.given()); n != 0 {
		t.Fatalf("%d orders were sent without a reason", n)
	}
	g.set(func() { g.refuse = "no promotion: <b>the</b> route is closed" })
	b.Expect("409 (Conflict)")
	b.Type("dialog [name=reason]", "launch day")
	confirm()
	b.UntilText("Refused: no promotion: <b>the</b> route is closed")
	b.UntilText("wait for more traffic")

	// What has moved since it was opened is not ordered by mistake.
	g.set(func() { g.refuse, g.routes[0].Share, g.routes[0].Percent = "", 100, 1 })
	b.UntilText("The route has changed since you opened this: it is at 1 % now.")
	b.Until(`document.querySelector('dialog form button:not([type])').disabled`)
	b.Click("dialog button", "Continue with that")
	b.Click("dialog [name=force]", "")
	confirm()
	b.Until(`!document.querySelector('dialog')`)
	if given := g.given(); len(given) != 1 || !given[0].Force || given[0].Reason != "launch day" {
		t.Errorf("the orders were %+v", given)
	}

	// DIFFERENT cannot be promoted, and says why without being pressed.
	b.Go(g.url + "#/route/GET%20%2Fbad")
	b.UntilText("No promotion: The verdict is DIFFERENT, which cannot be forced")
	b.Click("[data-verb=promote]", "")
	fatal.Same(t, b.JS(`document.querySelector('[data-verb=promote]').getAttribute('aria-disabled') + !!document.querySelector('dialog')`), "truefalse", "aria-disabled and dialog of a barred order")
	b.Clean(g.url)
}

func TestAConnectionIsLostAndReturns(t *testing.T) {
	g := serve(t, []whittle.RouteStatus{shifting("POST /Count")})
	b := open(t, g, "")
	b.Expect("net::ERR_")
	for _, place := range []string{"#/", "#/route/" + counted} {
		b.Go(g.url + place)
		b.Until(live)
		g.fall()
		b.UntilText("Connection lost since ")
		b.UntilText("What you see is as of ")
		b.Until(`/(retrying in \d+|retrying…)/.test(document.querySelector('.countdown').textContent)`)
		b.Until(`document.querySelector('.link.lost')`)
		fatal.Same(t, b.JS(`document.querySelector('.lost-place').getAttribute('role')`), "alert", "the lost connection's role")
		b.Shoot("lost" + strings.Trim(strings.ReplaceAll(place, "/", "-"), "#"))
		g.rise(t)
		g.set(func() { g.routes[0].Next = "Seen after " + place })
		b.Click(".lost-banner button", "Retry now")
		b.Until(live)
		b.UntilText("Seen after " + place)
		b.Until(`!document.querySelector('.lost-banner')`)
	}
	// It finds the way back by itself as well.
	g.fall()
	b.UntilText("Connection lost since ")
	g.rise(t)
	b.Until(live)

	// And from the very beginning.
	g.fall()
	b.UntilText("Connection lost since ")
	b.Clean(g.url)
}

func TestTokens(t *testing.T) {
	const operator, viewer = "operator-token-0123456789", "viewer-token-0123456789"
	g := serve(t, []whittle.RouteStatus{shifting("POST /Count")}, operator, viewer)
	b := open(t, g, "#/route/"+counted)
	b.Expect("401 (Unauthorized)", "403 (Forbidden)")
	b.Until(`document.activeElement.id === 'token'`)
	b.Type("#token", "wrong-token\r")
	b.UntilText("This token is not known.")
	b.Shoot("login")
	b.JS(`document.querySelector('#token').select()`)
	b.Type("#token", viewer+"\r")
	b.UntilText("You are signed in as a viewer: orders need an operator’s token.")
	b.Until(`[...document.querySelectorAll('.controls button')].every(e => e.getAttribute('aria-disabled') === 'true')`)
	b.Click("[data-verb=rollback]", "")
	fatal.Same(t, b.JS(`!!document.querySelector('dialog')`), "false", "a viewer was asked for an order")
	fatal.Same(t, b.JS(`fetch('api/v1/routes/POST%20%2FCount/rollback', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}).then(a => a.status)`), "403", "the response to a viewer's order")
	b.Click("header button", "Sign out")
	b.Until(`document.querySelector('#token')`)
	b.Type("#token", operator+"\r")
	b.Until(`document.querySelector('[data-verb=rollback]:not([aria-disabled])')`)
	b.Go(g.url)
	b.Until(live) // signed in still
	if got := b.JS(`document.cookie + JSON.stringify({...localStorage, ...sessionStorage})`); strings.Contains(got, "token") || strings.Contains(got, "whittle_session") {
		t.Errorf("scripts can read %s", got)
	}
	for _, url := range b.Asked() {
		if strings.Contains(url, "token") {
			t.Errorf("a token is in the address %s", url)
		}
	}
	fatal.Same(t, len(g.given()), 0, "orders given")
	b.Clean(g.url)
}

// TestHostileTexts shows names, reasons, samples and findings that anybody may
// have written, and holds that they stay texts.
func TestHostileTexts(t *testing.T) {
	const evil = `"><img src=x onerror="hacked=1"><script>hacked=1</script>${hacked=1}` + "\u202egnp.exe\u0000" + `<svg/onload=hacked=1>`
	s := different("GET /" + evil)
	s.Next, s.Verdict.Summary = evil, evil
	for i := range s.Verdict.Findings {
		f := &s.Verdict.Findings[i]
		f.Path, f.Summary, f.Cause, f.Monolith, f.Candidate = evil, evil+" "+string(f.Kind), evil, evil, evil
		for j := range f.Samples {
			f.Samples[j] = whittle.Sample{Request: evil, Monolith: `{"a":"` + strings.ReplaceAll(evil, `"`, `\"`) + `","__proto__":1,"constructor":2}`, Candidate: `{"a":1,"__proto__":{"x":1}}`}
		}
	}
	s.Verdict.Findings[0].Samples[0].Monolith = evil
	s.Verdict.Bounds[0].Summary, s.Verdict.Bounds[1].What = evil, "constructor"
	s.Guards[0].Summary, s.Guards[1].Name = evil, "toString"
	s.Ledger.Skipped[evil], s.Ledger.Total = 5, s.Ledger.Total+5
	s.Timeline[0].Reason, s.Timeline[0].By = evil, evil
	g := serve(t, []whittle.RouteStatus{s})
	b := open(t, g, "")
	b.Click(".name a", "GET")
	b.Until(`document.querySelectorAll('.finding').length === 5`)
	b.JS(`document.querySelectorAll('.finding summary, .figures summary').forEach(e => e.click())`)
	b.Until(`document.querySelectorAll('.sample').length === 6`)
	b.UntilText("⟨U+202E⟩")
	b.UntilText("adds up")
	b.Click(".finding:first-child button", "Accept")
	b.Until(dialog)
	b.JS(`document.querySelector('dialog').close()`)
	b.Click("[data-verb=hold]", "")
	b.Until(dialog)
	fatal.Same(t, b.JS(`String(window.hacked) + document.querySelectorAll('main img, main script, dialog img, svg[onload]').length`), "undefined0", "what a text became")
	fatal.Same(t, b.JS(`document.body.innerText.includes('\u202e')`), "false", "a text can turn round what follows it")
	b.Clean(g.url)
}

// TestAWithheldPromotionIsForced: a step that the harm budget or a guard holds back
// can be forced although the verdict is EQUIVALENT, and the page says why.
func TestAWithheldPromotionIsForced(t *testing.T) {
	held := shifting("POST /Count")
	held.Verdict.State, held.Withheld = whittle.Equivalent, "mirrored responses are <slow>"
	g := serve(t, []whittle.RouteStatus{held})
	b := open(t, g, "#/route/"+counted)
	b.Click("[data-verb=promote]", "")
	b.UntilText("Force it: mirrored responses are <slow>. The reason is required")
	b.Click("dialog [name=force]", "")
	b.Type("dialog [name=reason]", "the cache is cold")
	b.Click("dialog form button:not([type])", "Promote")
	b.Until(`!document.querySelector('dialog')`)
	if given := g.given(); len(given) != 1 || !given[0].Force || given[0].Reason != "the cache is cold" {
		t.Errorf("the orders were %+v", given)
	}
}
