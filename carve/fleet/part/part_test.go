package part

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/fleet"
	"whittle/carve/fleet/jetstream"
	"whittle/carve/rollout"
	"whittle/carve/state"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/internal/natstest"
	"whittle/record/redact"
)

func TestMain(m *testing.M) { natstest.Main(m) }

const name = "GET /a"

const lease = time.Second

func routes(candidate string) []whittle.Route {
	return []whittle.Route{{
		Name: name, Match: whittle.Match{Method: "GET", Pattern: "/a"}, Candidate: &whittle.Upstream{URL: candidate},
		Compare: whittle.Comparison{Kind: whittle.JSON, Confidence: 0.99, MinCompared: 20},
		Rollout: whittle.Rollout{Steps: []whittle.Share{5000, whittle.All}, Hold: time.Hour},
		Guard:   whittle.Guard{Errors: 0.01, P99: 1.5, Mismatch: 0.001, Confidence: 0.99, Consecutive: 5, Exposure: 50},
	}}
}

var monolith = whittle.Upstream{URL: "http://m"}

func jetStream(t *testing.T, url string) natsjs.JetStream {
	t.Helper()
	conn, err := nats.Connect(url)
	fatal.If(t, err)
	t.Cleanup(conn.Close)
	js, err := natsjs.New(conn)
	fatal.If(t, err)
	return js
}

// gateway counts requests, and has in force what its part says.
type gateway struct {
	*Part
	name string
	end  func()
	hung sync.Once

	mu     sync.Mutex // guards the following
	at     whittle.Position
	counts whittle.Counts
	hang   chan struct{} // nil: it does not hang; it does until this is closed
	hangs  chan struct{} // is closed once it does
}

func (g *gateway) Apply(_ string, p whittle.Position) bool {
	g.mu.Lock()
	hang := g.hang
	g.mu.Unlock()
	if hang != nil {
		g.hung.Do(func() { close(g.hangs) })
		<-hang
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.Generation > g.at.Generation {
		g.at = p
	}
	return true
}

func (g *gateway) Watch(string, whittle.Share)   {}
func (g *gateway) Permit(string, int, time.Time) {}

func (g *gateway) Counts(string) whittle.Counts {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts.Seq++
	c := g.counts
	c.Ledger = whittle.Ledger{}
	c.Ledger.Add(&g.counts.Ledger)
	return c
}

func (g *gateway) position() whittle.Position {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at
}

// store is a gateway's own state file.
type store struct{ kept sync.Map } // of state.Record, by the route

func (s *store) Load(route string) (state.Record, error) {
	kept, _ := s.kept.Load(route)
	r, _ := kept.(state.Record) // none: an empty one
	return r, nil
}

func (s *store) Save(route string, r state.Record) error {
	s.kept.Store(route, r)
	return nil
}

func join(t *testing.T, url, member string, specs []whittle.Route) *gateway {
	t.Helper()
	g := open(t, url, member, specs)
	process.Until(t, member+" is connected", func() bool { return g.Fleet().Connected })
	return g
}

// two are a gateway that leads, and one that does not.
func two(t *testing.T) (url string, a, b *gateway) {
	t.Helper()
	url = natstest.JetStream(t)
	a = join(t, url, "a", routes("http://c"))
	process.Until(t, "a leads", func() bool { return leads(a) })
	return url, a, join(t, url, "b", routes("http://c"))
}

// halfway are two with half of the users on the candidate.
func halfway(t *testing.T) (a, b *gateway) {
	t.Helper()
	_, a, b = two(t)
	fatal.If(t, b.Order(t.Context(), name, toHalf))
	process.Until(t, "both have users", func() bool { return a.position().Share == 5000 && b.position().Share == 5000 })
	return a, b
}

var toHalf = rollout.Order{Kind: rollout.Promote, Force: true, Reason: "a test", To: 5000}

// rolledBack waits until nobody has users at a, and b shows why.
func rolledBack(t *testing.T, a, b *gateway) {
	t.Helper()
	process.Until(t, "a has none", func() bool { return a.position().Share == 0 })
	process.Until(t, "it is decided", func() bool { r, err := b.Route(name); return err == nil && r.Phase == whittle.PhaseRolledBack })
}

// open is join of a gateway that may not be connected.
func open(t *testing.T, url, member string, specs []whittle.Route) *gateway {
	t.Helper()
	g := &gateway{name: member, counts: whittle.Counts{Run: uint64(time.Now().UnixNano())}}
	by, err := redact.New(redact.Rules{}, redact.NewKey())
	fatal.If(t, err)
	g.Part, err = New(Options{
		Fleet:     jetstream.Options{Servers: url, Name: "test", Node: fleet.Config{Member: member, Version: "1", Lease: lease}},
		PerSecond: 10_000, Monolith: monolith, Routes: specs, Gateway: g, Store: &store{},
		Redact: by, NewJudge: control.Redacting(by),
	})
	fatal.If(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	g.end = func() { cancel(); running.Wait(); g.Close() }
	t.Cleanup(g.end)
	return g
}

// ask has n requests to a gateway, each of which is compared.
func (g *gateway) ask(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		g.mu.Lock()
		g.counts.Ledger.Total++
		g.counts.Ledger.Pending++
		g.mu.Unlock()
		if o := g.Observe(g.exchange(i)); !o.Counted {
			t.Fatalf("%s: %+v", g.name, o)
		}
	}
}

// exchange is one in which both sides have responded alike.
func (g *gateway) exchange(i int) *whittle.Exchange {
	body := fmt.Appendf(nil, `{"n":%d,"token":"a secret of %s"}`, i, g.name)
	response := whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: body, Latency: time.Millisecond}
	return &whittle.Exchange{
		Route: name, User: uint64(i + 1), At: time.Now(), Request: whittle.Request{Method: "GET", Target: "/a"},
		Monolith: response, Candidate: response,
	}
}

func ledger(g *gateway) whittle.Ledger {
	r, err := g.Route(name)
	if err != nil {
		return whittle.Ledger{}
	}
	return r.Ledger
}

func leads(g *gateway) bool { return g.own.Load() != nil }

// TestAFollowerIsUpToDate: a gateway that does not lead shows no share from before the
// position that it knows, however old the record is that it has read, and the traffic of
// all gateways.
func TestAFollowerIsUpToDate(t *testing.T) {
	url, a, b := two(t)
	c := join(t, url, "c", routes("http://c"))
	known := func(g *gateway) force { return g.seen.Load().force[name] }
	generation := known(b).generation
	for i, o := range []rollout.Order{
		toHalf,
		{Kind: rollout.Rollback, Reason: "a test"},
		{Kind: rollout.Reset, Reason: "a test"},
		toHalf,
	} {
		fatal.If(t, c.Order(t.Context(), name, o))
		process.Until(t, "b and c know of the decision", func() bool { return min(known(b).generation, known(c).generation) > generation })
		at := known(b)
		generation = at.generation
		r, err := b.Route(name)
		if err != nil || r.Generation < at.generation || r.Share != at.decided || r.Percent != at.decided.Percent() || r.Phase != at.phase {
			t.Errorf("order %d: it knows %+v, and shows %d, %s, generation %d: %v", i, at, r.Share, r.Phase, r.Generation, err)
		}
	}
	b.Outcome(whittle.Outcome{Route: name, User: 1, At: time.Now(), Side: whittle.Monolith, Status: 200, Latency: time.Millisecond})
	for _, g := range []*gateway{a, b, c} {
		process.Until(t, g.name+" shows a request at b", func() bool { r, err := g.Route(name); return err == nil && r.Monolith.PerSecond > 0 })
	}
}

// TestARollbackNeedsNoLeader: while nobody leads, an order to roll back opens the breaker
// everywhere.
func TestARollbackNeedsNoLeader(t *testing.T) {
	a, b := halfway(t)
	b.fall(name, &rollout.Order{Kind: rollout.Rollback})
	rolledBack(t, a, b)
}

// TestARollbackDoesNotWaitForALeaderThatHangs: it holds the lease and the connection, and
// responds nothing.
func TestARollbackDoesNotWaitForALeaderThatHangs(t *testing.T) {
	a, b := halfway(t)
	hang, hangs := make(chan struct{}), make(chan struct{})
	a.mu.Lock()
	a.hang, a.hangs = hang, hangs
	a.mu.Unlock()
	goOn := sync.OnceFunc(func() {
		a.mu.Lock()
		a.hang = nil
		a.mu.Unlock()
		close(hang)
	})
	defer goOn()
	<-hangs
	ctx, cancel := context.WithCancel(t.Context())
	ordered := make(chan error, 1)
	go func() { ordered <- b.Order(ctx, name, rollout.Order{Kind: rollout.Rollback, Reason: "a test"}) }()
	process.Until(t, "b has none", func() bool { p := b.position(); return p.Share == 0 && p.Phase == whittle.PhaseRolledBack })
	cancel()
	err := <-ordered
	goOn()
	if err != nil && !strings.Contains(err.Error(), "the circuit breaker has been opened") {
		t.Error(err)
	}
	rolledBack(t, a, b)
}

// TestStoreDeleted: an operator deletes the fleet's bucket and stream under it. Nobody has
// users on the candidate then; the store is made anew, and the shift goes on from shadow.
func TestStoreDeleted(t *testing.T) {
	url, a, b := two(t)
	a.ask(t, 1)
	fatal.If(t, b.Order(t.Context(), name, toHalf))
	has := func(share whittle.Share) func() bool {
		return func() bool { return a.position().Share == share && b.position().Share == share }
	}
	process.Until(t, "both have users", has(5000))
	js := jetStream(t, url)
	streams := js.StreamNames(t.Context())
	for stream := range streams.Name() {
		fatal.If(t, js.DeleteStream(t.Context(), stream))
	}
	process.Until(t, "nobody has users", has(0))
	process.Until(t, "both are connected, and one leads", func() bool {
		return a.Fleet().Connected && b.Fleet().Connected && (leads(a) || leads(b))
	})
	for _, g := range []*gateway{a, b} {
		process.Until(t, "an exchange of "+g.name+" is sent", func() bool { return g.Observe(g.exchange(1)).Counted })
	}
	process.Until(t, "it rises again", func() bool { return b.Order(t.Context(), name, toHalf) == nil })
	process.Until(t, "both have users", has(5000))
}

// TestAClockThatIsOff: a gateway whose clock is an hour before the servers', or behind, sees
// who reports and who does not, and says whose clock is off.
func TestAClockThatIsOff(t *testing.T) {
	g := open(t, "nats://127.0.0.1:1", "a", routes("http://c"))
	for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
		now := time.Now()
		m := &g.members
		m.mu.Lock()
		m.at, m.read, m.failed = now, now, nil
		m.listed = []jetstream.Reported{{Report: fleet.Report{Member: "a", At: now}, At: now.Add(off)}, {Report: fleet.Report{Member: "b"}, At: now.Add(off - 9*lease)}}
		m.mu.Unlock()
		status := g.Fleet()
		want := map[time.Duration]string{time.Hour: "a is 1h0m0s behind the", -time.Hour: "a is 1h0m0s ahead of the"}[off]
		if said := strings.Join(status.Wrong, "\n"); strings.Contains(said, "clock") != (off != 0) || !strings.Contains(said, want) {
			t.Errorf("off by %v: %s", off, said)
		}
		all := status.Members
		if len(all) != 2 || !all[0].Alive || all[1].Alive || all[1].Silent < 9 || all[1].Silent > 19 {
			t.Errorf("off by %v: %+v", off, all)
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	for _, c := range []struct {
		part   float64
		came   int64
		budget int
		want   float64
	}{
		{1, 100, 500, 1},
		{1, 1000, 500, 0.5},
		{1, 100_000, 500, 0.5},
		{0.5, 250, 500, 1},
		{0.1, 500, 500, 0.1},
		{0.1, 50, 500, 0.2},
		{0.1, 0, 500, 0.2},
		{1e-6, 1 << 40, 1, 1e-6},
	} {
		fatal.Same(t, fitted(c.part, c.came, c.budget, time.Second), c.want, "%+v", c)
	}
	var c conduct
	c.start()
	c.outcomes.Store(c.exchanges.Load())
	c.outcomes.Store(0x3fe0000000000000) // 0.5
	n := 0
	for user := range uint64(10_000) {
		if c.counts(user + 1) {
			n++
		}
	}
	if n < 4500 || n > 5500 {
		t.Errorf("%d of 10,000 users at a half", n)
	}
}

// TestALeaderThatIsCutOff shows what it knew last, also where it never read the fleet's
// records.
func TestALeaderThatIsCutOff(t *testing.T) {
	s := natstest.Start(t, natstest.Streams(t))
	a := join(t, s.ClientURL(), "a", routes("http://c"))
	process.Until(t, "it leads", func() bool { return leads(a) })
	a.ask(t, 7)
	process.Until(t, "all are compared", func() bool { return ledger(a).Compared == 7 })
	natstest.Stop(s)
	process.Until(t, "it does not lead any more", func() bool { return !leads(a) && !a.Fleet().Connected })
	if l := ledger(a); l.Compared != 7 || l.Total != 7 {
		t.Errorf("%s", l.Account())
	}
}

// TestWhatIsWrongWithNATS: a gateway whose servers refuse it, or have no JetStream, or too
// little room or too short messages for it, says so, and joins when they are mended.
func TestWhatIsWrongWithNATS(t *testing.T) {
	addresses, err := child.Addresses(1) // one server after the other has it
	fatal.If(t, err)
	host, text, err := net.SplitHostPort(addresses[0])
	fatal.If(t, err)
	port, err := strconv.Atoi(text)
	fatal.If(t, err)
	start := func(o *server.Options) *server.Server {
		o.Host, o.Port, o.StoreDir = host, port, t.TempDir()
		return natstest.Start(t, o)
	}
	without := start(&server.Options{})
	g := open(t, without.ClientURL(), "a", routes("http://c"))
	says := func(part string) {
		t.Helper()
		process.Until(t, "it says "+part, func() bool {
			f := g.Fleet()
			return !f.Connected && slices.ContainsFunc(f.Wrong, func(text string) bool { return strings.Contains(text, part) })
		})
	}
	says("no JetStream responds")
	natstest.Stop(without)
	refusing := start(&server.Options{JetStream: true, Authorization: "another word"})
	says("uthorization")
	natstest.Stop(refusing)
	small := start(&server.Options{JetStream: true, JetStreamMaxStore: 100 << 20})
	says("insufficient storage resources")
	natstest.Stop(small)
	joined := func(parts ...string) {
		t.Helper()
		process.Until(t, fmt.Sprint("it joins, and says ", parts), func() bool {
			f := g.Fleet()
			all := strings.Join(f.Wrong, "\n")
			return f.Connected && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(all, part) })
		})
	}
	user := func(may *server.Permissions) *server.Options {
		return &server.Options{
			JetStream: true, JetStreamMaxStore: 8 << 30, NoAuthUser: "w", Users: []*server.User{{Username: "w", Password: "p", Permissions: may}},
		}
	}
	denied := start(user(&server.Permissions{Publish: &server.SubjectPermission{Allow: []string{">"}, Deny: []string{"$KV.whittle_test.>"}}}))
	says(`Publish to "$KV.whittle_test.member`)
	natstest.Stop(denied)
	deaf := start(user(&server.Permissions{Subscribe: &server.SubjectPermission{Deny: []string{"_INBOX.>"}}}))
	says(`for Subscription to "_INBOX.`)
	if revision, rest := g.reread(t.Context(), 7); revision != 7 || rest != showEvery {
		t.Errorf("records that are waited for in vain are looked at again after %v, and %d was read", rest, revision)
	}
	natstest.Stop(deaf)
	// The permissions that docs/fleet.md has are enough.
	least := start(user(&server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{"$JS.API.>", "$JS.FC.>", "$KV.whittle_test.>", "whittle.test.>", "_INBOX.>"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"whittle.test.>", "_INBOX.>"}},
	}))
	joined()
	process.Until(t, "an exchange is judged", func() bool { g.Observe(g.exchange(0)); return ledger(g).Compared > 0 })
	process.Until(t, "the members are read again, and nothing is wrong", func() bool { return len(g.Fleet().Wrong) == 0 })
	natstest.Stop(least)
	half := start(&server.Options{JetStream: true, JetStreamMaxStore: 400 << 20, MaxPayload: 64 << 10})
	joined("messages of 64 KiB at most")
	for range 2 { // the first finds that the stream which it had is gone, the other one makes another
		if o := g.Observe(g.exchange(0)); o.Counted {
			t.Errorf("%+v without a stream", o)
		}
	}
	joined("Exchanges cannot be sent", "insufficient storage resources")
	natstest.Stop(half)
	start(&server.Options{JetStream: true, JetStreamMaxStore: 8 << 30})
	process.Until(t, "an exchange is sent", func() bool { return g.Observe(g.exchange(0)).Counted })
	joined()
	if f := g.Fleet(); strings.Contains(strings.Join(f.Wrong, "\n"), "cannot be sent") {
		t.Errorf("%q", f.Wrong)
	}
	g.end()
}

// TestTwoOfOneName: the later process has the name, and the earlier one has no part.
func TestTwoOfOneName(t *testing.T) {
	url := natstest.JetStream(t)
	old := join(t, url, "a", routes("http://c"))
	process.Until(t, "it leads", func() bool { return leads(old) })
	join(t, url, "a", routes("http://c"))
	process.Until(t, "the earlier one has no part", func() bool { return !leads(old) && !old.Fleet().Connected })
	if o := old.Fleet(); len(o.Wrong) == 0 || !strings.Contains(o.Wrong[0], "name") {
		t.Errorf("%q", o.Wrong)
	}
}
