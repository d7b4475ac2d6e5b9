// Package fleet tests whole gateways and NATS servers as processes of their own, which are
// killed, and links between them, which are cut.
package fleet

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
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
