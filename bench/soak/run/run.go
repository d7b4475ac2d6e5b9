// Package run is the soak: whittle's own processes, upstreams that fail by plan, users
// of many kinds and everything that is restarted under them, counted.
package run

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"whittle/bench/soak/client"
	"whittle/bench/soak/plan"
	"whittle/internal/notify"
)

// Options of a run.
type Options struct {
	// Whittle is the binary.
	Whittle string
	// Duration ends the run, and so do Requests where they are not 0.
	Duration time.Duration
	Requests int64
	Seed     uint64
	// Many is how many users there are of each kind, as a multiple of the least.
	Many int
	// Restart is how the gateways are restarted in the first third of the run: Replaced,
	// Plain, or not at all.
	Restart string
	// Often has disturbances come so many times as often; 0 is 1.
	Often int
	// Abrupt has upstreams close connections right after a response without saying so.
	Abrupt bool
	// Keep is where what the gateways said last is left; empty: nowhere.
	Keep string
	// Progress gets a line every few seconds.
	Progress io.Writer
}

// Ways to restart.
const (
	// Replaced: by SIGUSR2, without a lost request.
	Replaced = "replace"
	// Plain: by SIGTERM and a new start. What that costs is counted apart.
	Plain = "plain"
)

// soak is a run.
type soak struct {
	o                         Options
	dir                       string
	unit                      time.Duration
	began                     time.Time
	trust                     *tls.Config
	monolith, lenient, strict *upstream
	upstreams                 []*upstream
	gateways                  []*gateway     // plain, TLS, gRPC
	curl                      bool           // it is here
	nodes                     []*client.Node // plain and TLS, where Node is here
	tally                     *tally
	next                      atomic.Uint64
	rollbacks                 atomic.Int64
	before                    []Sample
	samples                   [][]Sample
	calm                      [][]Sample // while nobody asks
	stop                      context.CancelFunc

	// turn is held while a disturbance is under way: outages of one thing do not overlap.
	turn sync.Mutex
	// asking is held for reading while a user asks; who locks it has them pause.
	asking sync.RWMutex

	mu     sync.Mutex // guards the following
	events map[string]int
	notes  map[string]int
	failed error
}

// happened counts a disturbance.
func (r *soak) happened(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[name]++
}

// mostNotes bounds what is noted.
const mostNotes = 50

// note keeps what is worth to be read.
func (r *soak) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := fmt.Sprintf(format, args...); r.notes[text] > 0 || len(r.notes) < mostNotes {
		r.notes[text]++
	}
}

// fail ends the run: what is to be shown cannot be shown any more.
func (r *soak) fail(err error) {
	r.mu.Lock()
	r.failed = errors.Join(r.failed, err)
	r.mu.Unlock()
	r.stop()
}

// unitsOf is how many units of time a run has: the same disturbances in a short one.
const unitsOf = 60

// Run soaks until its time is up, its requests are sent, or ctx ends. The report says
// what came of it; an error, that it could not be carried out.
func Run(ctx context.Context, o Options) (*Report, error) {
	dir, err := os.MkdirTemp("", "whittle-soak-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &soak{o: o, dir: dir, unit: min(time.Second, o.Duration/unitsOf) / time.Duration(max(o.Often, 1)), began: time.Now(), events: map[string]int{}, notes: map[string]int{}}
	defer r.end()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	kinds := r.kinds(o.Many)
	r.tally = newTally(len(kinds))
	if err := r.baseline(ctx); err != nil {
		return nil, err
	}
	ctx, r.stop = context.WithTimeout(ctx, o.Duration)
	defer r.stop()
	took := r.soak(ctx, kinds)
	r.mu.Lock()
	err = r.failed
	r.mu.Unlock()
	return r.report(context.WithoutCancel(ctx), kinds, took, err), nil
}

// start starts upstreams and gateways.
func (r *soak) start(ctx context.Context) (err error) {
	if r.trust, err = certificate(r.dir); err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	writes := filepath.Join(r.dir, "writes")
	up := func(part string) *upstream {
		u := &upstream{part: part, writes: writes}
		r.upstreams = append(r.upstreams, u)
		return u
	}
	r.monolith, r.lenient, r.strict = up("monolith"), up("candidate"), up("candidate")
	calls, callee := up("calls"), up("calls")
	for _, u := range r.upstreams {
		if err := u.start(ctx); err != nil {
			return err
		}
	}
	r.gateways = []*gateway{
		{name: "plain", monolith: r.monolith, lenient: r.lenient, strict: r.strict},
		{name: "tls", tls: true, monolith: r.monolith, lenient: r.lenient, strict: r.strict},
		{name: "calls", monolith: calls, lenient: callee, strict: callee},
	}
	r.samples, r.calm = make([][]Sample, len(r.gateways)), make([][]Sample, len(r.gateways))
	for _, g := range r.gateways {
		g.binary, g.dir = r.o.Whittle, r.dir
		if err := g.start(ctx); err != nil {
			return err
		}
	}
	return r.others()
}

// others starts clients that are programs of their own, where they are here.
func (r *soak) others() error {
	_, err := exec.LookPath("curl")
	r.curl = err == nil
	if _, err := exec.LookPath("node"); err != nil {
		return nil //nolint:nilerr // the report lists who was there
	}
	plain, err := client.StartNode(r.dir, "http://"+r.gateways[0].addr, "1", "")
	if err != nil {
		return err
	}
	r.nodes = append(r.nodes, plain)
	secure, err := client.StartNode(r.dir, "https://"+r.gateways[1].addr, "2", filepath.Join(r.dir, "cert.pem"))
	if err == nil {
		r.nodes = append(r.nodes, secure)
	}
	return err
}

// end ends whatever is left.
func (r *soak) end() {
	for _, n := range r.nodes {
		n.Stop()
	}
	for _, g := range r.gateways {
		if r.o.Keep != "" && g.said != nil {
			last, _ := g.said.text()
			_ = os.WriteFile(filepath.Join(r.o.Keep, "soak-"+g.name+".log"), []byte(last), 0o600) // the report has what counts
		}
		g.end(context.Background())
	}
	for _, u := range r.upstreams {
		if u.process != nil {
			u.process.Kill()
		}
	}
}

// soak has the users ask until ctx ends, with everything that happens meanwhile.
func (r *soak) soak(ctx context.Context, kinds []*kind) time.Duration {
	began := time.Now()
	around, stopAround := context.WithCancel(ctx)
	var wg, users sync.WaitGroup
	for _, g := range r.gateways {
		wg.Go(func() { r.operate(around, g) })
	}
	wg.Go(func() { r.disturb(around) })
	wg.Go(func() { r.sampling(around) })
	wg.Go(func() { r.quiets(around) })
	wg.Go(func() { r.progress(around) })
	if r.o.Restart != "" {
		wg.Go(func() { r.restart(around) })
	}
	for i, k := range kinds {
		for _, u := range k.users {
			users.Go(func() { r.ask(ctx, i, k, u) })
		}
	}
	users.Wait()
	for _, k := range kinds {
		for _, u := range k.users {
			u.Close() // not before: some share a connection
		}
	}
	for _, n := range r.nodes {
		n.Stop() // with the connections that it keeps
	}
	r.nodes = nil
	took := time.Since(began)
	stopAround()
	wg.Wait()
	return took
}

// hang is more than a request takes whose upstream is not there for a moment: what takes
// longer hangs, and meets some restart in any case. A session takes as long as its
// messages do.
const hang = 15 * time.Second

// ask is one user's requests. What is under way when ctx ends is finished.
func (r *soak) ask(ctx context.Context, index int, k *kind, u client.User) {
	under := context.WithoutCancel(ctx)
	g := r.gatewayOf(k.gateway)
	gone := &r.monolith.gone
	if g != nil {
		gone = &g.monolith.gone
	}
	for last := time.Now(); ctx.Err() == nil; {
		plans := make([]*plan.Plan, k.batch)
		for i := range plans {
			plans[i] = plan.Draw(r.o.Seed, r.next.Add(1), &k.asks)
		}
		if r.o.Requests > 0 && int64(plans[0].Number) > r.o.Requests { //nolint:gosec // few
			r.stop()
			return
		}
		r.asking.RLock()
		began := time.Now()
		outs := u.Ask(under, plans)
		r.asking.RUnlock()
		a := asked{kind: index, gateway: k.gateway, name: k.name, user: u, began: began}
		if g != nil {
			a.said = g.said
		}
		if failed(outs) {
			now := time.Now()
			soon := now.Sub(began) < hang || plans[0].Way == plan.Upgrade
			a.exempt = soon && gone.meets(began, now) || g == nil && gone.meets(last, now) // its own kept connection
			a.candidateGone = g != nil && (g.lenient.gone.meets(began, now) || g.strict.gone.meets(began, now))
			a.restarting = g != nil && g.gone.meets(last, now) // a kept connection may have ended with it
		}
		if outs[0].Uncertain && outs[0].Class == client.Broken {
			notify.Sleep(ctx, 20*time.Millisecond) // nobody is there: a user tries again a little later
		}
		last = time.Now()
		for i, out := range outs {
			a.plan, a.out = plans[i], out
			r.tally.add(&a)
		}
		if plans[0].Number%2000 == 0 {
			notify.Sleep(ctx, 500*time.Millisecond+time.Duration(r.next.Load()%5000)*time.Millisecond) // an idle connection is used again just when it may be closed
		}
	}
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

func (r *soak) gatewayOf(name string) *gateway {
	for _, g := range r.gateways {
		if g.name == name {
			return g
		}
	}
	return nil
}

func failed(outs []client.Outcome) bool {
	return slices.ContainsFunc(outs, func(o client.Outcome) bool { return o.Class != client.Whole })
}
