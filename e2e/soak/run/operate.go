package run

import (
	"context"
	"fmt"
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
				r.note("%s %s is DIFFERENT: %s", g.name, route, s.Verdict.Summary)
				continue
			case s.Phase == whittle.PhaseRolledBack:
				order.Kind, order.Force = rollout.Reset, false
				r.rollbacks.Add(1)
			case s.Phase == whittle.PhaseShadow && wanted[route] > 0, s.Phase == whittle.PhaseShift && s.Share < wanted[route]:
			default:
				continue
			}
			_, _ = g.client.Order(ctx, g.match(route), order) // it is given again
		}
	})
}

// disturbances are what happens over and over while the users ask, each after so many
// units of time.
func (r *soak) disturbances() []disturbance {
	upgrade := func(ctx context.Context) error {
		g := r.gateways[rand.IntN(len(r.gateways))]
		if err := g.lenient.restart(ctx); err != nil {
			return err
		}
		return g.reload(ctx, true, func(s *setting) { s.Build++; s.another() })
	}
	reload := func(ctx context.Context) error {
		return r.gateways[rand.IntN(len(r.gateways))].reload(ctx, rand.IntN(2) == 0, func(s *setting) {
			s.Extra = !s.Extra
			s.another()
		})
	}
	return []disturbance{
		{"reload", 3, reload},
		{"refused reload", 17, func(ctx context.Context) error {
			return r.gateways[rand.IntN(len(r.gateways))].refused(ctx)
		}},
		{"candidate restart", 7, func(ctx context.Context) error { return r.lenient.restart(ctx) }},
		{"strict candidate restart", 11, func(ctx context.Context) error { return r.strict.restart(ctx) }},
		{"candidate upgrade", 31, upgrade},
		{"monolith restart", 23, func(ctx context.Context) error { return r.monolith.restart(ctx) }},
	}
}

type disturbance struct {
	name  string
	every int // units
	do    func(ctx context.Context) error
}

// disturb does each disturbance in its turn until ctx ends. What goes wrong ends the run.
func (r *soak) disturb(ctx context.Context) {
	var wg sync.WaitGroup
	for _, d := range r.disturbances() {
		wg.Go(func() {
			every(ctx, time.Duration(d.every)*r.unit, func() {
				r.turn.Lock()
				err := ctx.Err()
				if err == nil {
					if err = d.do(context.WithoutCancel(ctx)); err == nil {
						r.happened(d.name)
					} else {
						r.fail(fmt.Errorf("%s: %w", d.name, err))
					}
				}
				r.turn.Unlock()
			})
		})
	}
	wg.Wait()
}

// restartsOf is how many restarts would fill a run.
const restartsOf = 30

// restart replaces each gateway's process twice in the first third of the run, so that one process
// each has long to lose what it holds.
func (r *soak) restart(ctx context.Context) {
	for i := range 2 * len(r.gateways) {
		if !notify.Sleep(ctx, r.o.Duration/restartsOf) {
			return
		}
		g := r.gateways[i%len(r.gateways)]
		if err := g.replace(context.WithoutCancel(ctx)); err != nil {
			r.fail(fmt.Errorf("restart: %w", err))
			return
		}
		r.happened("whittle restart")
	}
}
