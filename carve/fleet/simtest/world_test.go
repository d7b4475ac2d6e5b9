// Package simtest runs whole fleets in one goroutine, on virtual time: the state machines
// of carve/fleet over a store and a network that do everything that real ones may do.
// After each step it checks the invariants (check.go). The same seed fails at the same step.
package simtest

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
	"whittle/carve/fleet"
	"whittle/carve/rollout"
)

const (
	lease    = 5 * time.Second
	linger   = 2 * time.Second
	exposure = 40
)

// result is what a run came to.
type result struct {
	Steps int
	// Fault is what did not hold; empty: all did.
	Fault string
	// Count says how often things happened that are worth to be seen to happen.
	Count map[string]int
}

// world is one fleet.
type world struct {
	rng    *rand.Rand
	now    time.Duration
	events events
	order  uint64
	steps  int
	fault  string
	count  map[string]int

	store    store
	gateways []*gateway
	routes   []*truth
	calm     bool // the faults are over
	lossy    bool // the store may lose its last writes
}

// truth is a route as it is, whoever knows of it.
type truth struct {
	spec    fleet.Route
	policy  whittle.Rollout
	verdict whittle.State
	broken  bool
	touched map[touch]int // requests that met the broken candidate
	permits map[touch]int // the most that there were
	digest  string        // of the config that is being rolled out
	falls   []fall
	last    fleet.Position // in the store
	top     fleet.Position // the highest that was written, lost or not
}

// touch names where requests have met a broken candidate: in which process of a gateway, and in
// the shift after which fall.
type touch struct {
	gateway string
	epoch   int
	zero    uint64
}

// fall is a decision or a trip in the store.
type fall struct {
	generation uint64
	at         time.Duration
	index      int
}

type event struct {
	at    time.Duration
	order uint64
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

func (w *world) after(d time.Duration, do func()) {
	w.order++
	heap.Push(&w.events, event{w.now + d, w.order, do})
}

// between draws a time.
func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rng.Int64N(int64(high-low)+1))
}

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

func (w *world) fail(format string, args ...any) {
	if w.fault == "" {
		w.fault = fmt.Sprintf("at %v, step %d: ", w.now, w.steps) + fmt.Sprintf(format, args...)
	}
}

// run simulates one fleet: steps with faults, and then until all is well again.
func run(seed uint64, steps int) result {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0)), count: map[string]int{}}
	w.lossy = w.chance(0.4)
	w.store = store{w: w, up: true, kv: map[string]fleet.Entry{}}
	for i := range 1 + w.rng.IntN(2) {
		w.routes = append(w.routes, &truth{
			spec: fleet.Route{
				Name: fmt.Sprintf("GET /%d", i), Digest: "1", Candidate: fmt.Sprintf("http://candidate-%d", i), Exposure: exposure,
			},
			policy: whittle.Rollout{
				Auto: true, Steps: []whittle.Share{100, 1000, 2500, 5000, whittle.All}, Hold: w.between(0, 4*time.Second),
				Retry: w.between(time.Second, 8*time.Second),
			},
			verdict: whittle.Undecided, touched: map[touch]int{}, permits: map[touch]int{}, digest: "1",
		})
	}
	for i := range 2 + w.rng.IntN(4) {
		g := &gateway{w: w, name: fmt.Sprintf("g%d", i), drift: 1 + (w.rng.Float64()-0.5)/50}
		w.gateways = append(w.gateways, g)
		g.start()
	}
	for _, t := range w.routes {
		w.live(t)
	}
	w.after(w.between(0, 2*lease), w.trouble)
	for w.fault == "" && w.steps < steps {
		w.step()
	}
	w.heal()
	calm := w.now + 12*lease
	for w.fault == "" && w.now < calm {
		w.step()
	}
	w.settled()
	return result{Steps: w.steps, Fault: w.fault, Count: w.count}
}

func (w *world) step() {
	e := heap.Pop(&w.events).(event)
	w.now = e.at
	w.steps++
	e.do()
	w.check()
}

// live changes what is true of a route now and then.
func (w *world) live(t *truth) {
	w.after(w.between(time.Second, 3*lease), func() {
		switch p := w.rng.Float64(); {
		case w.calm:
			t.verdict = whittle.Equivalent
			w.setBroken(t, false)
		case p < 0.6:
			t.verdict = whittle.Equivalent
		case p < 0.7:
			t.verdict = whittle.Different
		case p < 0.8:
			t.verdict = whittle.Undecided
		default:
			w.setBroken(t, !t.broken)
		}
		w.live(t)
	})
}

// setBroken breaks or mends a candidate. What is under way then has met it.
func (w *world) setBroken(t *truth, broken bool) {
	if broken && !t.broken {
		t.touched = map[touch]int{}
		for _, g := range w.gateways {
			for r := range g.requests {
				if r.route == t && !r.over {
					t.touched[g.touch(r.zero)]++
				}
			}
		}
		w.count["candidates broken"]++
	}
	t.broken = broken
}

// trouble makes one fault after the other.
func (w *world) trouble() {
	if w.calm {
		return
	}
	g := w.gateways[w.rng.IntN(len(w.gateways))]
	switch w.rng.IntN(10) {
	case 0:
		w.count["crashes"]++
		g.crash(w.between(0, 3*lease))
	case 1, 2:
		w.count["partitions"]++
		g.cut(w.between(0, 3*lease))
	case 3:
		w.count["suspensions"]++
		g.suspend(w.between(0, 2*lease))
	case 4:
		if w.now >= g.frozen { // no clock tells a suspension in which the wall's clock is set back
			w.count["clock jumps"]++
			g.wallOffset += w.between(-time.Hour, time.Hour)
		}
	case 5:
		w.count["store outages"]++
		w.store.outage(w.between(0, 2*lease))
	case 6:
		if w.lossy {
			w.count["store losses"]++
			w.store.lose(1 + w.rng.IntN(12))
		}
	case 7:
		w.count["reloads"]++
		w.reload()
	case 8:
		for _, g := range w.gateways {
			if g.node != nil && g.isLeader() {
				w.count["leaders lost"]++
				if w.chance(0.5) {
					g.crash(w.between(0, 3*lease))
				} else {
					g.cut(w.between(0, 3*lease))
				}
			}
		}
	case 9:
		g.slow = w.between(0, lease)
		w.count["slow links"]++
		w.after(w.between(0, 3*lease), func() { g.slow = 0 })
	}
	w.after(w.between(0, 2*lease), w.trouble)
}

// reload gives each gateway another config of a route, one after the other.
func (w *world) reload() {
	t := w.routes[w.rng.IntN(len(w.routes))]
	t.digest = fmt.Sprint(w.rng.IntN(3))
	digest := t.digest
	for _, g := range w.gateways {
		w.after(w.between(0, 2*lease), func() {
			if !w.calm {
				g.reload(t, digest)
			}
		})
	}
}

// heal ends all faults.
func (w *world) heal() {
	w.calm = true
	w.store.heal()
	for _, g := range w.gateways {
		g.heal()
	}
	for _, t := range w.routes {
		t.verdict = whittle.Equivalent
		w.setBroken(t, false)
		for _, g := range w.gateways {
			g.reload(t, t.digest)
		}
	}
}

// nextStep is the share after one, by the policy's steps.
func (t *truth) nextStep(share whittle.Share) whittle.Share {
	return rollout.Promotion(t.policy, rollout.State{Phase: whittle.PhaseShift, Share: share})
}
