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
	"strconv"
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

const (
	walked       = "GET /items/{id}"
	walkExposure = 30
)

var walkConfig = template.Must(template.New("whittle.yaml").Parse(`listen: 127.0.0.1:0
admin: 127.0.0.1:0
monolith: {{.Monolith}}
fleet: {nats: "{{.NATS}}", name: walk, member: {{.Member}}, lease: 2s}
routes:
  - match: GET /items/{id}
    candidate: {{.Candidate}}
    mirror: {repeat_every: 5}
    compare: {min_compared: 100}
    rollout: {auto: false, steps: [50, 100], hold: 10ms, min_requests: 1, harm: off, sticky_by: header:X-User}
    guard: {exposure: {{.Exposure}}, p99: off} # the machine is busy
`))

// sides are the two upstreams of the walk, which know of each request who was asked first:
// users' requests come to the candidate first, mirrored ones to the monolith.
type sides struct {
	monolith, candidate *httptest.Server
	broken              atomic.Bool

	mu     sync.Mutex // guards the following
	first  map[string]whittle.Side
	users  map[string]map[whittle.Side]bool // who was asked first for whom, since it was cleared
	harmed int                              // users' requests that have met the broken candidate
}

func newSides(t *testing.T) *sides {
	s := &sides{first: map[string]whittle.Side{}, users: map[string]map[whittle.Side]bool{}}
	s.monolith, s.candidate = s.serve(t, whittle.Monolith), s.serve(t, whittle.Candidate)
	return s
}

func (s *sides) asked(side whittle.Side, r *http.Request) (broken bool) {
	broken = side == whittle.Candidate && s.broken.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	id, user := r.Header.Get("X-Number"), r.Header.Get("X-User")
	if _, known := s.first[id]; known {
		return broken
	}
	s.first[id] = side
	if s.users[user] == nil {
		s.users[user] = map[whittle.Side]bool{}
	}
	s.users[user][side] = true
	if broken {
		s.harmed++
	}
	return broken
}

// onBoth are the users that were on both sides since this was asked last.
func (s *sides) onBoth() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for user, on := range s.users {
		if len(on) > 1 {
			all = append(all, user)
		}
	}
	clear(s.users)
	return all
}

func (s *sides) serve(t *testing.T, side whittle.Side) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.asked(side, r) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":%q,"stock":[1,2,3],"name":"a thing"}`, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	return server
}

// walk is a fleet of whole gateways with users.
type walk struct {
	t                *testing.T
	nats             []string
	sides            *sides
	number           atomic.Int64
	all              []*whole
	users            sync.WaitGroup
	errors, requests atomic.Int64
	lastError        atomic.Value
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
		"Monolith": g.w.sides.monolith.URL, "Candidate": g.w.sides.candidate.URL, "NATS": strings.Join(g.w.nats, ","), "Member": g.name, "Exposure": fmt.Sprint(walkExposure),
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
	f, _ = c.Fleet(g.w.t.Context())
	return f
}

// inForce is what users have at this gateway, as its own metrics say.
func (g *whole) inForce() float64 {
	g.mu.Lock()
	address := g.p.Admin
	g.mu.Unlock()
	r, err := http.NewRequestWithContext(g.w.t.Context(), http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		g.w.t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 1
	}
	defer a.Body.Close()
	b, _ := io.ReadAll(a.Body)
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "whittle_fleet_share_in_force{route=\""+walked+"\"} "); ok {
			v, _ := strconv.ParseFloat(rest, 64)
			return v
		}
	}
	return 1
}

func startWalk(t *testing.T, nats []string, gateways int) *walk {
	w := &walk{t: t, nats: nats, sides: newSides(t)}
	for i := range gateways {
		g := &whole{w: w, name: fmt.Sprint("g", i), dir: t.TempDir()}
		g.start()
		w.all = append(w.all, g)
	}
	return w
}

// serve has users ask, each any of the gateways that are up, until ctx ends.
func (w *walk) serve(ctx context.Context) {
	for i := range 4 {
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
	r.Header.Set("X-Number", fmt.Sprint(w.number.Add(1)))
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
	for deadline := time.Now().Add(time.Minute); ; <-time.After(200 * time.Millisecond) {
		ok := true
		for _, g := range w.all {
			if _, up := g.address(); !up {
				continue
			}
			ok = ok && g.inForce() == float64(share)/float64(whittle.All)
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

// TestWholeGateways: three gateways shift as one while their leader is killed, and while
// each is restarted; at each step a user is on one side, whichever gateway takes the
// request; a rollback is ordered at one that does not lead, and its leader is killed; with
// NATS gone nobody has users on the candidate, and all are served; a candidate that breaks
// meets no more users than one gateway would let it.
func TestWholeGateways(t *testing.T) {
	servers := startCluster(t, 1)
	var nats []string
	for _, c := range servers.clients {
		nats = append(nats, "nats://"+c)
	}
	w := startWalk(t, nats, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer func() { cancel(); w.users.Wait() }()
	w.serve(ctx)

	// The leader is killed in the middle of the shift.
	w.promote(5000)
	w.everywhere(5000)
	w.oneSide()
	old := w.leader()
	old.leave(syscall.SIGKILL)
	w.promote(whittle.All)
	w.everywhere(whittle.All)
	old.start()
	w.everywhere(whittle.All)

	// A rollback at a gateway that does not lead, whose leader is killed then.
	lead := w.leader()
	follower := w.all[(slices.Index(w.all, lead)+1)%3]
	after, err := w.order(follower, rollout.Order{Kind: rollout.Rollback})
	if err != nil || after.Share != 0 {
		t.Fatalf("%v %v", after.Share, err)
	}
	lead.leave(syscall.SIGKILL)
	w.everywhere(0)
	lead.start()
	w.everywhere(0)

	// All are restarted, one after the other, while the shift goes on.
	w.promote(5000)
	w.everywhere(5000)
	for _, g := range w.all {
		g.leave(syscall.SIGTERM)
		g.start()
		until(t, g.name+" is back", func() bool { return g.fleet().Connected })
	}
	w.promote(whittle.All)
	w.everywhere(whittle.All)

	// NATS goes.
	for _, s := range servers.servers {
		s.Kill()
	}
	until(t, "nobody is on the candidate", func() bool {
		return !slices.ContainsFunc(w.all, func(g *whole) bool { return g.inForce() > 0 })
	})
	for i := range servers.servers {
		servers.start(i)
	}
	w.everywhere(whittle.All)

	// The candidate breaks.
	w.sides.broken.Store(true)
	w.everywhere(0)
	w.sides.mu.Lock()
	harmed := w.sides.harmed
	w.sides.mu.Unlock()
	if harmed == 0 || harmed > walkExposure {
		t.Errorf("%d users' requests met the broken candidate, and %d may", harmed, walkExposure)
	}

	cancel()
	w.users.Wait()
	w.adds()
	if n := w.errors.Load(); n > 0 {
		t.Errorf("%d of %d users' requests failed: %v", n, w.requests.Load(), w.lastError.Load())
	}
	t.Logf("%d requests, %d of which met the broken candidate", w.requests.Load(), harmed)
}

// oneSide fails where a user is on one side at one gateway and on the other at another.
func (w *walk) oneSide() {
	w.t.Helper()
	w.sides.onBoth()
	begun := w.requests.Load()
	until(w.t, "users ask", func() bool { return w.requests.Load() > begun+300 })
	if both := w.sides.onBoth(); len(both) > 0 && !w.moved() {
		w.t.Errorf("%d users were on both sides, such as %s", len(both), both[0])
	}
}

// moved reports whether the share is another one by now, or a request was refused by a
// bound, so that its user was on both sides for a reason.
func (w *walk) moved() bool { return w.all[0].route().Share != 5000 }

func (w *walk) order(g *whole, o rollout.Order) (whittle.RouteStatus, error) {
	c := g.admin()
	defer c.Close()
	o.By, o.Reason = "the test", "to see it"
	return c.Order(w.t.Context(), walked, o)
}

// promote takes a step by hand, at any gateway, as soon as the evidence allows it.
func (w *walk) promote(to whittle.Share) {
	w.t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
		for _, g := range w.all {
			if _, up := g.address(); !up {
				continue
			}
			if _, err = w.order(g, rollout.Order{Kind: rollout.Promote, To: to}); err == nil || g.route().Share == to {
				return
			}
		}
	}
	w.say("never promoted")
	w.t.Fatal(err)
}

// adds waits until the ledger has every request, once: but for those that a gateway had
// not reported yet when it was killed.
func (w *walk) adds() {
	w.t.Helper()
	const unreported = 200
	until(w.t, "the ledger adds up", func() bool {
		l, n := w.all[0].route().Ledger, w.requests.Load()
		if l.Total > n || l.Total != l.Sum() {
			w.t.Fatalf("the ledger has %s of %d requests", l.Account(), n)
		}
		return l.Total >= n-unreported && l.Compared > 0
	})
}

var built string

func build() (err error) {
	built, err = process.Build("./cmd/whittle")
	return err
}
