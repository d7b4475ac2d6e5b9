package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"whittle"
	"whittle/carve/fleet"
	"whittle/carve/fleet/jetstream"
	"whittle/internal/child"
)

const path = "GET /x"

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

// state is what a gateway has in force.
type state struct {
	Share      whittle.Share
	Generation uint64
	Leads      bool
	Connected  bool
	Tripped    bool
}

// runGateway is the process of a gateway's part in the fleet.
func runGateway() {
	lease, err := time.ParseDuration(os.Getenv("FLEET_LEASE"))
	if err != nil {
		panic(err)
	}
	kept, _ := os.ReadFile(os.Getenv("FLEET_KEPT")) // none at first
	m, err := jetstream.Open(jetstream.Options{
		Servers: os.Getenv("FLEET_SERVERS"), Name: "test", Replicas: 3,
		Node: fleet.Config{
			Member: os.Getenv("FLEET_NAME"), Run: 1, Lease: lease, Kept: kept,
			Routes: []fleet.Route{{Name: path, Digest: "d", Candidate: "c", Exposure: 50}},
		},
		Save: func(b []byte) error {
			next := os.Getenv("FLEET_KEPT") + ".next"
			return errors.Join(os.WriteFile(next, b, 0o600), os.Rename(next, filepath.Clean(os.Getenv("FLEET_KEPT"))))
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := &http.Server{Handler: orders(m), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	fmt.Println("listening public=" + l.Addr().String())
	m.Run(ctx)
	_ = s.Close()
}

func orders(m *jetstream.Member) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		var s state
		m.Do(func(n *fleet.Node, now fleet.Instant) {
			p := n.InForce(path, now)
			_, s.Leads = n.Leads(now)
			s.Share, s.Generation, s.Connected = p.Share, n.Taken(path).Generation, n.Connected(now)
			s.Tripped = p.Phase == whittle.PhaseRolledBack
		})
		_ = json.NewEncoder(w).Encode(s)
	})
	mux.HandleFunc("POST /trip", func(http.ResponseWriter, *http.Request) {
		m.Do(func(n *fleet.Node, now fleet.Instant) { n.Tripped(path, "broken", n.InForce(path, now).Generation) })
	})
	mux.HandleFunc("POST /decide", func(w http.ResponseWriter, r *http.Request) {
		share, _ := strconv.Atoi(r.URL.Query().Get("share"))
		done := false
		m.Do(func(n *fleet.Node, now fleet.Instant) {
			f := n.Floor(path)
			p := whittle.Position{Generation: f.Generation + 1, Zero: f.Zero, Share: whittle.Share(share), Phase: whittle.PhaseShift}
			if share == 0 {
				p.Zero, p.Phase = p.Generation, whittle.PhaseRolledBack
			}
			done = n.Propose(path, p, now)
		})
		if !done {
			w.WriteHeader(http.StatusConflict)
		}
	})
	return mux
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return all
}
