//go:build linux

package profile

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// ranking is the part of find's JSON that is looked at.
type ranking struct {
	Advice    string `json:"advice"`
	Endpoints []struct {
		Endpoint string  `json:"endpoint"`
		Share    float64 `json:"cpu_share"`
		Cost     float64 `json:"cpu_ms_per_request"`
		Requests int64   `json:"requests"`
		P99      float64 `json:"p99_ms"`
		Longest  float64 `json:"event_loop_blocked_ms"`
	} `json:"endpoints"`
}

// TestFindSaysWhatToCarveFirst ranks the Node monolith's endpoints.
func TestFindSaysWhatToCarveFirst(t *testing.T) {
	first, second := process.Monolith(t, "--inspect-port=0"), process.Monolith(t, "--inspect-port=0")
	config := write(t, "whittle.yaml", "listen: 127.0.0.1:0\nadmin: off\nmonolith: http://"+first.Public+"\n")
	list := []string{"--endpoint", `POST /Count {"times": 8000000}`, "--endpoint", "GET /", "--rate", "5", "--duration", "4s"}
	for name, target := range map[string][]string{
		"a config":          {"-c", config},
		"a process":         {pid(first), "--target", "http://" + first.Public},
		"several processes": {pid(first), pid(second), "--target", "http://" + first.Public},
	} {
		t.Run(name, func(t *testing.T) {
			kept := filepath.Join(t.TempDir(), "find.json")
			out := must(t, append(append(append([]string{"find"}, target...), list...), "--json", kept)...)
			r := reads[ranking](t, kept)
			if len(r.Endpoints) == 0 || r.Endpoints[0].Endpoint != "POST /Count" {
				t.Fatalf("ranking %+v", r)
			}
			top := r.Endpoints[0]
			if want := fmt.Sprintf("Carve POST /Count first: %.0f %% of CPU.", 100*top.Share); r.Advice != want || !strings.Contains(out, want) {
				t.Errorf("advice %q, want %q", r.Advice, want)
			}
			if top.Share < 0.5 || top.Cost <= 0 || top.Requests == 0 || top.P99 <= 0 {
				t.Errorf("%+v", top)
			}
			if top.Longest < 50 {
				t.Errorf("eight million draws did not keep the event loop: %+v", top)
			}
		})
	}
}

func TestFindSaysWhatItNeeds(t *testing.T) {
	idle := process.Monolith(t, "--inspect-port=0")
	nobody := write(t, "whittle.yaml", "monolith: http://127.0.0.1:1\n")
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{}, 2, "give a process id, a URL, or -c whittle.yaml"},
		{[]string{"-c", nobody}, 2, "give the process's id"},
		{[]string{pid(idle), "--endpoint", "GET /"}, 2, "give --target URL"},
		{[]string{pid(idle), "--endpoint", "/", "--target", "http://" + idle.Public}, 2, `write "GET /path"`},
		{[]string{pid(idle), "--endpoint", "POST / {", "--target", "http://" + idle.Public}, 2, "is not JSON"},
		{[]string{pid(idle), "--endpoint", "GET /", "--during", "plan.yml"}, 2, "either --during or --endpoint"},
		{[]string{pid(idle), "--duration", "1s"}, 1, "put load on it"},
	} {
		out, errs, status := command(t, append([]string{"find"}, c.args...)...)
		if status != c.status || !strings.Contains(out+errs, c.says) {
			t.Errorf("find %q: exit status %d, want %d with %q", c.args, status, c.status, c.says)
		}
	}
}

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
