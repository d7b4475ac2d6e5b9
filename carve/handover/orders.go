package handover

import (
	"context"
	"sync"
	"time"

	"whittle"
	"whittle/internal/notify"
)

// orders wait to be passed on to a predecessor: the last one of each route.
type orders struct {
	wake notify.Signal

	mu        sync.Mutex // guards the following
	positions map[string]whittle.Position
	end       bool
}

// Apply has the predecessor put in force what was decided for a route. It never waits.
func (p *Predecessor) Apply(route string, at whittle.Position) {
	p.orders.mu.Lock()
	defer p.orders.mu.Unlock()
	p.orders.positions[route] = at
	p.orders.wake.Notify()
}

// pass passes on what comes until the predecessor has ended. There is no bound on time: one that
// hangs and goes on later is to have the last share, and nothing else waits for it.
func (o *orders) pass(to link, gone <-chan struct{}) {
	for {
		select {
		case <-gone:
			return
		case <-o.wake:
		}
		for _, m := range o.take() {
			if to.say(m) != nil {
				return // it has ended
			}
		}
	}
}

func (o *orders) take() (all []message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for route, at := range o.positions {
		all = append(all, message{Route: route, At: &at})
	}
	clear(o.positions)
	if o.end {
		all = append(all, message{End: true})
	}
	return all
}

// Await waits for the predecessor to end. Once ctx ends it is asked to end soon, and has as long
// as grace.
func (p *Predecessor) Await(ctx context.Context, grace time.Duration) {
	select {
	case <-p.gone:
		return
	case <-ctx.Done():
	}
	p.orders.mu.Lock()
	p.orders.end = true
	p.orders.wake.Notify()
	p.orders.mu.Unlock()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.gone:
	case <-t.C:
	}
}
