package fleet

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"whittle/internal/child"
	"whittle/internal/fatal"
)

// runServer is the process of a NATS server.
func runServer() {
	host, client := hostPort(os.Getenv("FLEET_CLIENTS"))
	o := &server.Options{
		ServerName: os.Getenv("FLEET_NAME"), Host: host, Port: client, JetStream: true, StoreDir: os.Getenv("FLEET_DIR"),
		SyncAlways: true, NoSigs: true, NoLog: true, JetStreamMaxStore: 8 << 30, // and not what the disk has
	}
	if all := strings.Split(os.Getenv("FLEET_ROUTES"), ","); len(all) > 1 {
		host, route := hostPort(os.Getenv("FLEET_ROUTE"))
		o.Cluster = server.ClusterOpts{Name: "test", Host: host, Port: route, NoAdvertise: true}
		for _, address := range all {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: address})
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		os.Exit(1)
	}
	fmt.Println("listening public=" + os.Getenv("FLEET_CLIENTS"))
	s.WaitForShutdown()
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
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal.If(t, err)
	k := &link{address: l.Addr().String(), to: to, open: map[net.Conn]bool{}}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { k.pass(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		k.set(true)
		work.Wait()
	})
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
