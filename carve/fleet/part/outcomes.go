package part

import (
	"context"
	"sync"
	"time"

	"whittle"
	"whittle/carve/fleet/evidence"
	"whittle/internal/notify"
)

const (
	// outcomesEvery is how often users' outcomes go to whoever leads.
	outcomesEvery = 250 * time.Millisecond

	subjectOutcomes = "outcomes"
)

// outbox has the outcomes that wait to be sent. What comes faster is a sample.
type outbox struct {
	some notify.Signal // it is not empty any more
	full notify.Signal // half of what a message of a route may have is there

	mu     sync.Mutex // guards the following
	routes map[string][]whittle.Outcome
}

func (b *outbox) put(o *whittle.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.routes == nil {
		b.some.Notify()
		b.routes = map[string][]whittle.Outcome{}
	}
	all := b.routes[o.Route]
	if len(all) == evidence.MaxOutcomes {
		return
	}
	if b.routes[o.Route] = append(all, *o); len(all)+1 == evidence.MaxOutcomes/2 {
		b.full.Notify()
	}
}

func (b *outbox) take() map[string][]whittle.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.routes
	b.routes = nil
	return all
}

// run sends what has come, until ctx ends. A gateway without users is not woken.
func (b *outbox) run(ctx context.Context, p *Part) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.some:
		}
		if !b.gather(ctx, outcomesEvery) {
			return
		}
		for _, all := range b.take() {
			p.send(all)
		}
	}
}

// gather waits for more outcomes: until most has passed, or there are many. False: ctx ended.
func (b *outbox) gather(ctx context.Context, most time.Duration) bool {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-b.full:
	}
	return true
}

func (p *Part) send(all []whittle.Outcome) {
	if p.own.Load() != nil {
		p.take(all)
		return
	}
	if b, err := evidence.EncodeOutcomes(all); err == nil {
		p.member.Say(subjectOutcomes, b)
	}
}

// take gives outcomes to the controller, while this gateway leads.
func (p *Part) take(all []whittle.Outcome) {
	c := p.own.Load()
	if c == nil {
		return
	}
	p.conduct.arrivedOutcomes.Add(int64(len(all)))
	for i := range all {
		c.Outcome(all[i])
	}
}

func (p *Part) heard(message []byte) {
	if all, ok := evidence.Outcomes(message); ok {
		p.take(all)
	}
}

// Outcome takes the outcome of one user's request. It never waits. Which users' outcomes
// count where there are too many does not depend on how they went.
func (p *Part) Outcome(o whittle.Outcome) {
	if p.conduct.counts(o.User) {
		p.outcomes.put(&o)
	}
}
