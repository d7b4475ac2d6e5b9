package dashboard_test

import (
	"os"
	"testing"

	"whittle"
)

// TestASampleShowsThePlace: of a sample whose place is known, the place and both
// values are shown, what differs marked and spaces at an end visible; the
// responses' beginnings are folded away.
func TestASampleShowsThePlace(t *testing.T) {
	g := serve(t, []whittle.RouteStatus{different("POST /Count")})
	b := open(t, g, "")
	b.Go(g.url + "#/route/" + counted)
	b.Until(`document.querySelectorAll('.finding').length > 3`)
	b.JS(`document.querySelectorAll('.finding summary').forEach(e => e.click())`)
	b.UntilText("$.items[3].price")
	b.Until(`[...document.querySelectorAll('.sample .response mark')].some(e => e.textContent.includes('␠'))`)
	b.Until(`document.querySelector('.sample details.begins') && !document.querySelector('.sample details.begins').open`)
	b.UntilText("a guess: trailing zeros are left out")
	if os.Getenv("SCREENSHOTS") != "" {
		b.Size(1280, 900)
		b.JS(`document.querySelector('.sample details.begins').closest('.finding').scrollIntoView()`)
		b.Shoot("sample-place")
	}
	b.Clean(g.url)
}
