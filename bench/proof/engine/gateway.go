package engine

import (
	"container/heap"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"whittle"
	"whittle/bench/proof/family"
	"whittle/bench/proof/fault"
)

// tick is how often the controller decides when nothing presses: less often than
// by default (100 ms), to a candidate's advantage.
const tick = 500 * time.Millisecond

// begin is the virtual time of every run's start.
var begin = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

// gateway plays the gateway before one route, and the users before it.
type gateway struct {
	s      Settings
	family *family.Family
	spec   whittle.Route
	ctl    controller
	seen   *witness

	now, next time.Time // next: of the controller's tick
	events    events
	err       error

	share    whittle.Share
	phase    whittle.Phase
	watching whittle.Share
	watched  uint64 // requests that might be watched
	mirrored uint64 // and be repeated
	row      int    // bad responses of the candidate to users in a row
	open     bool   // the circuit breaker has tripped
	live     int    // requests before the shift was over
	again    budget

	users    *crowd
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

// controller is what the gateway tells, and asks.
type controller interface {
	Step() error
	Observe(x *whittle.Exchange) whittle.Observation
	Recheck(r *whittle.Recheck) (after time.Duration, more bool)
	Known(route string, q *whittle.Request) bool
	Outcome(o whittle.Outcome)
	Tripped(route, reason string)
}

// side is what belongs to one of the two programs.
type side struct{ ids, pace *rand.Rand }

func newGateway(f *family.Family, m *fault.Mutation, spec whittle.Route, seed uint64, s Settings) *gateway {
	g := &gateway{
		s: s, family: f, spec: spec, now: begin, next: begin.Add(tick), phase: whittle.PhaseShadow, again: newBudget(),
		users: newCrowd(s.Users, seed), traffic: source(seed, 1), table: family.NewOrders(),
		monolith: side{source(seed, 2), source(seed, 3)}, replaced: side{source(seed, 4), source(seed, 5)},
		mutant: fault.New(m, f, source(seed, 6)), seen: &witness{},
	}
	g.skew = time.Duration(source(seed, 7).IntN(7)-3) * time.Millisecond
	g.out = Result{Family: f.Name, Seed: seed}
	if m != nil {
		g.out.Mutation = m.Name
	}
	return g
}

// play lets users come until the end is known.
func (g *gateway) play() error {
	if err := g.ctl.Step(); err != nil {
		return err
	}
	arrival := g.now
	for g.out.Requests < g.s.Requests && !g.over() {
		arrival = arrival.Add(time.Duration(g.traffic.ExpFloat64() / g.s.Rate * float64(time.Second)))
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

func (g *gateway) apply(_ string, share whittle.Share, phase whittle.Phase) {
	if share > 0 && g.share == 0 {
		g.row, g.open = 0, false
	}
	if phase == whittle.PhaseLive && g.phase != phase {
		g.live = g.out.Requests
	}
	g.share, g.phase = share, phase
	g.out.Largest = max(g.out.Largest, share)
}

func (g *gateway) watch(_ string, share whittle.Share) { g.watching = share }

// request is one user's.
func (g *gateway) request() {
	user := g.users.next()
	q := g.family.Request(g.traffic, user)
	g.out.Requests++
	if g.share > 0 {
		g.out.Shifted++
	}
	v := visit{user: user, place: g.users.place(user), q: &q, at: g.now}
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

// visit is a user's request on its way.
type visit struct {
	user, place uint64
	q           *whittle.Request
	at          time.Time
}

const (
	forShare  uint64 = 0x9e3779b97f4a7c15
	forSample uint64 = 0xc2b2ae3d27d4eb4f
)

func (v *visit) in(share whittle.Share, purpose uint64) bool {
	slot, _ := bits.Mul64(mix(v.place^purpose), uint64(whittle.All))
	return slot < uint64(share)
}

// evenly spreads a share over requests without runs.
func evenly(n uint64, share whittle.Share) bool {
	slot, _ := bits.Mul64(n*forShare, uint64(whittle.All))
	return slot < uint64(share)
}

// byMonolith lets the monolith respond, and then asks the candidate the same.
func (g *gateway) byMonolith(v *visit) {
	x := g.exchange(v)
	x.Served, x.Monolith = whittle.Monolith, g.askMonolith(v.q)
	g.later(x.Monolith.Latency, func() {
		g.tell(v, whittle.Monolith, &x.Monolith, false)
		if !v.in(g.spec.Mirror.Sample, forSample) {
			return
		}
		x.Candidate = g.askCandidate(v, false).Answer
		g.later(x.Candidate.Latency, func() { g.repeat(v, x) })
	})
}

// byCandidate lets the candidate respond. Where it fails, the monolith does.
func (g *gateway) byCandidate(v *visit) {
	g.watched++
	watched := evenly(g.watched, max(g.spec.Mirror.Watch, g.watching))
	x := g.exchange(v)
	r := g.askCandidate(v, true)
	x.Served, x.Candidate = whittle.Candidate, r.Answer
	bad := !r.OK()
	if bad {
		x.Served, x.Rescued = whittle.Monolith, true
		x.Candidate = whittle.Answer{
			Status: r.Status, Failure: r.Failure, Detail: r.Detail, Latency: r.Latency,
			Truncated: r.Failure == whittle.NoFailure, // its body was not waited for
		}
	}
	g.later(r.Latency, func() {
		g.tell(v, whittle.Candidate, &r.Answer, bad)
		g.trip(bad)
		g.settle(&r, bad)
		if !watched && !bad {
			return
		}
		x.Monolith = g.askMonolith(v.q)
		g.later(x.Monolith.Latency, func() {
			if watched {
				g.repeat(v, x)
			}
		})
	})
}

// settle keeps account of what a user got.
func (g *gateway) settle(r *fault.Response, bad bool) {
	if bad {
		g.out.Fallbacks++
		return
	}
	g.out.Served++
	if r.Wrong {
		g.out.Wrong++
	}
	if r.Slow {
		g.out.Slow++
	}
}

// later does something after a time.
func (g *gateway) later(d time.Duration, do func()) { g.events.add(g.now.Add(d), do) }

func (g *gateway) exchange(v *visit) *whittle.Exchange {
	first := float64(g.share)
	return &whittle.Exchange{
		Route: g.spec.Name, Conn: 1 + v.user, User: v.place, At: v.at, Request: *v.q,
		FirstChance: first / max(1, first+float64(whittle.All-g.share)*float64(g.spec.Mirror.Sample)/float64(whittle.All)),
	}
}

// tell is a user's outcome.
func (g *gateway) tell(v *visit, who whittle.Side, a *whittle.Answer, rescued bool) {
	g.ctl.Outcome(whittle.Outcome{
		Route: g.spec.Name, User: v.place, At: v.at, Side: who, Status: a.Status, Failure: a.Failure, Latency: a.Latency, Rescued: rescued,
	})
}

// trip is the circuit breaker: so many bad responses in a row and the share is 0.
func (g *gateway) trip(bad bool) {
	if !bad {
		g.row = 0
		return
	}
	if g.row++; g.row >= g.spec.Guard.Consecutive && !g.open {
		g.open = true
		g.ctl.Tripped(g.spec.Name, fmt.Sprintf("%d bad responses of the candidate in a row", g.row))
	}
	g.decide()
}

// repeat asks the monolith once more where it is time for that, and goes on to
// the comparison.
func (g *gateway) repeat(v *visit, x *whittle.Exchange) {
	n := g.spec.Mirror.RepeatEvery
	if x.Rescued || n <= 0 || x.Monolith.Failure != whittle.NoFailure {
		g.observe(v, x)
		return
	}
	if g.mirrored++; g.mirrored%uint64(n) != 0 {
		g.observe(v, x)
		return
	}
	a := g.askMonolith(v.q)
	x.Repeat = &a
	g.later(a.Latency, func() { g.observe(v, x) })
}

func (g *gateway) observe(v *visit, x *whittle.Exchange) {
	o := g.ctl.Observe(x)
	if o.Differs {
		g.decide()
	}
	if o.Ask && g.again.acquire(g.out.Requests) {
		g.recheck(v, &whittle.Recheck{Exchange: x})
	}
}

// recheck asks both sides again until the difference is settled.
func (g *gateway) recheck(v *visit, r *whittle.Recheck) {
	after, more := g.ctl.Recheck(r)
	if !more || len(r.Rounds) >= mostRounds {
		g.again.release()
		return
	}
	g.later(after, func() {
		round := whittle.Round{After: g.now.Sub(v.at), Monolith: g.askMonolith(v.q)}
		g.later(round.Monolith.Latency, func() {
			round.Candidate = g.askCandidate(v, false).Answer
			g.later(round.Candidate.Latency, func() {
				g.again.spend()
				g.out.Asked++
				r.Rounds = append(r.Rounds, round)
				g.recheck(v, r)
			})
		})
	})
}

func (g *gateway) askMonolith(q *whittle.Request) whittle.Answer {
	a := g.family.Monolith(&family.World{Now: g.now, Rand: g.monolith.ids, Orders: g.table}, q)
	a.Latency = g.latency(g.monolith.pace)
	return a
}

func (g *gateway) askCandidate(v *visit, first bool) fault.Response {
	g.busy = slices.DeleteFunc(g.busy, func(end time.Time) bool { return !end.After(g.now) })
	r := g.mutant.Serve(&fault.Call{
		Family: g.family, World: &family.World{Now: g.now.Add(g.skew), Rand: g.replaced.ids, Orders: g.table}, Request: v.q,
		User: v.user, First: first, Busy: len(g.busy), Up: g.now.Sub(begin), Right: whittle.Answer{Latency: g.latency(g.replaced.pace)},
	})
	g.busy = append(g.busy, g.now.Add(r.Latency))
	g.touch.count(first, &r)
	return r
}

// latency is log-normal around the family's median.
func (g *gateway) latency(r *rand.Rand) time.Duration {
	return time.Duration(float64(g.family.Latency) * math.Exp(0.35*r.NormFloat64()))
}

func (g *gateway) result() Result {
	r := g.out
	r.Verdict, r.Named, r.Virtual = g.seen.verdict.State, g.seen.verdict.Compared, g.now.Sub(begin)
	switch {
	case g.phase == whittle.PhaseLive:
		r.End = Live
	case g.phase == whittle.PhaseRolledBack:
		r.End = RolledBack
	case r.Verdict == whittle.Different:
		r.End = Refused
	default:
		r.End = Waiting
	}
	r.Finding, r.Summary = g.seen.named(r.End)
	if g.open {
		r.Finding = "circuit breaker"
	}
	return r
}
