// Package fleet tests gateways' parts in a fleet and NATS servers as processes of their
// own, which are killed, and links between them, which are cut.
package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/child"
)

func TestMain(m *testing.M) {
	switch os.Getenv("FLEET_ROLE") {
	case "nats":
		runServer()
	case "gateway":
		runGateway()
	default:
		process.Main(m, build)
	}
}

const lease = 2 * time.Second

// cluster is NATS servers, of which one alone is no cluster.
type cluster struct {
	t       testing.TB
	clients []string // their addresses
	routes  []string
	dirs    []string
	servers []*child.Process
}

func startCluster(t testing.TB, n int) *cluster {
	c := &cluster{t: t}
	for range n {
		c.dirs = append(c.dirs, t.TempDir())
	}
	c.begin()
	return c
}

// begin starts a server in each of its folders.
func (c *cluster) begin() {
	n := len(c.dirs)
	free := addresses(c.t, 2*n)
	c.clients, c.routes, c.servers = free[:n], free[n:], make([]*child.Process, n)
	for i := range c.servers {
		c.start(i)
	}
}

func (c *cluster) start(i int) {
	c.t.Helper()
	p, err := child.Start(c.t.Context(), child.Options{Env: []string{
		"FLEET_ROLE=nats", "FLEET_NAME=n" + fmt.Sprint(i), "FLEET_DIR=" + c.dirs[i], "FLEET_CLIENTS=" + c.clients[i],
		"FLEET_ROUTE=" + c.routes[i], "FLEET_ROUTES=" + strings.Join(c.routes, ","),
	}}, os.Args[0])
	if err != nil {
		c.t.Fatal(err)
	}
	c.servers[i] = p
	c.t.Cleanup(p.Kill)
}

// gateway is a gateway's part in the fleet, with its links to the servers.
type gateway struct {
	t     *testing.T
	name  string
	dir   string
	links []*link
	p     *child.Process
}

func startGateway(t *testing.T, c *cluster, name string) *gateway {
	g := &gateway{t: t, name: name, dir: t.TempDir()}
	for _, to := range c.clients {
		g.links = append(g.links, newLink(t, to))
	}
	g.start()
	return g
}

func (g *gateway) start() {
	g.t.Helper()
	var servers []string
	for _, l := range g.links {
		servers = append(servers, "nats://"+l.address)
	}
	p, err := child.Start(g.t.Context(), child.Options{Env: []string{
		"FLEET_ROLE=gateway", "FLEET_NAME=" + g.name, "FLEET_SERVERS=" + strings.Join(servers, ","),
		"FLEET_KEPT=" + filepath.Join(g.dir, "kept"), "FLEET_LEASE=" + lease.String(),
	}}, os.Args[0])
	if err != nil {
		g.t.Fatal(err)
	}
	g.p = p
	g.t.Cleanup(p.Kill)
}

func (g *gateway) cut(cut bool) {
	for _, l := range g.links {
		l.set(cut)
	}
}

func (g *gateway) ask(method, what string, into any) bool {
	ctx, cancel := context.WithTimeout(g.t.Context(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+g.p.Public+what, http.NoBody)
	if err != nil {
		g.t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer a.Body.Close()
	if into != nil && json.NewDecoder(a.Body).Decode(into) != nil {
		return false
	}
	return a.StatusCode == http.StatusOK
}

func (g *gateway) state() (s state) {
	g.ask(http.MethodGet, "/state", &s)
	return s
}

func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(process.Patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// decide has whoever leads decide on a share, and once more where a leader lost its lease
// before the store had it.
func decide(t *testing.T, all []*gateway, share whittle.Share) {
	t.Helper()
	var asked time.Time
	until(t, fmt.Sprintf("somebody decides on %d, and it is everywhere", share), func() bool {
		if time.Since(asked) > 2*lease && slices.ContainsFunc(all, func(g *gateway) bool {
			return g.ask(http.MethodPost, fmt.Sprintf("/decide?share=%d", share), nil)
		}) {
			asked = time.Now()
		}
		return !asked.IsZero() && has(all, share)
	})
}

// has reports whether a share is in force in all gateways.
func has(all []*gateway, share whittle.Share) bool {
	return !slices.ContainsFunc(all, func(g *gateway) bool { s := g.state(); return s.Generation == 0 || s.Share != share })
}

func everywhere(t *testing.T, all []*gateway, share whittle.Share) {
	t.Helper()
	until(t, fmt.Sprintf("%d everywhere", share), func() bool { return has(all, share) })
}

func leader(t *testing.T, all []*gateway) (at int) {
	t.Helper()
	until(t, "one leads", func() bool {
		at = slices.IndexFunc(all, func(g *gateway) bool { return g.state().Leads })
		return at >= 0
	})
	return at
}

// TestAFleetOfProcesses: a shift goes on while its leader is killed, and two gateways,
// and a server; a gateway that is cut off has no share, and does not come back above a
// fall; without a majority of the servers nobody has a share.
func TestAFleetOfProcesses(t *testing.T) {
	servers := startCluster(t, 3)
	var all []*gateway
	for i := range 3 {
		all = append(all, startGateway(t, servers, fmt.Sprint("g", i)))
	}
	decide(t, all, 0)
	decide(t, all, 100)

	// The leader is killed in the middle of the shift.
	old := leader(t, all)
	all[old].p.Kill()
	others := slices.Delete(slices.Clone(all), old, old+1)
	began := time.Now()
	leader(t, others)
	t.Logf("another led %v after the leader was killed", time.Since(began).Round(time.Millisecond))
	everywhere(t, others, 100)
	decide(t, others, 1000)
	all[old].start()
	everywhere(t, all, 1000)

	// One is cut off, and the others roll back.
	lead := leader(t, all)
	away := all[(lead+1)%3]
	others = slices.DeleteFunc(slices.Clone(all), func(g *gateway) bool { return g == away })
	away.cut(true)
	began = time.Now()
	until(t, "the one that is cut off has no share", func() bool { return away.state().Share == 0 })
	t.Logf("the gateway that was cut off had no share after %v, of a lease of %v", time.Since(began).Round(time.Millisecond), lease)
	everywhere(t, others, 1000)
	began = time.Now()
	if !others[0].ask(http.MethodPost, "/trip", nil) {
		t.Fatal("no trip")
	}
	everywhere(t, others, 0)
	t.Logf("a trip was everyone's after %v", time.Since(began).Round(time.Millisecond))
	away.cut(false)
	until(t, "the one that was cut off knows of the trip", func() bool { s := away.state(); return s.Connected && s.Tripped })
	if s := away.state(); s.Share != 0 {
		t.Errorf("it has a share of %d", s.Share)
	}
	decide(t, all, 0)
	decide(t, all, 100)

	// A server is killed in the middle of a shift, and then another.
	servers.servers[0].Kill()
	decide(t, all, 1000)
	servers.servers[1].Kill()
	everywhere(t, all, 0)
	servers.start(0)
	servers.start(1)
	everywhere(t, all, 1000)

	// Two gateways are killed in the middle of a rollback.
	lead = leader(t, all)
	if !all[lead].ask(http.MethodPost, "/trip", nil) {
		t.Fatal("no trip")
	}
	all[lead].p.Kill()
	all[(lead+1)%3].p.Kill()
	last := []*gateway{all[(lead+2)%3]}
	until(t, "the last one leads", func() bool { return last[0].state().Leads })
	decide(t, last, 0)
	all[lead].start()
	all[(lead+1)%3].start()
	everywhere(t, all, 0)
}
