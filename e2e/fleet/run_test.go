package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/template"
	"time"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/e2e/process"
	"whittle/internal/child"
)

const walked = "GET /items/{id}"

var walkConfig = template.Must(template.New("whittle.yaml").Parse(`listen: 127.0.0.1:0
admin: 127.0.0.1:0
monolith: {{.Monolith}}
fleet: {nats: "{{.NATS}}", name: walk, member: {{.Member}}, lease: 2s}
routes:
  - match: GET /items/{id}
    candidate: {{.Candidate}}
    mirror: {repeat_every: 5}
    compare: {min_compared: 100}
    rollout: {steps: [50, 100], hold: 1s, soak: 1s, min_requests: 20, harm: off, sticky_by: header:X-User}
    guard: {exposure: 30}
`))

// side is an upstream of the walk.
type side struct {
	*httptest.Server
	broken atomic.Bool
	mu     sync.Mutex // guards the following
	users  map[string]int
	served int
	failed int
}

func newSide(t *testing.T) *side {
	s := &side{users: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.served++
		if s.broken.Load() {
			s.failed++
		}
		s.mu.Unlock()
		if s.broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":%q,"stock":[1,2,3],"name":"a thing"}`, r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

// walk is a fleet of whole gateways with users.
type walk struct {
	t                   *testing.T
	nats                []string
	monolith, candidate *side
	all                 []*whole
	users               sync.WaitGroup
	errors, requests    atomic.Int64
	lastError           atomic.Value
}

// whole is one whittle run.
type whole struct {
	w    *walk
	name string
	dir  string
	mu   sync.Mutex // guards the following
	p    *child.Process
	up   bool
}

func (g *whole) start() {
	g.w.t.Helper()
	file := filepath.Join(g.dir, "whittle.yaml")
	f, err := os.Create(file)
	if err != nil {
		g.w.t.Fatal(err)
	}
	err = walkConfig.Execute(f, map[string]string{
		"Monolith": g.w.monolith.URL, "Candidate": g.w.candidate.URL, "NATS": strings.Join(g.w.nats, ","), "Member": g.name,
	})
	if err := errors.Join(err, f.Close()); err != nil {
		g.w.t.Fatal(err)
	}
	p, err := child.Start(g.w.t.Context(), child.Options{}, filepath.Join(built, "whittle"), "run", "-c", file)
	if err != nil {
		g.w.t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.p, g.up = p, true
	g.w.t.Cleanup(p.Kill)
}

// leave has the gateway take no more users, and ends it by a signal.
func (g *whole) leave(s os.Signal) {
	g.mu.Lock()
	p := g.p
	g.up = false
	g.mu.Unlock()
	if s == syscall.SIGKILL {
		p.Kill()
		return
	}
	p.Stop()
}

func (g *whole) address() (string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.p.Public, g.up
}

func (g *whole) admin() *admin.Client {
	g.mu.Lock()
	defer g.mu.Unlock()
	c, err := admin.Dial(g.p.Admin, "")
	if err != nil {
		g.w.t.Fatal(err)
	}
	return c
}

func (g *whole) route() (r whittle.RouteStatus) {
	c := g.admin()
	defer c.Close()
	r, _ = c.Route(g.w.t.Context(), walked)
	return r
}

func (g *whole) fleet() (f whittle.FleetStatus) {
	c := g.admin()
	defer c.Close()
	if s, err := c.Status(g.w.t.Context()); err == nil && s.Fleet != nil {
		f = *s.Fleet
	}
	return f
}

func startWalk(t *testing.T, nats []string, gateways int) *walk {
	w := &walk{t: t, nats: nats, monolith: newSide(t), candidate: newSide(t)}
	for i := range gateways {
		g := &whole{w: w, name: fmt.Sprint("g", i), dir: t.TempDir()}
		g.start()
		w.all = append(w.all, g)
	}
	return w
}

// serve has users ask, each any of the gateways that are up, until ctx ends.
func (w *walk) serve(ctx context.Context) {
	for i := range 8 {
		w.users.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			pace := time.NewTicker(20 * time.Millisecond)
			defer pace.Stop()
			for n := i; ctx.Err() == nil; n++ {
				w.ask(ctx, client, n)
				<-pace.C
			}
		})
	}
}

func (w *walk) ask(ctx context.Context, client *http.Client, n int) {
	g := w.all[n%len(w.all)]
	address, up := g.address()
	if !up {
		return
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/items/%d", address, n%50), http.NoBody)
	if err != nil {
		w.t.Error(err)
		return
	}
	r.Header.Set("X-User", fmt.Sprint("u", n%97))
	a, err := client.Do(r)
	if err == nil {
		_, err = io.Copy(io.Discard, a.Body)
		a.Body.Close()
		if a.StatusCode != http.StatusOK {
			err = errors.New(a.Status)
		}
	}
	if _, stillUp := g.address(); err != nil && stillUp && ctx.Err() == nil {
		w.errors.Add(1)
		w.lastError.Store(fmt.Sprint(g.name, ": ", err))
	}
	w.requests.Add(1)
}

func (w *walk) leader() *whole {
	w.t.Helper()
	var at *whole
	until(w.t, "one leads", func() bool {
		for _, g := range w.all {
			if _, up := g.address(); !up {
				continue
			}
			f := g.fleet()
			i := slices.IndexFunc(w.all, func(o *whole) bool { return o.name == f.Leader })
			if i < 0 || !f.Connected {
				continue
			}
			if _, up := w.all[i].address(); up {
				at = w.all[i]
				return true
			}
		}
		return false
	})
	return at
}

func (w *walk) say(what string) {
	for _, g := range w.all {
		if _, up := g.address(); up {
			r, f := g.route(), g.fleet()
			w.t.Logf("%s: %s: share %v, %s, verdict %s, compared %d of %d, generation %d; leader %s, wrong %q; next: %s", what, g.name, r.Share, r.Phase, r.Verdict.State, r.Verdict.Compared, r.Ledger.Total, r.Generation, f.Leader, f.Wrong, r.Next)
			for _, d := range r.Timeline {
				w.t.Logf("   %d: %d → %d: %s", d.Generation, d.From, d.To, d.Reason)
			}
			for _, m := range f.Members {
				w.t.Logf("   %+v", m)
			}
		}
	}
}

// everywhere waits until users have a share at all gateways that are up.
func (w *walk) everywhere(share whittle.Share) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) {
		ok := true
		for _, g := range w.all {
			if _, up := g.address(); !up {
				continue
			}
			f := g.fleet()
			i := slices.IndexFunc(f.Members, func(m whittle.FleetMember) bool { return m.Name == g.name })
			ok = ok && i >= 0 && len(f.Members[i].Routes) == 1 && f.Members[i].Routes[0].Share == share && f.Members[i].Alive
		}
		if ok {
			return
		}
		if time.Now().After(deadline) {
			w.say("never " + fmt.Sprint(share))
			w.t.FailNow()
		}
	}
}

func TestWholeGateways(t *testing.T) {
	servers := startCluster(t)
	var nats []string
	for _, c := range servers.clients {
		nats = append(nats, "nats://"+c)
	}
	w := startWalk(t, nats, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer func() { cancel(); w.users.Wait() }()
	w.serve(ctx)
	w.everywhere(5000)
	t.Log("at 50 %")
	old := w.leader()
	old.leave(syscall.SIGKILL)
	w.everywhere(whittle.All)
	old.start()
	w.everywhere(whittle.All)

	lead := w.leader()
	follower := w.all[(slices.Index(w.all, lead)+1)%3]
	c := follower.admin()
	after, err := c.Order(t.Context(), walked, rollout.Order{Kind: rollout.Rollback, By: "test", Reason: "at a follower"})
	c.Close()
	if err != nil || after.Share != 0 {
		t.Fatalf("%v %v", after.Share, err)
	}
	w.everywhere(0)
	if n := w.errors.Load(); n > 0 {
		t.Errorf("%d of %d users' requests failed: %v", n, w.requests.Load(), w.lastError.Load())
	}
	t.Logf("%d requests", w.requests.Load())
}

var built string

func build() (err error) {
	built, err = process.Build("./cmd/whittle")
	return err
}
