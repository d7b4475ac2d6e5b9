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
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"whittle/e2e/soak/client"
	"whittle/e2e/soak/plan"
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
	// Progress gets a line every few seconds.
	Progress io.Writer
}

// soak is a run.
type soak struct {
	o                         Options
	dir                       string
	unit                      time.Duration
	began                     time.Time
	trust                     *tls.Config
	monolith, lenient, strict *upstream
	upstreams                 []*upstream
	gateways                  []*gateway // plain, TLS
	tally                     *tally
	next                      atomic.Uint64
	rollbacks                 atomic.Int64
	before                    []Sample
	stop                      context.CancelFunc

	// turn is held while a disturbance is under way: outages of one thing do not overlap.
	turn sync.Mutex

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
	r := &soak{o: o, dir: dir, unit: min(time.Second, o.Duration/unitsOf), began: time.Now(), events: map[string]int{}, notes: map[string]int{}}
	defer r.end()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	kinds := r.kinds(o.Many)
	r.tally = newTally()
	if err := r.baseline(ctx); err != nil {
		return nil, err
	}
	ctx, r.stop = context.WithTimeout(ctx, o.Duration)
	defer r.stop()
	took := r.soak(ctx, kinds)
	r.mu.Lock()
	err = r.failed
	r.mu.Unlock()
	return r.report(context.WithoutCancel(ctx), took, err), nil
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
	for _, u := range r.upstreams {
		if err := u.start(ctx); err != nil {
			return err
		}
	}
	r.gateways = []*gateway{
		{name: "plain", monolith: r.monolith, lenient: r.lenient, strict: r.strict},
		{name: "tls", tls: true, monolith: r.monolith, lenient: r.lenient, strict: r.strict},
	}
	for _, g := range r.gateways {
		g.binary, g.dir = r.o.Whittle, r.dir
		if err := g.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// end ends whatever is left.
func (r *soak) end() {
	for _, g := range r.gateways {
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
	took := time.Since(began)
	stopAround()
	wg.Wait()
	return took
}

// hang is more than a request takes whose upstream is not there for a moment: what takes
// longer hangs, and meets some restart in any case.
const hang = 15 * time.Second

// ask is one user's requests. What is under way when ctx ends is finished.
func (r *soak) ask(ctx context.Context, k *kind, u client.User) {
	under := context.WithoutCancel(ctx)
	g := r.gatewayOf(k.gateway)
	gone := &r.monolith.gone
	if g != nil {
		gone = &g.monolith.gone
	}
	for last := time.Now(); ctx.Err() == nil; {
		p := plan.Draw(r.o.Seed, r.next.Add(1), &k.asks)
		if r.o.Requests > 0 && int64(p.Number) > r.o.Requests { //nolint:gosec // few
			r.stop()
			return
		}
		began := time.Now()
		out := u.Ask(under, p)
		a := asked{gateway: k.gateway, name: k.name, began: began, plan: p, out: out}
		if g != nil {
			a.said = g.said
		}
		if out.Class != client.Whole {
			now := time.Now()
			soon := now.Sub(began) < hang
			a.exempt = soon && gone.meets(began, now) || g == nil && gone.meets(last, now) // its own kept connection
			a.candidateGone = g != nil && (g.lenient.gone.meets(began, now) || g.strict.gone.meets(began, now))
		}
		if out.Uncertain && out.Class == client.Broken {
			notify.Sleep(ctx, 20*time.Millisecond) // nobody is there: a user tries again a little later
		}
		last = time.Now()
		r.tally.add(&a)
		if p.Number%2000 == 0 {
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
