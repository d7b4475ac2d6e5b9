package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/carve/rollout"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
)

// faults are what befalls the fleet of TestFaults in the middle of a decision, the first two
// in the suite. Each gives what mends it.
var faults = []struct {
	name   string
	inject func(w *walk, c *cluster, r *rand.Rand) (mend func())
}{
	{"the leader and JetStream's are killed", func(w *walk, c *cluster, _ *rand.Rand) func() {
		gateway, server := w.lose(w.leader()), c.lose(c.leading(w.t))
		return func() { server(); gateway() }
	}},
	{"the leader is killed", func(w *walk, _ *cluster, _ *rand.Rand) func() { return w.lose(w.leader()) }},
	{"JetStream's leader is killed", func(w *walk, c *cluster, _ *rand.Rand) func() { return c.lose(c.leading(w.t)) }},
	{"a NATS server is killed", func(_ *walk, c *cluster, r *rand.Rand) func() { return c.lose(r.IntN(3)) }},
	{"two gateways are killed", func(w *walk, _ *cluster, r *rand.Rand) func() {
		i := r.IntN(3)
		return w.lose(w.all[i], w.all[(i+1)%3])
	}},
	{"the leader is cut off", func(w *walk, _ *cluster, _ *rand.Rand) func() { return w.isolate(w.leader()) }},
	{"a gateway is cut off", func(w *walk, _ *cluster, r *rand.Rand) func() { return w.isolate(w.all[r.IntN(3)]) }},
	{"two NATS servers are killed", func(w *walk, c *cluster, _ *rand.Rand) func() {
		i := c.leading(w.t)
		one, other := c.lose(i), c.lose((i+1)%3)
		return func() { one(); other() }
	}},
	{"each gateway is restarted", func(w *walk, _ *cluster, _ *rand.Rand) func() {
		for _, g := range w.all {
			g.leave(syscall.SIGTERM)
			g.start()
			process.Until(w.t, g.name+" is back", func() bool { return g.fleet().Connected })
		}
		return func() {}
	}},
	{"NATS comes back with an empty store", func(w *walk, c *cluster, _ *rand.Rand) func() {
		for _, s := range c.servers {
			s.Kill()
		}
		for i, dir := range c.dirs {
			fatal.If(w.t, os.RemoveAll(dir))
			c.start(i)
		}
		w.afresh()
		return func() {}
	}},
	{"JetStream's leader hangs", func(w *walk, c *cluster, _ *rand.Rand) func() { return c.hang(c.leading(w.t)) }},
	{"all NATS servers hang", func(w *walk, c *cluster, _ *rand.Rand) func() {
		awake := c.hang(0, 1, 2)
		w.everywhere(0) // within a lease, by no word of theirs
		awake()
		return func() {}
	}},
	{"the leader hangs", func(w *walk, _ *cluster, _ *rand.Rand) func() {
		g := w.leader()
		suspend(w.t, g.p, syscall.SIGSTOP)
		process.Until(w.t, "another one leads", func() bool {
			return slices.ContainsFunc(w.all, func(o *whole) bool { return o != g && o.fleet().Leader != g.name && o.fleet().Leader != "" })
		})
		suspend(w.t, g.p, syscall.SIGCONT) // with its users, who have waited
		return func() {}
	}},
	{"each NATS server is restarted", func(w *walk, c *cluster, _ *rand.Rand) func() {
		for i := range c.servers {
			c.lose(i)()
			c.leading(w.t)
		}
		return func() {}
	}},
	{"the fleet's streams are deleted", func(w *walk, c *cluster, _ *rand.Rand) func() {
		js, end := c.connect(w.t)
		defer end()
		for _, name := range []string{"KV_whittle_walk", "whittle_walk_evidence"} {
			process.Until(w.t, name+" is deleted", func() bool {
				ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
				defer cancel()
				err := js.DeleteStream(ctx, name)
				return err == nil || errors.Is(err, jetstream.ErrStreamNotFound)
			})
		}
		w.afresh()
		return func() {}
	}},
}

// afresh holds that nobody has users where the fleet's store is lost, and its evidence with
// it.
func (w *walk) afresh() {
	w.t.Helper()
	w.everywhere(0)
	w.connected()
	w.none("without any evidence")
	w.recount()
}

// hang suspends servers.
func (c *cluster) hang(all ...int) (mend func()) {
	send := func(s os.Signal) {
		for _, i := range all {
			suspend(c.t, c.servers[i], s)
		}
	}
	send(syscall.SIGSTOP)
	return func() { send(syscall.SIGCONT) }
}

// suspend sends a process a signal, such as that to hang or to go on.
func suspend(t testing.TB, p *child.Process, s os.Signal) {
	t.Helper()
	fatal.If(t, p.Signal(s))
}

// connect is a client of the servers that are up.
func (c *cluster) connect(t testing.TB) (js jetstream.JetStream, end func()) {
	t.Helper()
	conn, err := client.Connect("nats://" + strings.Join(c.clients, ",nats://"))
	fatal.If(t, err)
	if js, err = jetstream.New(conn); err != nil {
		conn.Close()
		t.Fatal(err)
	}
	return js, conn.Close
}

// recount says that the ledger is lost: it has what the present runs report, and of those
// before what is still reported.
func (w *walk) recount() {
	n := int64(0)
	for _, g := range w.all {
		n += g.taken.Load()
	}
	w.unreported = w.requests.Load() - n
}

// connected waits until somebody leads, and all hear of it.
func (w *walk) connected() {
	w.t.Helper()
	for _, g := range w.all {
		process.Until(w.t, g.name+" is connected, and knows who leads", func() bool {
			f := g.fleet()
			return f.Connected && f.Leader != "" && g.route().Generation > 0
		})
	}
}

// lose kills a server.
func (c *cluster) lose(i int) (mend func()) {
	c.servers[i].Kill()
	return func() { c.start(i) }
}

// leading is the server that leads the fleet's log.
func (c *cluster) leading(t testing.TB) (at int) {
	t.Helper()
	js, end := c.connect(t)
	defer end()
	process.Until(t, "one leads the log", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := js.Stream(ctx, "KV_whittle_walk")
		if err != nil {
			return false
		}
		i := s.CachedInfo()
		if i.Cluster == nil || len(i.Cluster.Leader) < 2 {
			return false
		}
		at, err = strconv.Atoi(i.Cluster.Leader[1:])
		return err == nil
	})
	return at
}

// lose kills gateways.
func (w *walk) lose(all ...*whole) (mend func()) {
	for _, g := range all {
		g.leave(syscall.SIGKILL)
	}
	return func() {
		for _, g := range all {
			g.start()
		}
	}
}

// isolate cuts a gateway's links to NATS; users come on.
func (w *walk) isolate(g *whole) (mend func()) {
	set := func(cut bool) {
		for _, l := range g.links {
			l.set(cut)
		}
	}
	set(true)
	process.Until(w.t, g.name+" has nobody on the candidate", func() bool { return g.inForce() == 0 })
	return func() { set(false) }
}

// TestFaults: whatever befalls a fleet of three gateways and three NATS servers in the
// middle of a step or of a rollback, no user sees an error, each is on one side, a rollback
// is not undone, the shift goes on afterwards, the ledger is whole, and a candidate that breaks
// then meets no more users than one gateway would let it. FLEET_ROUNDS is how
// many faults there are, FLEET_SEED which.
func TestFaults(t *testing.T) {
	rounds, seed := envInt(t, "FLEET_ROUNDS", 2), envInt(t, "FLEET_SEED", 0)
	servers := startCluster(t, 3)
	w := &walk{t: t, cut: servers.clients, lease: lease}
	end := w.halfway(3)
	for n := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
		f := faults[(seed+n)%len(faults)]
		back := (n+n/len(faults))%2 == 1 // each fault in the middle of either
		what := fmt.Sprintf("round %d, %s in the middle of a %s", n, f.name, map[bool]string{true: "rollback", false: "step"}[back])
		began := time.Now()
		if back {
			w.fallAmid(f.inject, servers, r)
		} else {
			w.stepAmid(f.inject, servers, r)
		}
		t.Logf("%s: %v, %d requests, %d errors", what, time.Since(began).Round(time.Millisecond), w.requests.Load(), w.errors.Load())
		if w.faultless(); t.Failed() {
			w.say(what)
			t.FailNow()
		}
	}
	w.breaks()
	end()
	w.adds()
	w.faultless()
}

func envInt(t *testing.T, name string, otherwise int) int {
	t.Helper()
	if text := os.Getenv(name); text != "" {
		n, err := strconv.Atoi(text)
		fatal.If(t, err)
		return n
	}
	return otherwise
}

type inject = func(*walk, *cluster, *rand.Rand) func()

// stepAmid has half of the users on the candidate, takes the last step while something
// befalls the fleet, and comes back to half of them by a rollback and a new step.
func (w *walk) stepAmid(f inject, c *cluster, r *rand.Rand) {
	w.t.Helper()
	mend, _ := w.amid(f, c, r, rollout.Order{Kind: rollout.Promote, To: whittle.All}) // whatever becomes of it
	mend()
	process.Until(w.t, "all users are on the candidate", func() bool { // from 0, where the evidence was lost
		g := w.any(r.IntN(3))
		for _, to := range []whittle.Share{5000, whittle.All} {
			_, _ = w.order(g, rollout.Order{Kind: rollout.Promote, To: to}) // refused where it is not the next step
		}
		return w.latest().Share == whittle.All
	})
	w.everywhere(whittle.All)
	w.rollBack(r)
	w.half(r)
}

// amid has something befall the fleet while an order is on its way.
func (w *walk) amid(f inject, c *cluster, r *rand.Rand, o rollout.Order) (mend func(), ordered error) {
	w.t.Helper()
	done, at := make(chan error, 1), w.any(r.IntN(3))
	w.users.Go(func() {
		_, err := w.order(at, o)
		done <- err
	})
	<-time.After(time.Duration(r.IntN(100)) * time.Millisecond) // before, while and after it is taken
	mend = f(w, c, r)
	return mend, <-done
}

// fallAmid rolls back while something befalls the fleet. The share is 0 from when the
// order was taken, until somebody promotes.
func (w *walk) fallAmid(f inject, c *cluster, r *rand.Rand) {
	w.t.Helper()
	mend, err := w.amid(f, c, r, rollout.Order{Kind: rollout.Rollback})
	if err == nil { // the store has it: who does not hear of it has no share after a lease
		w.everywhere(0)
	}
	mend()
	if err == nil {
		w.none("a rollback was undone afterwards")
	}
	w.rollBack(r)
	w.half(r)
}

// none fails where a gateway that is up has users on the candidate.
func (w *walk) none(what string) {
	w.t.Helper()
	for _, g := range w.up() {
		var force float64
		process.Until(w.t, g.name+" says what users have", func() bool { force = g.inForce(); return force <= 1 })
		if force > 0 {
			w.say(what)
			w.t.Fatalf("%s: %s has users on the candidate", what, g.name)
		}
	}
}

// rollBack takes all users off the candidate, as soon as somebody takes the order.
func (w *walk) rollBack(r *rand.Rand) {
	w.t.Helper()
	process.Until(w.t, "a rollback is taken", func() bool {
		after, err := w.order(w.any(r.IntN(3)), rollout.Order{Kind: rollout.Rollback})
		return err == nil && after.Share == 0 || w.latest().Phase == whittle.PhaseRolledBack
	})
	w.everywhere(0)
}

// half has half of the users on the candidate again, each on one side.
func (w *walk) half(r *rand.Rand) {
	w.t.Helper()
	w.reset(func() *whole { return w.any(r.IntN(3)) })
	w.promote(5000)
	w.everywhere(5000)
	w.oneSide()
}

// reset has the shift begin anew, as soon as the order is for the position that the fleet
// is at.
func (w *walk) reset(at func() *whole) {
	w.t.Helper()
	process.Until(w.t, "a new beginning is taken", func() bool {
		_, err := w.order(at(), rollout.Order{Kind: rollout.Reset})
		return err == nil || w.latest().Phase == whittle.PhaseShadow
	})
}
