package dashboard_test

import (
	"os"
	"testing"

	"whittle/carve/dashboard/dashboardtest"
	"whittle/internal/needs"
)

// TestShots takes pictures of every part for people to look at, light and dark,
// wide and narrow, where SCREENSHOTS names a folder.
func TestShots(t *testing.T) {
	needs.Asked(t, os.Getenv("SCREENSHOTS") != "", "name a folder in SCREENSHOTS")
	g := serve(t, append(many(20), shifting("POST /Count"), different("POST /published/Count"), idleRoute("GET /users/{id}"),
		shifting("GET /a/very/long/path/that/nobody/should/have/written/{organisation}/{department}/{employee}/{document...}")))
	b := dashboardtest.Open(t)
	for _, scheme := range []string{"light", "dark"} {
		b.Prefer("prefers-color-scheme", scheme)
		for _, size := range []struct {
			name          string
			width, height int64
		}{{"wide", 1280, 900}, {"narrow", 360, 800}, {"middle", 768, 1024}} {
			b.Size(size.width, size.height)
			shoot := func(name string) { b.Shoot(scheme + "-" + size.name + "-" + name) }
			b.Go(g.url + "#/")
			b.Until(`document.querySelectorAll('.routes tbody tr').length > 3`)
			shoot("overview")
			b.Go(g.url + "#/route/POST%20%2FCount")
			b.Until(`document.querySelectorAll('.uplot').length > 6 && document.querySelector('.finding')`)
			shoot("route")
			b.Click("[data-verb=promote]", "")
			b.Until(`document.querySelector('dialog[open]')`)
			shoot("promote")
			b.Key("\u001b")
			b.Go(g.url + "#/route/POST%20%2Fpublished%2FCount")
			b.Until(`document.querySelectorAll('.finding').length > 3`)
			b.JS(`document.querySelectorAll('.finding summary').forEach(e => e.click())`)
			b.Until(`document.querySelectorAll('.sample').length > 3`)
			shoot("findings")
			b.Click(".finding:nth-child(4) button", "Accept")
			shoot("accept")
			b.Key("\u001b")
			b.Go(g.url + "#/route/GET%20%2Fusers%2F%7Bid%7D")
			b.Until(`document.querySelector('.findings .empty')`)
			shoot("idle")
		}
	}
	b.Clean(g.url)
}
