//go:build linux

package profile

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// TestFindSeesAGoServiceWithoutLabels ranks a service that knows nothing of whittle:
// one of those of make bench-find, on net/http's mux.
func TestFindSeesAGoServiceWithoutLabels(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "shop")
	// Its own sources are found where they are; what it imports is compiled as for all
	// other tests, and so once. The prefix, which no path has, names this checkout: else
	// the build cache gives what another one has compiled, with the paths there.
	checkout, err := filepath.Abs(process.Repository)
	fatal.If(t, err)
	own := "-gcflags=./...=-trimpath=" + filepath.Join(checkout, "none")
	build := exec.Command("go", "build", "-trimpath", own, "-o", binary, "./http")
	build.Dir = filepath.Join(process.Repository, "e2e/frameworks/testdata/services/go")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Setenv("PLANTED", "1")
	shop := process.Start(t, binary)
	kept := filepath.Join(t.TempDir(), "find.json")
	out := must(t, "find", "http://"+shop.Admin, "--target", "http://"+shop.Public, "--endpoint", `POST /orders/17/price {"n": 10}`,
		"--endpoint", "GET /orders/17", "--endpoint", "GET /health", "--rate", "60", "--duration", "3s", "--json", kept)
	r := reads[ranking](t, kept)
	if len(r.Endpoints) == 0 || r.Endpoints[0].Endpoint != "POST /orders/{id}/price" || !strings.Contains(out, "Carve POST /orders/{id}/price first") {
		t.Fatalf("ranking %+v", r)
	}
	if top := r.Endpoints[0]; top.Share < 0.5 || top.Requests == 0 || top.Cost <= 0 {
		t.Errorf("%+v", top)
	}
}
