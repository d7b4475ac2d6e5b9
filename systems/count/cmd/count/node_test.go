package main

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	e2e "whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/load"
	"whittle/systems/count/server"
)

// asService makes the test's own binary the real service, so that a test has a
// process of it without a build.
const asService = "COUNT_TEST_SERVES"

func TestMain(m *testing.M) {
	if os.Getenv(asService) != "" {
		os.Exit(server.Main(program()))
	}
	goleak.VerifyTestMain(m)
}

const root = "../.." // systems/count

// process is a server.
type process struct {
	*e2e.Served
	public string // http://host:port
}

// spawn runs a server until the test ends, which it does in order.
func spawn(t *testing.T, env []string, argv ...string) *process {
	t.Helper()
	s := e2e.Serve(t, child.Options{Env: env}, argv...)
	return &process{s, "http://" + s.Public}
}

func startService(t *testing.T) *process {
	t.Helper()
	self, err := os.Executable()
	fatal.If(t, err)
	return spawn(t, []string{asService + "=1"}, self, "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "")
}

// startNode runs one of the two applications.
func startNode(t *testing.T, room string, env ...string) *process {
	t.Helper()
	needModules(t, room)
	return spawn(t, append(env, "PORT=0", "HOST=127.0.0.1"), "node", filepath.Join(root, room, "server.js"))
}

func needModules(t *testing.T, room string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, room, "node_modules", "express")); err != nil {
		t.Fatalf("the npm packages of systems/count/%s are missing: run make deps, or npm ci in that folder", room)
	}
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	res, text := e2e.Ask(t, http.MethodPost, url, body, "Content-Type: application/json")
	return res.StatusCode, text
}

// near fails unless sum is within eight standard errors of what times draws
// come to.
func near(t *testing.T, what string, sum, times float64) {
	t.Helper()
	if math.Abs(sum-50*times) > 8*math.Sqrt(833.5*times) {
		t.Errorf("%s: %.0f draws gave %.0f", what, times, sum)
	}
}

func TestBeforeAndAfterResponseAlike(t *testing.T) {
	before := startNode(t, "monolith")
	service := startService(t)
	after := startNode(t, "carved", "COUNT_URL="+service.public)
	for _, app := range []*process{before, after} {
		for _, c := range []struct {
			body  string
			times float64
		}{
			{`{"times":0}`, 0},
			{`{"times":-5}`, 0},
			{`{}`, 0},
			{`{"times":1}`, 1},
			{`{"times":150000}`, 150_000},
			{`{"times":"1000"}`, 1000},
			{`{"times":1000000}`, 1_000_000},
		} {
			code, text := post(t, app.public+"/Count", c.body)
			var sum float64
			if _, err := fmt.Sscanf(text, "Counted to %g \n", &sum); code != 200 || err != nil {
				t.Errorf("%s: %d %q, %v", c.body, code, text, err)
				continue
			}
			near(t, c.body, sum, c.times)
		}
		if code, _ := post(t, app.public+"/Count", `{`); code != 400 {
			t.Errorf("broken JSON: %d, want 400", code)
		}
	}
	// Beyond what 32 bits hold, on the fast side only.
	if _, text := post(t, after.public+"/Count", `{"times":60000000}`); !strings.HasPrefix(text, "Counted to 300") && !strings.HasPrefix(text, "Counted to 2999") {
		t.Errorf("60 million: %q", text)
	}
}

func TestCarvedOutlivesItsService(t *testing.T) {
	service := startService(t)
	after := startNode(t, "carved", "COUNT_URL="+service.public)
	if code, text := post(t, after.public+"/Count", `{"times":10}`); code != 200 {
		t.Errorf("service up: %d %q", code, text)
	}
	service.Stop()
	for range 2 {
		if code, text := post(t, after.public+"/Count", `{"times":10}`); code != 503 || !strings.Contains(text, "cannot be reached") {
			t.Errorf("service down: %d %q, want 503", code, text)
		}
	}
}

// TestSeedClients runs the published application's own way from the service's
// response to a sum, with its contract and with today's.
func TestSeedClients(t *testing.T) {
	needModules(t, "carved")
	service := startService(t)
	seed := filepath.Join(root, "carved", "test", "seed")
	for _, c := range []struct {
		contract string
		times    float64
	}{
		{filepath.Join(seed, "contract.proto"), 0},
		{filepath.Join(seed, "contract.proto"), 1},
		{filepath.Join(seed, "contract.proto"), 150_000},
		{filepath.Join(seed, "contract.proto"), 10_000_000},
		{filepath.Join(root, "count.proto"), 0},
		{filepath.Join(root, "count.proto"), 10_000_000},
		{filepath.Join(root, "count.proto"), 60_000_000},
		{filepath.Join(root, "count.proto"), math.MaxInt32},
	} {
		out := e2e.MustRun(t, "", 0, "node", filepath.Join(seed, "client.js"), c.contract, service.public, fmt.Sprintf("%.0f", c.times))
		var viaJSON, viaProtobuf float64
		if _, err := fmt.Sscan(out, &viaJSON, &viaProtobuf); err != nil {
			t.Errorf("%s, times %.0f: %v %s", c.contract, c.times, err, out)
			continue
		}
		near(t, c.contract+" by JSON", viaJSON, c.times)
		near(t, c.contract+" by protobuf", viaProtobuf, c.times)
	}
}

// TestPlansAreRead keeps the system's load plans in terms that the runner
// takes.
func TestPlansAreRead(t *testing.T) {
	plans, err := filepath.Glob(filepath.Join(root, "plans", "*.yml"))
	if err != nil || len(plans) < 3 {
		t.Fatalf("%d plans, %v, want at least 3", len(plans), err)
	}
	for _, plan := range plans {
		if _, err := load.ReadPlan(plan); err != nil {
			t.Errorf("%s: %v", plan, err)
		}
	}
}
