// Package newservice begins with what a team has, a monolith and its traffic.
// It records the traffic, lets the built whittle make a contract and a project
// of it, builds and tests the project in an empty folder, and raises the
// service's share to all users behind the built gateway, while every user's
// response is checked.
package newservice

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/carve/admin"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// whittled is the built command.
var whittled string

func TestMain(m *testing.M) {
	process.Main(m, func() error {
		// What two projects have in common, or an earlier run had, is in Go's cache
		// if the names of their folders are not compiled into it.
		if err := os.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -trimpath"); err != nil {
			return err
		}
		built, err := process.Build("./cmd/whittle")
		whittled = filepath.Join(built, "whittle")
		return err
	})
}

// made is what whittle new says as JSON.
type made struct {
	Proto   string
	Methods []struct {
		Endpoint string
		Seen     int
		Guesses  []struct{ Path, Evidence string }
	}
	Exchanges int
	Tested    bool
}

// newProject records n exchanges with the monolith, and has whittle make a project of them.
func newProject(t *testing.T, monolith string, n int, next func(i int) request, args ...string) (dir string, m made) {
	t.Helper()
	work := t.TempDir()
	dir = filepath.Join(work, "carved")
	record(t, monolith, filepath.Join(work, "recorded"), n, next)
	report := filepath.Join(work, "new.json")
	said := process.MustRun(t, work, 0, append([]string{whittled, "new", "recorded", "--to", "carved", "--monolith", monolith, "--json", report}, args...)...)
	if m = fatal.JSON[made](t, report); !m.Tested || m.Exchanges == 0 {
		t.Fatalf("%+v\n%s", m, said)
	}
	t.Logf("%s\n%s", said, m.Proto)
	for _, one := range m.Methods {
		if one.Seen == 0 {
			t.Errorf("%s: never seen", one.Endpoint)
		}
	}
	return dir, m
}

// hurry shortens a config's times, and lets the walk get on in fewer steps and by fewer
// responses to users. That users' requests earn the shipped budget, step by step, is held
// by e2e/walk, and by one route of TestShop in its full form.
var hurry = strings.NewReplacer(
	"listen: 127.0.0.1:8080", "listen: 127.0.0.1:0",
	"admin: 127.0.0.1:8081", "admin: 127.0.0.1:0",
	"      steps: [1, 5, 25, 50, 100]\n      hold: 30s\n", "      steps: [10, 50, 100]\n      hold: 50ms\n      min_requests: 5\n      harm: 3%\n",
)

// walkers of a route ask at a time. More would only wait for each other where there
// are two cores, until the circuit breaker takes that for a candidate that hangs.
const walkers = 3

// walked is what the gateway and the service say at the end of a walk.
type walked struct {
	routes           map[string]whittle.RouteStatus
	service, metrics string
}

// walk runs the made service behind the gateway until the routes are live, or,
// where it is not equivalent, refused, with users who know what is right.
func walk(t *testing.T, monolith, dir string, routes map[string]func(i int) request, equivalent bool) walked {
	t.Helper()
	process.MustRun(t, dir, 0, "go", "build", "-o", "bin/carved", "./cmd/carved")
	service := process.StartIn(t, dir, filepath.Join(dir, "bin/carved"), "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-monolith", monolith)
	for _, name := range []string{"whittle.yaml", "routes.yaml"} {
		path := filepath.Join(dir, name)
		pristine := path + ".made"
		if _, err := os.Stat(pristine); err != nil {
			fatal.If(t, os.Rename(path, pristine))
		}
		config := strings.ReplaceAll(hurry.Replace(fatal.Read(t, pristine)), "127.0.0.1:8090", service.Public)
		config = strings.ReplaceAll(config, "    rollout:\n", "    mirror: {shed_above: off}\n    rollout:\n")
		fatal.Write(t, path, config)
	}
	gateway := process.StartIn(t, dir, whittled, "run", "-c", "whittle.yaml")
	defer gateway.Stop() // the next walk opens the same state
	client, err := admin.Dial(gateway.Admin, "")
	fatal.If(t, err)
	defer client.Close()

	var all sync.WaitGroup
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: time.Minute, CheckRedirect: asItComes}
	pending := map[string]*users{}
	for route, next := range routes {
		u := &users{route: route, next: next, home: make(chan struct{})}
		pending[route] = u
		for first := range walkers {
			all.Go(func() { u.ask(t, c, "http://"+gateway.Public, monolith, first) })
		}
	}
	defer all.Wait()
	defer func() {
		for _, u := range pending {
			close(u.home)
		}
	}()
	out := walked{routes: map[string]whittle.RouteStatus{}}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(process.Patience); len(pending) > 0; <-poll.C {
		for route, u := range pending {
			r, over := arrived(t, client, gateway, service, route, equivalent)
			switch {
			case !over && time.Now().After(deadline):
				t.Fatalf("%s is not live: %+v\n%s\n%s", route, r, gateway.Said(), service.Said())
			case over && u.seen():
				t.Logf("%s is %s after %d compared: %s", route, r.Phase, r.Verdict.Compared, r.Verdict.Summary)
				out.routes[route] = r
				close(u.home)
				delete(pending, route)
			}
		}
	}
	a, err := ask(c, "http://"+service.Admin, request{"GET", "/metrics", ""}, "operator")
	fatal.If(t, err)
	out.service, out.metrics = service.Said(), string(a.Body)
	return out
}

// users are those of a route, who know what is right.
type users struct {
	route string
	next  func(i int) request
	home  chan struct{} // closed: they ask no more

	responses atomic.Int64
	enough    int64 // responses; 0: their route is not where it is to come
}

// ask sends every walkers-th request, from the first on.
func (u *users) ask(t *testing.T, c *http.Client, gateway, monolith string, first int) {
	for i := first; ; i += walkers {
		select {
		case <-u.home:
			return
		default:
		}
		q := u.next(i)
		a, err := ask(c, gateway, q, fmt.Sprintf("user-%d", i%20_000))
		if err == nil && i%7 == 0 {
			err = right(c, monolith, q, a)
		}
		if err == nil && a.Status >= 500 {
			err = fmt.Errorf("%s %s: %d %s", q.method, q.target, a.Status, a.Body)
		}
		if err != nil {
			t.Errorf("a user of %s: %v", u.route, err)
			return
		}
		u.responses.Add(1)
	}
}

// seen reports whether users have asked for long enough since their route came where
// it was to come, which is when this is asked first.
func (u *users) seen() bool {
	n := u.responses.Load()
	if u.enough == 0 {
		u.enough = n + 200
	}
	return n >= u.enough
}

// arrived reports whether a route's candidate has all users, or is refused as it should be.
func arrived(t *testing.T, client *admin.Client, gateway, service *process.Process, route string, equivalent bool) (r whittle.RouteStatus, over bool) {
	t.Helper()
	r, err := client.Route(t.Context(), route)
	switch {
	case err != nil:
		t.Fatalf("%s: %v\n%s", route, err, gateway.Said())
	case !equivalent && r.Phase == whittle.PhaseLive:
		t.Fatalf("%s is live: %s", route, r.Verdict.Summary)
	case !equivalent:
		return r, r.Verdict.State == whittle.Different && r.Percent == 0
	case r.Phase == whittle.PhaseRolledBack || r.Verdict.State == whittle.Different:
		t.Fatalf("%s: %s %s %+v\n%s\n%s", route, r.Phase, r.Verdict.Summary, r.Verdict.Findings, gateway.Said(), service.Said())
	}
	return r, r.Phase == whittle.PhaseLive
}

// TestCount carves the worked system's endpoint out of its Node monolith, from
// nothing but its traffic: as it is made, where the monolith still counts, and with
// logic of its own.
func TestCount(t *testing.T) {
	monolith := countMonolith(t)
	dir, m := newProject(t, monolith, 400, countRequest, "--safe", "POST /Count", "--package", "count.v1", "--service", "CountService")
	fatal.Has(t, m.Proto, "package count.v1;", "service CountService {", "int64 ")
	config, err := os.ReadFile(filepath.Join(dir, "routes.yaml"))
	if err != nil || !strings.Contains(string(config), "kind: statistical") || !strings.Contains(string(config), `"request.times"`) {
		t.Errorf("routes.yaml does not suggest a statistical comparison by times:\n%s", config)
	}
	if !testing.Short() { // TestShop has a service that asks the monolith in the short run too
		walk(t, monolith, dir, map[string]func(int) request{"POST /Count": countRequest}, true)
	}
	ownLogic(t, monolith, dir, m)
}

// ownLogic puts logic into a made project, and the walk begins afresh: with
// the published carve's mistake it is refused, mended it gets every user.
func ownLogic(t *testing.T, monolith, dir string, m made) {
	t.Helper()
	_, after, _ := strings.Cut(m.Proto, "message CountResponse {")
	_, after, _ = strings.Cut(after, "int64 ")
	field, _, _ := strings.Cut(after, " =")
	field = strings.ToUpper(field[:1]) + field[1:]
	for _, c := range []struct {
		draw  string
		right bool
	}{
		{"rand.Int64N(100)", false}, // 0 to 99 where the monolith draws 0 to 100
		{"(rand.Int64N(200) + 1) / 2", true},
	} {
		logic := fmt.Sprintf(`package service

import (
	"context"
	"math/rand/v2"

	countv1pb "carved/internal/gen/count/v1"
)

// Count adds up random numbers.
func (s *CountService) Count(ctx context.Context, in *countv1pb.CountRequest) (*countv1pb.CountResponse, error) {
	if in.GetTimes() > 10_000_000 {
		return s.delegateCount(ctx, in) // not taken on yet
	}
	sum := int64(0)
	for range in.GetTimes() {
		sum += %s
	}
	return &countv1pb.CountResponse{%s: sum}, nil
}
`, c.draw, field)
		fatal.Write(t, filepath.Join(dir, "internal/service/count.go"), logic)
		_ = os.Remove(filepath.Join(dir, "whittle.db")) // evidence of the logic before
		if c.right {
			process.MustRun(t, dir, 0, "go", "test", "-vet=off", "./...") // vetted as it was made
			said := process.MustRun(t, filepath.Dir(dir), 0, whittled, "new", "recorded", "--to", "carved", "--safe", "POST /Count", "--no-build", "--monolith", monolith)
			fatal.Has(t, said, "kept "+filepath.FromSlash("internal/service/count.go"))
		}
		walk(t, monolith, dir, map[string]func(int) request{"POST /Count": countRequest}, c.right)
	}
}

// TestShop carves six endpoints of other shapes at once.
func TestShop(t *testing.T) {
	monolith := shopMonolith(t)
	all := slices.Sorted(maps.Keys(shopRequests))
	args := []string{"--safe", "POST /quotes", "--safe", "POST /login"}
	for _, route := range all {
		args = append(args, "--route", route)
	}
	dir, m := newProject(t, monolith, 1500, func(i int) request { return shopRequests[all[i%len(all)]](i / len(all)) }, args...)
	fatal.Same(t, len(m.Methods), len(all), "endpoints: %+v", m.Methods)
	// Now come words that nobody recorded. The candidate carries them like any
	// other, and is given every request.
	later.Store(true)
	defer later.Store(false)
	if !testing.Short() { // One route's users earn the budget and the counts that whittle ships.
		path := filepath.Join(dir, "routes.yaml")
		fatal.Write(t, path, strings.Replace(fatal.Read(t, path), "      hold: 30s\n", "      hold: 50ms\n", 1))
	}
	said := walk(t, monolith, dir, shopRequests, true)
	if n := said.routes["POST /quotes"].Ledger.Skipped[whittle.SkipUntranslated]; n != 0 {
		t.Errorf("%d requests were left to the monolith: %+v", n, said.routes["POST /quotes"].Ledger)
	}
	if strings.Contains(said.metrics, `carved_delegated_total{endpoint="GET /events",outcome="verbatim"}`) {
		t.Errorf("a response came as an error of the service:\n%s\n%s", said.service, said.metrics)
	}
}
