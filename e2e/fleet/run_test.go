package fleet

import (
	"cmp"
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
	"whittle/internal/fatal"
)

const (
	walked       = "GET /items/{id}"
	walkExposure = 30
)

var walkConfig = template.Must(template.New("whittle.yaml").Parse(`listen: 127.0.0.1:0
admin: 127.0.0.1:0
monolith: {{.Monolith}}
{{if .NATS}}fleet: {nats: "{{.NATS}}", name: walk, member: {{.Member}}, lease: {{.Lease}}{{.Peers}}}{{end}}
routes:
  - match: GET /items/{id}
    candidate: {{.Candidate}}
    mirror: {repeat_every: 5}
    compare: {min_compared: 100}
    rollout: {auto: false, steps: [50, 100], hold: 10ms, min_requests: 1, harm: off, unseen: shift, sticky_by: header:X-User}
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

func newSides(t testing.TB) *sides {
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

func (s *sides) serve(t testing.TB, side whittle.Side) *httptest.Server {
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
	t                testing.TB
	nats             []string
	peers            []string // where the gateways' own NATS servers are; empty: they have none
	cut              []string // addresses of servers that gateways reach by links
	lease            time.Duration
	exposure         int   // guard.exposure; 0: walkExposure
	replaceable      bool  // the gateways' processes are replaced by others
	unreported       int64 // requests of gateways that were killed, which no report has
	sides            *sides
	number           atomic.Int64
	mu               sync.Mutex // guards all where users ask
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
	// links are its connections to the servers, which can be cut; empty: there are none.
	links []*link
	// processes are its own, where each is replaced by another.
	processes *process.Replaceable
	// taken are the requests that this run has responded to.
	taken atomic.Int64

	mu     sync.Mutex // guards the following
	p      *child.Process
	up     bool
	killed bool
}

func (g *whole) start() {
	g.w.t.Helper()
	if g.killed {
		g.w.unreported += g.unreported()
	}
	g.taken.Store(0)
	file := filepath.Join(g.dir, "whittle.yaml")
	f, err := os.Create(file)
	fatal.If(g.w.t, err)
	servers := g.w.nats
	if len(g.links) > 0 {
		servers = nil
		for _, l := range g.links {
			servers = append(servers, "nats://"+l.address)
		}
	}
	err = walkConfig.Execute(f, map[string]string{
		"Monolith": g.w.sides.monolith.URL, "Candidate": g.w.sides.candidate.URL, "NATS": strings.Join(servers, ","), "Member": g.name, "Exposure": fmt.Sprint(cmp.Or(g.w.exposure, walkExposure)),
		"Lease": g.w.lease.String(), "Peers": g.w.shown(),
	})
	fatal.If(g.w.t, errors.Join(err, f.Close()))
	program := filepath.Join(built, "whittle")
	if len(g.w.peers) > 0 {
		program = filepath.Join(builtEmbedded, "whittle")
	}
	if g.w.replaceable {
		g.startReplaceable(program, file)
		return
	}
	o := child.Options{Env: []string{"FLEET_SECRET=0123456789abcdef"}, Log: filepath.Join(g.dir, "log")}
	p, err := child.Start(g.w.t.Context(), o, program, "run", "-c", file)
	fatal.If(g.w.t, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.p, g.up, g.killed = p, true, false
	g.w.t.Cleanup(p.Kill)
}

// unreported is how many requests a gateway that was killed had not reported, as the
// store has it.
func (g *whole) unreported() (n int64) {
	g.w.t.Helper()
	for range 2 { // a list is at most a second old
		process.Until(g.w.t, "the reports are read", func() bool {
			for _, other := range g.w.up() {
				f := other.fleet()
				i := slices.IndexFunc(f.Members, func(m whittle.FleetMember) bool { return m.Name == g.name })
				if f.Connected && i >= 0 && !strings.Contains(strings.Join(f.Wrong, " "), "cannot be read") {
					n = g.taken.Load() - f.Members[i].Routes[0].Requests
					return true
				}
			}
			return false
		})
		<-time.After(1100 * time.Millisecond)
	}
	return n
}

// leave has the gateway take no more users, and ends it by a signal.
func (g *whole) leave(s os.Signal) {
	g.mu.Lock()
	p := g.p
	g.up, g.killed = false, s == syscall.SIGKILL
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
	fatal.If(g.w.t, err)
	return c
}

func (g *whole) route() (r whittle.RouteStatus) {
	c := g.admin()
	defer c.Close()
	r, _ = c.Route(g.w.t.Context(), walked)
	return r
}

// latest is the route as the gateway shows it that knows of the last decision: one that is
// cut off shows an earlier one.
func (w *walk) latest() (last whittle.RouteStatus) {
	for _, g := range w.up() {
		if r := g.route(); r.Generation >= last.Generation {
			last = r
		}
	}
	return last
}

func (g *whole) fleet() (f whittle.FleetStatus) {
	c := g.admin()
	defer c.Close()
	f, _ = c.Fleet(g.w.t.Context())
	return f
}

// inForce is what users have at this gateway, as its own metrics say. More than 1: it does
// not say yet.
func (g *whole) inForce() float64 {
	if v, ok := g.metric("whittle_fleet_share_in_force"); ok {
		return v
	}
	return 2
}

// metric is one of the route's.
func (g *whole) metric(name string) (v float64, ok bool) {
	g.mu.Lock()
	address := g.p.Admin
	g.mu.Unlock()
	v, ok = process.Metrics(address)[name+"{route=\""+walked+"\"}"]
	return v, ok
}

// shown are the gateways' own NATS servers, as their config has them.
func (w *walk) shown() string {
	var all []string
	for i, address := range w.peers {
		all = append(all, fmt.Sprintf("g%d: %q", i, address))
	}
	if len(all) == 0 {
		return ""
	}
	return ", secret_env: FLEET_SECRET, peers: {" + strings.Join(all, ", ") + "}"
}

func (w *walk) start(gateways int) {
	w.sides = newSides(w.t)
	for i := range gateways {
		w.add(fmt.Sprint("g", i))
	}
}

func (w *walk) add(name string) {
	g := &whole{w: w, name: name, dir: w.t.TempDir()}
	for _, to := range w.cut {
		g.links = append(g.links, newLink(w.t, to))
	}
	g.start()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, g)
}

// up are the gateways that are up.
func (w *walk) up() []*whole {
	return slices.DeleteFunc(slices.Clone(w.all), func(g *whole) bool { _, up := g.address(); return !up })
}

// any is one of the gateways.
func (w *walk) any(n int) *whole {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[n%len(w.all)]
}

// halfway starts so many gateways with users, and has half of these on the candidate, each
// on one side. Users ask until end is called, or the test ends.
func (w *walk) halfway(gateways int) (end func()) {
	w.t.Helper()
	end = w.serve(gateways)
	w.promote(5000)
	w.everywhere(5000)
	w.oneSide()
	return end
}

// serve starts so many gateways, and has users ask, each any of those that are up, until end
// is called, or the test ends.
func (w *walk) serve(gateways int) (end func()) {
	w.start(gateways)
	ctx, cancel := context.WithCancel(w.t.Context())
	end = func() { cancel(); w.users.Wait() }
	w.t.Cleanup(end)
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
	return end
}

func (w *walk) ask(ctx context.Context, client *http.Client, n int) {
	g := w.any(n)
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
	if err == nil {
		g.taken.Add(1)
		w.requests.Add(1)
	}
}

func (w *walk) leader() *whole {
	w.t.Helper()
	var at *whole
	process.Until(w.t, "one leads", func() bool {
		up := w.up()
		return slices.ContainsFunc(up, func(g *whole) bool {
			f := g.fleet()
			i := slices.IndexFunc(up, func(o *whole) bool { return o.name == f.Leader })
			if i >= 0 {
				at = up[i]
			}
			return i >= 0 && f.Connected
		})
	})
	return at
}

func (w *walk) say(what string) {
	for _, g := range w.up() {
		r, f := g.route(), g.fleet()
		w.t.Logf("%s: %s: share %v, %s, verdict %s, compared %d of %d, generation %d; leader %s, wrong %q; next: %s",
			what, g.name, r.Share, r.Phase, r.Verdict.State, r.Verdict.Compared, r.Ledger.Total, r.Generation, f.Leader, f.Wrong, r.Next)
		for _, d := range r.Timeline {
			w.t.Logf("   %d: %d → %d: %s", d.Generation, d.From, d.To, d.Reason)
		}
		for _, m := range f.Members {
			w.t.Logf("   %+v", m)
		}
	}
}

// everywhere waits until users have a share at all gateways that are up.
func (w *walk) everywhere(share whittle.Share) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(200 * time.Millisecond) {
		if !slices.ContainsFunc(w.up(), func(g *whole) bool { return g.inForce() != float64(share)/float64(whittle.All) }) {
			return
		}
		if time.Now().After(deadline) {
			w.say("never " + fmt.Sprint(share))
			w.t.FailNow()
		}
	}
}

// breaks has the candidate break, and waits until it is rolled back, having met no more
// users than it may. It returns how many it has met. None at all is possible: who found no
// room within the bound was compared in the shadow.
func (w *walk) breaks() (harmed int) {
	w.t.Helper()
	shifted := w.latest().Generation
	w.sides.broken.Store(true)
	// Not the share in force: that is 0 too where gateways cannot hear of their fleet.
	process.Until(w.t, "the candidate is rolled back", func() bool {
		last := w.latest()
		return last.Generation > shifted && last.Share == 0
	})
	w.everywhere(0)
	w.sides.mu.Lock()
	harmed = w.sides.harmed
	w.sides.mu.Unlock()
	if most := cmp.Or(w.exposure, walkExposure); harmed > most {
		w.t.Errorf("%d users' requests met the broken candidate, and %d may", harmed, most)
	}
	return harmed
}

// faultless fails where a user has seen an error.
func (w *walk) faultless() {
	w.t.Helper()
	if n := w.errors.Load(); n > 0 {
		w.t.Errorf("%d of %d users' requests failed: %v", n, w.requests.Load(), w.lastError.Load())
	}
}

// oneSide fails where a user is on one side at one gateway and on the other at another, but
// for as many as the gateways say that a bound has sent to the monolith.
func (w *walk) oneSide() {
	w.t.Helper()
	pass := func(n int64) {
		begun := w.requests.Load()
		process.Until(w.t, "users ask", func() bool { return w.requests.Load() > begun+n })
	}
	pass(20) // what is under way was placed before
	diverted := w.diverted()
	w.sides.onBoth()
	pass(300)
	both := w.sides.onBoth()
	if most := w.diverted() - diverted; len(both) > most && w.all[0].route().Share == 5000 {
		w.t.Errorf("%d users were on both sides, such as %s, and a bound has sent %d requests to the monolith", len(both), both[0], most)
	}
}

// diverted is how many requests a bound has sent to the monolith.
func (w *walk) diverted() (n int) {
	for _, g := range w.up() {
		v, _ := g.metric("whittle_diverted_requests_total")
		n += int(v)
	}
	return n
}

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
		for _, g := range w.up() {
			if _, err = w.order(g, rollout.Order{Kind: rollout.Promote, To: to}); err == nil || w.latest().Share == to {
				return
			}
		}
	}
	w.say("never promoted")
	w.t.Fatal(err)
}

// adds waits until the ledger has every request, once: but for those that a gateway had
// not reported yet when it was killed, of which it has what was compared. Of what was
// under way then it is not known. At rest nothing is said to be under way.
func (w *walk) adds() {
	w.t.Helper()
	var l whittle.Ledger
	defer func() {
		w.t.Logf("of %d requests, %d of which gateways that were killed had not reported, the ledger has %s", w.requests.Load(), w.unreported, l.Account())
	}()
	const underWay = 8
	process.Until(w.t, "the ledger adds up", func() bool {
		n := w.requests.Load()
		l = w.all[0].route().Ledger
		if l.Total > n+underWay || l.Total != l.Sum() {
			w.t.Fatalf("the ledger has %s of %d requests", l.Account(), n)
		}
		return l.Total >= n-w.unreported-underWay && l.Compared > 0 && l.Pending == l.Unknown
	})
}

var built, builtEmbedded string

func build() (err error) {
	if built, err = process.Build("./cmd/whittle"); err == nil {
		builtEmbedded, err = process.BuildTagged("embedded", "./cmd/whittle")
	}
	return err
}
