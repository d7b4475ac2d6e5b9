// Package dashboard takes the dashboard through a walk: the built whittle
// before the Node monolith, with the mended and the published count service
// behind it, and a headless Chromium at its admin address.
package dashboard

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/carve/dashboard/dashboardtest"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/internal/notify"
)

// threeRoutes are one whose candidate is as good as the monolith, one whose is
// as published (Express takes /count for /Count), and one of which never enough
// is known.
const threeRoutes = `routes:
  - match: POST /Count
    candidate:
      url: http://MENDED
      rpc: {protocol: twirp, descriptor: count.binpb, method: twirp.carved.Carved/Count}
      response: {content_type: text/html; charset=utf-8, template: "Counted to {{.Sum}} \n"}
    safe: true
    compare: {kind: statistical, value: number in the body, per: request.times, margin: {mean: 5%, spread: 2x, distribution: 0.4}, min_compared: 50}
    mirror: {shed_above: off}
    rollout: {auto: false, steps: [25, 100], hold: 10ms, min_requests: 1, harm: off, sticky_by: header:X-User} # a step by hand a second
    guard: {p99: off}
  - match: POST /count
    candidate:
      url: http://PUBLISHED
      rpc: {protocol: twirp, descriptor: count.binpb, method: twirp.carved.Carved/Count}
      response: {content_type: text/html; charset=utf-8, template: "Counted to {{.Sum}} \n"}
    safe: true
    compare: {kind: statistical, value: number in the body, per: request.times}
    mirror: {shed_above: off}
    rollout: {auto: false}
  - match: GET /
    candidate: http://MONOLITH
    compare: {kind: exact, min_compared: 100000000}
    mirror: {shed_above: off}
    rollout: {auto: false, steps: [50, 100], sticky_by: header:X-User}
    guard: {p99: off}
`

// everybody asks for one thing after the other: what is shown comes once a second, so
// it is a pace that whittle needs for its verdicts, and no more.
func everybody(t *testing.T, g *gateway, pace time.Duration) {
	tick := time.NewTicker(pace)
	t.Cleanup(tick.Stop) // after the users have ended
	users(t, g.Public, 3, func(client *http.Client, base string, i int) error {
		<-tick.C
		switch i % 3 {
		case 0:
			return ask(client, "POST", base+"/Count", fmt.Sprintf(`{"times":%d}`, []int{1000, 5000, 20_000}[i/3%3]), i)
		case 1:
			return ask(client, "POST", base+"/count", fmt.Sprintf(`{"times":%d}`, []int{1000, 150_000, 10_000}[i/3%3]), i)
		}
		return ask(client, "GET", base+"/", "", i)
	})
}

const (
	live   = `document.querySelector('.link.live')`
	dialog = `document.querySelector('dialog[open]')`
	count  = "#/route/POST%20%2FCount"
)

// compared reads how many were, from the overview: "1,234 of 5,678" is 1234.
func compared(route string) string {
	return `(row => parseInt(row.querySelector('.ledger-line .of').textContent.replaceAll(',', '')))` +
		`([...document.querySelectorAll('.routes tbody tr')].find(r => r.querySelector('a').textContent === ` + dashboardtest.Quote(route) + `))`
}

// order gives one by the page's dialog, and waits until the time line has it.
func order(b *dashboardtest.Tab, verb, confirm, reason string) {
	b.Until(`document.querySelector('[data-verb=` + verb + `]:not([aria-disabled])')`)
	b.Click("[data-verb="+verb+"]", "")
	b.Until(dialog)
	b.Type("dialog [name=reason]", reason)
	b.Click("dialog form button:not([type])", confirm)
	b.Until(`!document.querySelector('dialog')`)
	// It need not be the newest: whittle may have decided again by itself.
	b.Until(`[...document.querySelectorAll('.timeline li')].some(d => d.textContent.includes(` + dashboardtest.Quote(reason) + `))`)
}

func signIn(b *dashboardtest.Tab, token string) {
	b.Until(`document.querySelector('#token')`)
	b.Type("#token", token+"\r")
	b.Until(live)
}

func TestAWalk(t *testing.T) {
	b := dashboardtest.Open(t)
	g := serve(t, threeRoutes, true)
	everybody(t, g, 2*time.Millisecond)
	b.Expect("401 (Unauthorized)", "net::ERR_")

	// A viewer sees it all, as it comes, and orders nothing.
	b.Go(g.url())
	signIn(b, viewer)
	b.Until(`document.querySelectorAll('.routes tbody tr').length === 3`)
	b.Until(compared("POST /Count") + ` > 0`)
	first := b.JS(compared("POST /Count"))
	b.Until(compared("POST /Count") + ` > ` + first)
	b.Until(`[...document.querySelectorAll('.routes td.p50.second-of-two')].some(e => parseFloat(e.textContent) > 0)`)
	b.Click(".name a", "POST /Count")
	b.UntilText("You are signed in as a viewer")
	b.Until(`[...document.querySelectorAll('.controls button')].every(e => e.getAttribute('aria-disabled') === 'true')`)
	b.Click("header button", "Sign out")

	// An operator gives every order.
	signIn(b, operator)
	b.Until(`document.querySelectorAll('.bound .uplot').length === 4 && document.querySelectorAll('.traffic .uplot').length === 4`)
	b.Until(`document.querySelector('.stand .verdict').textContent.includes('EQUIVALENT')`)
	b.Until(`document.querySelectorAll('.bound .inside').length === 4`)
	share := func(percent string) {
		b.Until(`document.querySelector('.stand .large:not(.verdict)').textContent.replace('\u00a0', ' ') === '` + percent + ` %'`)
	}
	order(b, "promote", "Promote", "the evidence is good")
	share("25")
	order(b, "hold", "Hold", "over lunch")
	b.Until(`document.querySelector('.stand .held')`)
	order(b, "resume", "Resume", "lunch is over")
	order(b, "promote", "Promote", "all of them")
	share("100")
	b.Until(`document.querySelector('.stand .phase').textContent === 'Live'`)
	b.UntilText("adds up")
	b.Until(`document.querySelectorAll('.guard [role=meter]').length > 0`)
	order(b, "rollback", "Roll back", "a drill")
	share("0")
	b.UntilText("Rolled back")
	order(b, "reset", "Reset evidence", "a new build")
	order(b, "off", "Switch off", "night")
	order(b, "promote", "Switch on", "morning")
	b.Until(`document.querySelector('.stand .phase').textContent === 'Shadow'`)

	// What is refused says why: nobody skips the evidence, but by force.
	b.Go(g.url() + "#/route/GET%20%2F")
	b.Until(`document.querySelector('.stand .verdict').textContent.includes('UNDECIDED')`)
	b.Click("[data-verb=promote]", "")
	b.Click("dialog [name=force]", "")
	b.Type("dialog [name=reason]", "launch day")
	b.Click("dialog form button:not([type])", "Promote")
	share("50")
	b.UntilText("Forced by hand to 50 % while the verdict is UNDECIDED: launch day.")

	// The published service is named different, with responses that show it.
	b.Go(g.url() + "#/route/POST%20%2Fcount")
	b.Until(`document.querySelector('.stand .verdict').textContent.includes('DIFFERENT')`)
	b.UntilText("No promotion: The verdict is DIFFERENT, which cannot be forced")
	b.Click(".finding.decided summary", "Wrong value")
	b.Until(`document.querySelectorAll('.finding .response mark').length >= 2`)
	b.UntilText("Likely cause:")
	b.Click(".finding.decided button", "Accept as intended")
	b.Until(dialog + `.querySelector('.yaml').textContent.includes('- {kind: wrong_value')`)
	b.Key("\u001b")
	b.Until(`!document.querySelector('dialog')`)

	// whittle dies, and comes back with what was on disk; sessions do not.
	public, admin := g.Public, g.Admin
	g.Kill()
	b.UntilText("Connection lost since ")
	b.UntilText("What you see is as of ")
	g.run(t, public, admin)
	signIn(b, operator)
	b.Go(g.url() + count)
	b.UntilText("morning")
	order(b, "hold", "Hold", "after the crash")
	for _, url := range b.Asked() {
		if strings.Contains(url, operator) || strings.Contains(url, viewer) {
			t.Errorf("a token is in the address %s", url)
		}
	}
	b.Clean(g.url())
}

var update = flag.Bool("update", false, "take docs/images/dashboard.png anew")

// maxPicture bounds what the README loads, in bytes.
const maxPicture = 200_000

const shifting = `routes:
  - match: POST /Count
    candidate:
      url: http://MENDED
      rpc: {protocol: twirp, descriptor: count.binpb, method: twirp.carved.Carved/Count}
      response: {content_type: text/html; charset=utf-8, template: "Counted to {{.Sum}} \n"}
    safe: true
    compare: {kind: statistical, value: number in the body, per: request.times}
    mirror: {shed_above: off}
    rollout: {steps: [5, 25, 50, 100], hold: 8s, soak: 8s, harm: 2%, min_requests: 30, sticky_by: header:X-User}
    guard: {p99: 3x}
`

// TestScreenshot takes the README's picture of a real shift:
// go test ./e2e/dashboard -run Screenshot -update
func TestScreenshot(t *testing.T) {
	needs.Asked(t, *update, "-update takes the picture anew")
	b := dashboardtest.Open(t)
	g := serve(t, shifting, false)
	users(t, g.Public, 4, func(client *http.Client, base string, i int) error {
		return ask(client, "POST", base+"/Count", fmt.Sprintf(`{"times":%d}`, []int{20_000, 5000, 50_000}[i%3]), i)
	})
	b.Size(1280, 1040)
	b.Prefer("prefers-color-scheme", "light")
	b.Go(g.url() + count)
	b.Until(`document.querySelector('.stand .large:not(.verdict)').textContent.match(/^(25|50)/) && document.querySelectorAll('.bound .uplot').length === 4`)
	b.Until(`document.querySelectorAll('[aria-labelledby=guards-title] .guard').length === 3`)
	b.JS(`document.activeElement.blur()`)
	picture := b.Picture()
	if len(picture) > maxPicture {
		t.Fatalf("the picture has %d bytes; %d are the limit", len(picture), maxPicture)
	}
	fatal.If(t, os.WriteFile(filepath.Join(process.Repository, "docs/images/dashboard.png"), picture, 0o644))
	b.Clean(g.url())
}

const (
	operator = "the-operator-of-this-test"
	viewer   = "the-viewer-of-this-test"
)

// built is where the commands are.
var built string

func TestMain(m *testing.M) { process.Main(m, build) }

func build() (err error) {
	if err := process.NeedMonolith(); err != nil {
		return err
	}
	built, err = process.Build("./cmd/whittle", "./systems/count/cmd/...")
	return err
}

// gateway is whittle on a folder with its config.
type gateway struct {
	*process.Process
	folder, routes string
	tokens         bool
}

// serve starts the three servers and whittle before them. routes may name the
// services' addresses as MENDED, PUBLISHED and MONOLITH.
func serve(t *testing.T, routes string, tokens bool) *gateway {
	t.Helper()
	t.Setenv("NODE_ENV", "production")
	monolith := process.Start(t, "node", filepath.Join(process.Repository, "systems/count/monolith/server.js"), "--port", "0")
	mended := process.Start(t, filepath.Join(built, "count"), "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "")
	published := process.Start(t, filepath.Join(built, "count-as-published"), "-flaws", "remainder", "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "")
	g := &gateway{folder: t.TempDir(), tokens: tokens}
	g.routes = strings.NewReplacer("MENDED", mended.Public, "PUBLISHED", published.Public, "MONOLITH", monolith.Public, "WORK", g.folder).
		Replace("monolith: http://MONOLITH\nstate: WORK/whittle.db\n" + routes)
	descriptor, err := os.ReadFile(filepath.Join(process.Repository, "systems/count/count.binpb"))
	for name, content := range map[string][]byte{"count.binpb": descriptor, "operator": []byte(operator), "viewer": []byte(viewer)} {
		if err == nil {
			err = os.WriteFile(filepath.Join(g.folder, name), content, 0o600)
		}
	}
	fatal.If(t, err)
	g.run(t, "127.0.0.1:0", "127.0.0.1:0")
	return g
}

// run starts whittle at some addresses.
func (g *gateway) run(t *testing.T, public, admin string) {
	t.Helper()
	at := "admin: {listen: \"" + admin + "\"}\n"
	if g.tokens {
		at = "admin: {listen: \"" + admin + "\", token_file: operator, viewer_token_file: viewer}\n"
	}
	path := filepath.Join(g.folder, "whittle.yaml")
	fatal.If(t, os.WriteFile(path, []byte("listen: "+public+"\n"+at+g.routes), 0o600))
	g.Process = process.Start(t, filepath.Join(built, "whittle"), "run", "-c", path)
}

func (g *gateway) url() string { return "http://" + g.Admin + "/" }

// users ask for something all the time, until the test ends. What is answered
// while the gateway is away is not looked at.
func users(t *testing.T, address string, n int, next func(client *http.Client, base string, i int) error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport, Timeout: process.Patience}
			for i := k; ctx.Err() == nil; i++ {
				if err := next(client, "http://"+address, i); err != nil {
					notify.Sleep(ctx, 100*time.Millisecond)
				}
			}
		})
	}
	t.Cleanup(func() { stop(); wg.Wait() })
}

func ask(client *http.Client, method, url, body string, user int) error {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-User", fmt.Sprintf("user-%d", user%499))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
