package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

const countConfig = `listen: 127.0.0.1:0
monolith: http://127.0.0.1:1
routes:
  - match: POST /Count
    candidate:
      url: http://127.0.0.1:1
      rpc: {protocol: twirp, descriptor: %s, method: twirp.carved.Carved/Count}
      response: {content_type: text/html; charset=utf-8, template: "Counted to {{.Sum}} \n"}
    safe: true
    compare: {kind: statistical, value: number in the body, per: request.times}
`

// TestCount records the Node monolith and replays it against the service as
// published, which it must call DIFFERENT, and the mended one.
func TestCount(t *testing.T) {
	if _, err := os.Stat(filepath.Join(process.Repository, "systems/count/monolith/node_modules")); err != nil {
		t.Fatal("the Node monolith's packages are not installed: run `make deps`")
	}
	t.Setenv("NODE_ENV", "production")
	monolith := start(t, "node", filepath.Join(process.Repository, "systems/count/monolith/server.js"), "--port", "0")
	sizes := []int{1000, 10_000, 1000, 150_000, 2000, 1000, 1000, 2000}
	const n = 5000
	dir := record(t, monolith, "POST /Count", n, func(i int) whittle.Request {
		return whittle.Request{
			Method: "POST", Target: "/Count", Header: whittle.Header{"Content-Type": {"application/json"}},
			Body: fmt.Appendf(nil, `{"times":%d}`, sizes[i%len(sizes)]),
		}
	})
	descriptor, err := filepath.Abs(filepath.Join(process.Repository, "systems/count/count.binpb"))
	fatal.If(t, err)
	config := filepath.Join(t.TempDir(), "whittle.yaml")
	fatal.If(t, os.WriteFile(config, fmt.Appendf(nil, countConfig, descriptor), 0o600))
	argv := []string{filepath.Join(built, "count"), "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", ""}
	mended := start(t, argv...)
	argv[0] = filepath.Join(built, "count-as-published")
	published := start(t, append(argv, "-flaws", "all")...)

	status, r := replayed(t, dir, "--against", published, "-c", config, "--speed", "max")
	if status != 1 || r.Verdict != whittle.Different || r.Ledger.Compared != n {
		t.Fatalf("the published service: status %d, %s, %+v", status, r.Verdict, r.Ledger)
	}
	for _, kind := range []whittle.FindingKind{whittle.FoundWrongValue, whittle.FoundRepeats} {
		if !slices.ContainsFunc(r.Routes[0].Verdict.Findings, func(f whittle.Finding) bool { return f.Kind == kind && f.Decided }) {
			t.Errorf("%s is not shown", kind)
		}
	}
	status, r = replayed(t, dir, "--against", mended, "-c", config, "--speed", "max", "--fail-if", "undecided")
	if status != 0 || r.Verdict != whittle.Equivalent || r.Ledger.Compared != n || r.Shapes.Share != 1 {
		t.Errorf("the mended service: status %d, %s, %+v", status, r.Summary, r.Ledger)
	}
}
