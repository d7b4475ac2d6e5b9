package engine

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
)

// userRequest is a user's request on its way.
type userRequest struct {
	user, place uint64
	q           *whittle.Request
	at          time.Time
}

const (
	forShare  uint64 = 0x9e3779b97f4a7c15
	forSample uint64 = 0xc2b2ae3d27d4eb4f
)

func (v *userRequest) in(share whittle.Share, purpose uint64) bool {
	slot, _ := bits.Mul64(mix(v.place^purpose), uint64(whittle.All))
	return slot < uint64(share)
}

// evenly spreads a share over requests without runs.
func evenly(n uint64, share whittle.Share) bool {
	slot, _ := bits.Mul64(n*forShare, uint64(whittle.All))
	return slot < uint64(share)
}

// byMonolith lets the monolith respond, and then asks the candidate the same.
func (g *gateway) byMonolith(v *userRequest) {
	x := g.exchange(v)
	x.Served, x.Monolith = whittle.Monolith, g.askMonolith(v.q)
	g.later(x.Monolith.Latency, func() {
		g.report(v, whittle.Monolith, &x.Monolith, false)
		if !v.in(g.spec.Mirror.Sample, forSample) {
			return
		}
		x.Candidate = g.askCandidate(v, false).Response
		g.later(x.Candidate.Latency, func() { g.repeat(v, x) })
	})
}

// byCandidate lets the candidate respond. Where it fails, the monolith does.
func (g *gateway) byCandidate(v *userRequest) {
	g.watched++
	watched := evenly(g.watched, max(g.spec.Mirror.Watch, g.watching))
	x := g.exchange(v)
	r := g.askCandidate(v, true)
	x.Served, x.Candidate = whittle.Candidate, r.Response
	bad := !r.OK()
	if bad {
		x.Served, x.FellBack = whittle.Monolith, true
		x.Candidate = whittle.Response{
			Status: r.Status, Failure: r.Failure, Detail: r.Detail, Latency: r.Latency,
			Truncated: r.Failure == whittle.NoFailure, // its body was not waited for
		}
	}
	g.later(r.Latency, func() {
		g.report(v, whittle.Candidate, &r.Response, bad)
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
}

// later does something after a time.
func (g *gateway) later(d time.Duration, do func()) { g.events.add(g.now.Add(d), do) }

func (g *gateway) exchange(v *userRequest) *whittle.Exchange {
	first := float64(g.share)
	return &whittle.Exchange{
		Route: g.spec.Name, Conn: 1 + v.user, User: v.place, At: v.at, Request: *v.q,
		FirstChance: first / max(1, first+float64(whittle.All-g.share)*float64(g.spec.Mirror.Sample)/float64(whittle.All)),
	}
}

// report passes on a user's outcome.
func (g *gateway) report(v *userRequest, who whittle.Side, a *whittle.Response, fellBack bool) {
	g.ctl.Outcome(whittle.Outcome{
		Route: g.spec.Name, User: v.place, At: v.at, Side: who, Status: a.Status, Failure: a.Failure, Latency: a.Latency, FellBack: fellBack,
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
		g.ctl.Tripped(g.spec.Name, fmt.Sprintf("%d bad responses of the candidate in a row", g.row), g.position)
	}
	g.decide()
}

// repeat asks the monolith once more where it is time for that, and goes on to
// the comparison.
func (g *gateway) repeat(v *userRequest, x *whittle.Exchange) {
	n := g.spec.Mirror.RepeatEvery
	if x.FellBack || n <= 0 || x.Monolith.Failure != whittle.NoFailure {
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

func (g *gateway) observe(v *userRequest, x *whittle.Exchange) {
	o := g.ctl.Observe(x)
	if o.Differs {
		g.decide()
	}
	if o.Ask && g.again.acquire(g.out.Requests) {
		g.recheck(v, &whittle.Recheck{Exchange: x})
	}
}

// recheck asks both sides again until the difference is settled.
func (g *gateway) recheck(v *userRequest, r *whittle.Recheck) {
	after, more := g.ctl.Recheck(r)
	if !more || len(r.Rounds) >= mostRounds {
		g.again.release()
		return
	}
	g.later(after, func() {
		round := whittle.Round{After: g.now.Sub(v.at), Monolith: g.askMonolith(v.q)}
		g.later(round.Monolith.Latency, func() {
			round.Candidate = g.askCandidate(v, false).Response
			g.later(round.Candidate.Latency, func() {
				g.again.spend()
				g.out.Asked++
				r.Rounds = append(r.Rounds, round)
				g.recheck(v, r)
			})
		})
	})
}

func (g *gateway) askMonolith(q *whittle.Request) whittle.Response {
	a := g.family.Monolith(&family.World{Now: g.now, Rand: g.monolith.ids, Orders: g.table}, q)
	a.Latency = g.latency(g.monolith.pace)
	a.Header = dated(a.Header, g.now.Add(a.Latency))
	return a
}

// dated adds what every HTTP server does: the time by its clock when the response's
// head is written.
func dated(h whittle.Header, at time.Time) whittle.Header {
	out := maps.Clone(h)
	if out == nil {
		out = whittle.Header{}
	}
	out["Date"] = []string{at.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}
	return out
}

func (g *gateway) askCandidate(v *userRequest, first bool) fault.Response {
	g.busy = slices.DeleteFunc(g.busy, func(end time.Time) bool { return !end.After(g.now) })
	r := g.mutant.Serve(&fault.Call{
		Family: g.family, World: &family.World{Now: g.now.Add(g.skew), Rand: g.replaced.ids, Orders: g.table}, Request: v.q,
		User: v.user, First: first, Busy: len(g.busy), Up: g.now.Sub(begin), Right: whittle.Response{Latency: g.latency(g.replaced.pace)},
	})
	r.Header = dated(r.Header, g.now.Add(g.skew+r.Latency))
	g.busy = append(g.busy, g.now.Add(r.Latency))
	g.touch.count(first, &r)
	return r
}
