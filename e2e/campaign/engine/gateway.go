package engine

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
)

// tick is how often the controller decides when nothing presses: less often than
// by default (100 ms), to a candidate's advantage.
const tick = 500 * time.Millisecond

// rate is users' requests a second.
const rate = 50.0

// begin is the virtual time of every run's start.
var begin = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

// gateway plays the gateway before one route, and the users before it.
type gateway struct {
	s      Settings
	family *family.Family
	spec   whittle.Route
	ctl    controller
	seen   *observer

	now, next time.Time // next: of the controller's tick
	events    events
	err       error

	share    whittle.Share
	phase    whittle.Phase
	position uint64 // the generation of the share in force
	watching whittle.Share
	watched  uint64 // requests that might be watched
	mirrored uint64 // and be repeated
	row      int    // bad responses of the candidate to users in a row
	open     bool   // the circuit breaker has tripped
	live     int    // requests before the shift was over
	again    budget

	users    *population
	traffic  *rand.Rand
	table    *family.Orders
	monolith side
	replaced side
	mutant   *fault.Candidate
	busy     []time.Time // ends of what the candidate has in hand
	skew     time.Duration
	touch    Touch

	out Result
}

// controller is what the gateway reports to, and asks.
type controller interface {
	Step() error
	Observe(x *whittle.Exchange) whittle.Observation
	Recheck(r *whittle.Recheck) (after time.Duration, more bool)
	Known(route string, q *whittle.Request) bool
	Outcome(o whittle.Outcome)
	Tripped(route, reason string, generation uint64)
}

// side is what belongs to one of the two programs.
type side struct{ ids, pace *rand.Rand }

func newGateway(f *family.Family, m *fault.Mutation, spec whittle.Route, seed uint64, s Settings) *gateway {
	g := &gateway{
		s: s, family: f, spec: spec, now: begin, next: begin.Add(tick), phase: whittle.PhaseShadow, again: newBudget(),
		users: newPopulation(s.Users, seed), traffic: source(seed, 1), table: family.NewOrders(),
		monolith: side{source(seed, 2), source(seed, 3)}, replaced: side{source(seed, 4), source(seed, 5)},
		mutant: fault.New(m, f, source(seed, 6)), seen: &observer{},
	}
	g.skew = time.Duration(source(seed, 7).IntN(7)-3) * time.Millisecond
	g.out.Seed = seed
	return g
}

// play lets users come until the end is known.
func (g *gateway) play() error {
	if err := g.ctl.Step(); err != nil {
		return err
	}
	arrival := g.now
	for g.out.Requests < g.s.Requests && !g.over() {
		arrival = arrival.Add(time.Duration(g.traffic.ExpFloat64() / rate * float64(time.Second)))
		g.until(arrival)
		if g.err != nil {
			return g.err
		}
		g.request()
	}
	return g.err
}

// over reports whether nothing more is to be seen: whittle has spoken, or the
// candidate has been live for as long as the settings say.
func (g *gateway) over() bool {
	switch g.phase {
	case whittle.PhaseLive:
		return g.out.Requests >= g.live+g.s.Live
	case whittle.PhaseRolledBack:
		return true
	}
	return g.seen.verdict.State == whittle.Different && g.share == 0
}

// until lets time pass, with what happens by itself.
func (g *gateway) until(t time.Time) {
	for !g.over() {
		at := g.next
		if len(g.events) > 0 && g.events[0].at.Before(at) {
			at = g.events[0].at
		}
		if at.After(t) {
			break
		}
		g.now = at
		if at.Equal(g.next) {
			g.next = at.Add(tick)
			g.decide()
			continue
		}
		e := heap.Pop(&g.events).(event)
		e.do()
	}
	g.now = t
}

func (g *gateway) decide() {
	if err := g.ctl.Step(); err != nil && g.err == nil {
		g.err = err
	}
}

func (g *gateway) apply(_ string, p whittle.Position) (inForce bool) {
	share, phase := p.Share, p.Phase
	if g.open && share > 0 && g.share > 0 {
		return false // until the trip is known
	}
	if share > 0 && g.share == 0 {
		g.row, g.open = 0, false
	}
	if phase == whittle.PhaseLive && g.phase != phase {
		g.live = g.out.Requests
	}
	g.share, g.phase, g.position = share, phase, p.Generation
	g.out.Largest = max(g.out.Largest, share)
	return true
}

func (g *gateway) watch(_ string, share whittle.Share) { g.watching = share }

// request is one user's.
func (g *gateway) request() {
	user := g.users.zipf.Uint64()
	q := g.family.Request(g.traffic, user)
	g.out.Requests++
	v := userRequest{user: user, place: g.users.place(user), q: &q, at: g.now}
	if g.share > 0 && !g.open && v.in(g.share, forShare) && !g.unseen(&q) {
		g.byCandidate(&v)
		return
	}
	g.byMonolith(&v)
}

// unseen reports whether the monolith keeps a request because no response to
// one of its shape was compared.
func (g *gateway) unseen(q *whittle.Request) bool {
	return g.spec.Rollout.Unseen == whittle.UnseenMonolith && g.phase == whittle.PhaseShift && !g.ctl.Known(g.spec.Name, q)
}

// latency is log-normal around the family's median.
func (g *gateway) latency(r *rand.Rand) time.Duration {
	return time.Duration(float64(g.family.Latency) * math.Exp(0.35*r.NormFloat64()))
}

func (g *gateway) result() Result {
	r := g.out
	r.Verdict, r.Named = g.seen.verdict.State, g.seen.verdict.Compared
	switch {
	case g.phase == whittle.PhaseLive:
		r.End = Live
	case g.phase == whittle.PhaseRolledBack:
		r.End = RolledBack
	case r.Verdict == whittle.Different:
		r.End = Refused
	default:
		r.End = Waiting
		if r.Held = g.seen.wait != ""; r.Held {
			r.Named = g.seen.since
		}
	}
	r.Finding = g.seen.named(r.End)
	for _, f := range g.seen.verdict.Findings {
		r.Others = r.Others || f.Asked != nil && f.Asked.AnotherRequest > 0
	}
	if g.open {
		r.Finding = "circuit breaker"
	}
	return r
}

// population is the users. How often each comes follows a Zipf distribution; who is who in
// the split is drawn anew for every run.
type population struct {
	zipf *rand.Zipf
	salt uint64
}

func newPopulation(n int, seed uint64) *population {
	return &population{zipf: rand.NewZipf(source(seed, 8), 1.1, 8, uint64(n-1)), salt: source(seed, 9).Uint64()}
}

// place is where the split puts a user.
func (c *population) place(user uint64) uint64 { return mix(user + c.salt) }

// mix is the finaliser of SplitMix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
