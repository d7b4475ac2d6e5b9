// Package soak keeps whittle under everything at once: upstreams that fail in every way,
// clients of every kind, reloads, upgrades and restarts. Every response is held to what it
// must be. make soak runs it for long.
package soak

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle/e2e/process"
	"whittle/e2e/soak/client"
	"whittle/e2e/soak/plan"
	"whittle/internal/certtest"
	"whittle/internal/notify"
)

var (
	lasts = flag.Duration("for", 0, "how long to soak; 0: in short")
	seed  = flag.Uint64("seed", 1, "what is drawn")
	many  = flag.Int("many", 1, "users of each kind, as a multiple")
)

const (
	// short is how many requests the short form sends at least, with the times of so long a run,
	// and shortEnds when it ends at the latest.
	short     = 6_000
	shortIn   = 10 * time.Second
	shortEnds = time.Minute
	// unitsOf is how many units of time a run has: the same disturbances in a short one.
	unitsOf = 60
)

var binary string

func TestMain(m *testing.M) {
	play()
	process.Main(m, func() error {
		built, err := process.Build("./cmd/whittle")
		binary = filepath.Join(built, "whittle")
		return err
	})
}

// soak is a run.
type soak struct {
	t           *testing.T
	lasts, unit time.Duration
	requests    uint64 // after which it ends, once all has been met; 0: any number
	trust       *tls.Config
	// monolith, and the candidates: one that keeps its users whatever it does, and one that is
	// to lose them.
	monolith, lenient, strict *upstream
	gateways                  []*gateway // plain, TLS
	tally                     *tally
	next                      atomic.Uint64
	stop                      context.CancelFunc

	// turn is held while a disturbance is under way: outages of one thing do not overlap.
	turn sync.Mutex

	mu     sync.Mutex // guards the following
	events map[string]int
}

// happened counts a disturbance.
func (r *soak) happened(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[name]++
}

// met reports whether all that is to be met was.
func (r *soak) met() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events["whittle restart"] > 0 && r.events["reload"] > 0 && r.events["candidate restart"] > 0
}

// TestSoak soaks: no user has an error that direct access would not have had, the ledgers
// are whole, and no goroutine and no file is left.
func TestSoak(t *testing.T) {
	counts := tally{t: t, failed: map[string]int64{}, certain: map[string]int64{}, uncertain: map[string]int64{}}
	r := &soak{t: t, lasts: *lasts, events: map[string]int{}, tally: &counts}
	ends := *lasts
	if *lasts == 0 {
		r.lasts, r.requests, ends = shortIn, short, shortEnds
	}
	r.unit = min(time.Second, r.lasts/unitsOf)
	r.start()
	kinds := r.kinds()
	before := make([]sample, len(r.gateways))
	for i, g := range r.gateways {
		before[i] = g.settled()
	}
	began := time.Now()
	ctx, stop := context.WithTimeout(t.Context(), ends)
	r.stop = stop
	r.run(ctx, kinds)
	stop()
	n, took := r.tally.requests.Load(), time.Since(began)
	t.Logf("%d requests in %v, %.0f a second; seed %d; %s", n, took, float64(n)/took.Seconds(), *seed, r.tally)
	for _, name := range slices.Sorted(maps.Keys(r.events)) {
		t.Logf("  %4d × %s", r.events[name], name)
	}
	for _, g := range r.gateways {
		for _, route := range g.routes() {
			r.holdLedger(g, route)
		}
	}
	for i, g := range r.gateways {
		g.rest(before[i])
	}
	if n < short/10 || !r.met() {
		t.Errorf("it was too little: %d requests", n)
	}
}

// start starts upstreams and gateways.
func (r *soak) start() {
	t, dir := r.t, r.t.TempDir()
	authority := certtest.New(t)
	pair := authority.For(t, "soak.example")
	pair.Write(t, dir, "cert.pem", "key.pem")
	r.trust = &tls.Config{RootCAs: authority.Pool(), ServerName: "soak.example", MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	writes := filepath.Join(dir, "writes")
	r.monolith, r.lenient, r.strict = startUpstream(t, "monolith", writes), startUpstream(t, "candidate", writes), startUpstream(t, "candidate", writes)
	for _, name := range []string{"plain", "tls"} {
		g := &gateway{t: t, name: name, dir: t.TempDir(), monolith: r.monolith, lenient: r.lenient, strict: r.strict}
		if name == "tls" {
			g.certificate = dir
		}
		g.start()
		r.gateways = append(r.gateways, g)
	}
}

// run has the users ask until ctx ends, with everything that happens meanwhile.
func (r *soak) run(ctx context.Context, kinds []*kind) {
	around, stopAround := context.WithCancel(ctx)
	var wg, users sync.WaitGroup
	for _, g := range r.gateways {
		wg.Go(func() { r.operate(around, g) })
	}
	wg.Go(func() { r.disturb(around) })
	wg.Go(func() { r.progress(around) })
	wg.Go(func() { r.restart(around) })
	for _, k := range kinds {
		for _, u := range k.users {
			users.Go(func() { r.ask(ctx, k, u) })
		}
	}
	users.Wait()
	for _, k := range kinds {
		for _, u := range k.users {
			u.Close() // not before: some share a connection
		}
	}
	stopAround()
	wg.Wait()
}

// hang is more than a request takes whose upstream is not there for a moment: what takes
// longer hangs, and meets some restart in any case.
const hang = 15 * time.Second

// ask is one user's requests. What is under way when ctx ends is finished.
func (r *soak) ask(ctx context.Context, k *kind, u client.User) {
	under, g, gone := context.WithoutCancel(ctx), k.gateway, &r.monolith.gone
	for last := time.Now(); ctx.Err() == nil; {
		p := plan.Draw(*seed, r.next.Add(1), &k.asks)
		if r.requests > 0 && p.Number > r.requests && r.met() {
			r.stop()
			return
		}
		a := asked{kind: k, began: time.Now(), plan: p, out: u.Ask(under, p)}
		if a.out.Class != client.Whole {
			now := time.Now()
			soon := now.Sub(a.began) < hang
			a.exempt = soon && gone.meets(a.began, now) || g == nil && gone.meets(last, now) // its own kept connection
			a.candidateGone = g != nil && (g.lenient.gone.meets(a.began, now) || g.strict.gone.meets(a.began, now))
		}
		if a.out.Uncertain && a.out.Class == client.Broken {
			notify.Sleep(ctx, 20*time.Millisecond) // nobody is there: a user tries again a little later
		}
		last = time.Now()
		r.tally.add(&a)
		if p.Number%2000 == 0 {
			notify.Sleep(ctx, 500*time.Millisecond+time.Duration(r.next.Load()%5000)*time.Millisecond) // an idle connection is used again just when it may be closed
		}
	}
}

// kind is one kind of client, with as many users of it as a run has.
type kind struct {
	name string
	// gateway is whose users they are; nil: the monolith's own, for comparison.
	gateway *gateway
	asks    plan.Client
	users   []client.User
}

// everyWay is what a client over HTTP/1.1 asks, mostly short reads.
func everyWay(more ...plan.Way) []plan.Way {
	ways := append([]plan.Way{plan.Head, plan.Post, plan.Post, plan.Post, plan.Chunked}, slices.Repeat([]plan.Way{plan.Get}, 14)...)
	return append(ways, more...)
}

// kinds are all kinds of a run.
func (r *soak) kinds() (made []*kind) {
	const longest = 10 << 20
	plain, secure := r.gateways[0], r.gateways[1]
	all := plan.Client{Ways: everyWay(plan.Expect), Largest: longest}
	streams := plan.Client{Ways: []plan.Way{plan.Events}}
	version2 := plan.Client{Ways: everyWay(), Largest: longest}
	h2, prior := client.NewHTTP2(secure.Public, r.trust), client.NewHTTP2(plain.Public, nil)
	http1 := func(u client.HTTP1) func(string) client.User {
		return func(name string) client.User { u := u; u.Name = name; return &u }
	}
	for _, k := range []struct {
		name    string
		gateway *gateway
		asks    plan.Client
		users   int
		user    func(string) client.User
	}{
		{"HTTP/1.1 kept", plain, all, 6, http1(client.HTTP1{Addr: plain.Public})},
		{"HTTP/1.1 fresh", plain, all, 1, http1(client.HTTP1{Addr: plain.Public, Fresh: true})},
		{"HTTP/1.1 event streams", plain, streams, 2, http1(client.HTTP1{Addr: plain.Public})},
		{"HTTP/1.1 leaving", plain, all, 1, http1(client.HTTP1{Addr: plain.Public, Leaves: true})},
		{"HTTP/2 prior knowledge", plain, version2, 2, prior.User},
		{"HTTP/1.1 TLS kept", secure, all, 3, http1(client.HTTP1{Addr: secure.Public, TLS: r.trust})},
		{"HTTP/1.1 TLS fresh", secure, all, 1, http1(client.HTTP1{Addr: secure.Public, TLS: r.trust, Fresh: true})},
		{"HTTP/2 TLS", secure, version2, 3, h2.User},
		{"HTTP/2 event streams", secure, streams, 1, h2.User},
		{"direct kept", nil, all, 1, http1(client.HTTP1{Addr: r.monolith.addr, Direct: true})},
		{"direct fresh", nil, all, 1, http1(client.HTTP1{Addr: r.monolith.addr, Direct: true, Fresh: true})},
	} {
		one := &kind{name: k.name, gateway: k.gateway, asks: k.asks}
		for i := range k.users * *many {
			one.users = append(one.users, k.user(fmt.Sprintf("%s %d", k.name, i)))
		}
		made = append(made, one)
	}
	return made
}

// progress writes a line every few seconds.
func (r *soak) progress(ctx context.Context) {
	last, began := int64(0), time.Now()
	every(ctx, 5*time.Second, func() {
		n := r.tally.requests.Load()
		line := fmt.Sprintf("%5.0fs %10d requests, %6d/s, %s;", time.Since(began).Seconds(), n, (n-last)/5, r.tally)
		last = n
		for _, g := range r.gateways {
			if s, ok := g.sample(); ok {
				line += fmt.Sprintf(" %s %.0f goroutines %.0f files", g.name, s.goroutines, s.files)
			}
		}
		fmt.Fprintln(r.t.Output(), line)
	})
}

// every does something after each interval, until ctx ends.
func every(ctx context.Context, d time.Duration, do func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}
