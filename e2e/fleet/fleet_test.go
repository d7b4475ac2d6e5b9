// Package fleet tests whole gateways and NATS servers as processes of their own, which are
// killed, and links between them, which are cut.
package fleet

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/internal/natstest"
	"whittle/internal/rawtest"
)

func TestMain(m *testing.M) {
	switch os.Getenv("FLEET_ROLE") {
	case "nats":
		runServer()
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
	fatal.If(c.t, err)
	c.servers[i] = p
	c.t.Cleanup(p.Kill)
}

// startReplaceable starts the gateway as one whose process others replace.
func (g *whole) startReplaceable(program, file string) {
	g.w.t.Helper()
	g.processes = process.StartReplaceable(g.w.t, g.dir, []string{"FLEET_SECRET=0123456789abcdef"}, program, "run", "-c", file)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.p, g.up, g.killed = &child.Process{Public: g.processes.Public, Admin: g.processes.Admin}, true, false
}

// replace has the gateway's process replaced by another, which has its share at once.
func (g *whole) replace(share whittle.Share) {
	g.w.t.Helper()
	g.processes.Replace()
	var got float64
	process.Until(g.w.t, g.name+" says what users have", func() bool { got = g.inForce(); return got <= 1 })
	if got != float64(share)/float64(whittle.All) {
		g.w.t.Errorf("%s has a share of %v when it has taken over, not %v\n%s", g.name, got, share, g.processes.Said())
	}
}

// fails has a process replaced by one whose state file cannot be opened, which it finds once
// the old process has left the fleet.
func (g *whole) fails() {
	g.w.t.Helper()
	file := filepath.Join(g.dir, "whittle.yaml")
	good, err := os.ReadFile(file)
	fatal.If(g.w.t, err)
	fatal.If(g.w.t, os.WriteFile(file, []byte("state: whittle.db/whittle.db\n"+string(good)), 0o600))
	g.processes.FailToReplace()
}

// TestReplaced: each gateway's process is replaced under load, that of the leader too, twice
// and by one that fails as well: no user sees an error or another side, the share is in force at
// once, the ledger has each request once, those that were under way as interrupted, and a
// candidate that breaks then meets no more users than before.
func TestReplaced(t *testing.T) {
	servers := startCluster(t, 1)
	w := &walk{t: t, nats: []string{"nats://" + servers.clients[0]}, lease: lease, replaceable: true, exposure: walkExposure}
	end := w.halfway(3)
	for _, g := range w.all {
		g.replace(5000)
	}
	for _, g := range w.all {
		<-g.processes.Ended // or both have permits
		g.replace(5000)
	}
	if both := w.sides.onBoth(); len(both) > 0 {
		t.Errorf("%d users were on both sides: %s", len(both), both)
	}
	for _, g := range w.all {
		process.Until(t, g.name+" is connected", func() bool { return g.fleet().Connected })
	}
	w.promote(whittle.All)
	w.everywhere(whittle.All)

	g := w.all[0]
	g.fails()
	process.Until(t, "it to take part again", func() bool { return g.fleet().Connected && g.inForce() == 1 })

	w.breaks()
	end()
	w.adds()
	w.faultless()
}

// runServer is the process of a NATS server.
func runServer() {
	host, client := hostPort(os.Getenv("FLEET_CLIENTS"))
	o := &server.Options{
		ServerName: os.Getenv("FLEET_NAME"), Host: host, Port: client, JetStream: true, StoreDir: os.Getenv("FLEET_DIR"),
		SyncAlways: true, JetStreamMaxStore: 8 << 30, // and not what the disk has
	}
	if all := strings.Split(os.Getenv("FLEET_ROUTES"), ","); len(all) > 1 {
		host, route := hostPort(os.Getenv("FLEET_ROUTE"))
		o.Cluster = server.ClusterOpts{Name: "test", Host: host, Port: route, NoAdvertise: true}
		for _, address := range all {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: address})
		}
	}
	natstest.Serve(o)
}

func hostPort(address string) (host string, port int) {
	host, text, _ := net.SplitHostPort(address)
	port, _ = strconv.Atoi(text)
	return host, port
}

// link passes connections on to a server, until it is cut.
type link struct {
	address, to string

	mu    sync.Mutex // guards the following
	isCut bool
	open  map[net.Conn]bool
}

func newLink(t testing.TB, to string) *link {
	k := &link{to: to, open: map[net.Conn]bool{}}
	at := rawtest.Serve(t, func(c net.Conn, _ int) { k.pass(c) })
	k.address = strings.TrimPrefix(at, "http://")
	t.Cleanup(func() { k.set(true) }) // before those that come are waited for
	return k
}

func (k *link) hold(c net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isCut {
		c.Close()
		return false
	}
	k.open[c] = true
	return true
}

func (k *link) release(c net.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, c)
	c.Close()
}

func (k *link) set(cut bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isCut = cut
	for c := range k.open {
		if cut {
			c.Close()
		}
	}
}

func (k *link) pass(c net.Conn) {
	if !k.hold(c) {
		return
	}
	defer k.release(c)
	s, err := net.DialTimeout("tcp", k.to, time.Second)
	if err != nil || !k.hold(s) {
		return
	}
	defer k.release(s)
	var both sync.WaitGroup
	for _, d := range [][2]net.Conn{{c, s}, {s, c}} {
		both.Go(func() {
			_, _ = io.Copy(d[0], d[1])
			d[0].Close()
		})
	}
	both.Wait()
}

// addresses are those of servers that are to come.
func addresses(t testing.TB, n int) []string {
	t.Helper()
	all, err := child.Addresses(n)
	fatal.If(t, err)
	return all
}
