package soak

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/notify"
)

// wanted is the least share of a route's users that the candidate is to have.
var wanted = map[string]whittle.Share{"shadow": 0, "shift": 5000, "live": whittle.All, "strict": 5000, "once": whittle.All}

// operate keeps the routes of a gateway where they are wanted, as a stubborn operator
// does: what was rolled back begins again.
func (r *soak) operate(ctx context.Context, g *gateway) {
	every(ctx, 300*time.Millisecond, func() {
		for _, route := range g.routes() {
			s, err := g.client.Route(ctx, g.match(route))
			if err != nil {
				continue // it is being restarted
			}
			order := rollout.Order{By: "the soak", Reason: "the soak's word", Force: true, Kind: rollout.Promote}
			switch {
			case s.Verdict.State == whittle.Different:
				r.happened(g.name + " " + route + " seen as DIFFERENT: " + s.Verdict.Summary)
				continue
			case s.Phase == whittle.PhaseRolledBack:
				order.Kind, order.Force = rollout.Reset, false
				r.happened("rollback")
			case s.Phase == whittle.PhaseShadow && wanted[route] > 0, s.Phase == whittle.PhaseShift && s.Share < wanted[route]:
			default:
				continue
			}
			_, _ = g.client.Order(ctx, g.match(route), order) // it is given again
		}
	})
}

// disturb does over and over what happens while the users ask, each after so many units of
// time, until ctx ends. What cannot be done ends the run.
func (r *soak) disturb(ctx context.Context) {
	some := func() *gateway { return r.gateways[rand.IntN(len(r.gateways))] }
	var wg sync.WaitGroup
	for _, d := range []struct {
		name  string
		every int // units
		do    func()
	}{
		{"reload", 3, func() { some().reload(rand.IntN(2) == 0, func(s *setting) { s.Extra = !s.Extra }) }},
		{"refused reload", 17, func() { some().refuse() }},
		{"candidate restart", 7, r.lenient.restart},
		{"strict candidate restart", 11, r.strict.restart},
		{"candidate upgrade", 31, func() {
			r.lenient.restart()
			some().reload(true, func(s *setting) { s.Build++ })
		}},
		{"monolith restart", 23, r.monolith.restart},
	} {
		wg.Go(func() {
			every(ctx, time.Duration(d.every)*r.unit, func() {
				r.turn.Lock()
				defer r.turn.Unlock()
				if ctx.Err() == nil {
					r.carryOut(d.name, d.do)
				}
			})
		})
	}
	wg.Wait()
}

// carryOut does a disturbance, and ends the run where the test ends over it.
func (r *soak) carryOut(name string, do func()) {
	done := false
	defer func() {
		if !done {
			r.stop()
		}
	}()
	do()
	done = true
	r.happened(name)
}

// restartsOf is how many restarts would fill a run.
const restartsOf = 30

// restart replaces each gateway's process twice in the first third of the run, so that one process
// each has long to lose what it holds.
func (r *soak) restart(ctx context.Context) {
	for i := range 2 * len(r.gateways) {
		if !notify.Sleep(ctx, r.lasts/restartsOf) {
			return
		}
		r.carryOut("whittle restart", r.gateways[i%len(r.gateways)].replace)
	}
}
