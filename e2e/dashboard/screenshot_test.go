package dashboard

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"whittle/carve/dashboard/dashboardtest"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

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
