package part

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"whittle"
	"whittle/internal/notify"
)

const (
	// outcomesEvery is how often users' outcomes go to whoever leads.
	outcomesEvery = 100 * time.Millisecond
	// maxOutcomes bounds those of one message, and of one route between two.
	maxOutcomes = 2048
	// outcomesVersion is raised when a reader of the one before would misread a message.
	outcomesVersion = 1

	subjectOutcomes = "outcomes"
)

// batch is a message with users' outcomes.
type batch struct {
	Version  int               `json:"version"`
	Route    string            `json:"route"`
	Outcomes []whittle.Outcome `json:"outcomes"`
}

// outbox has the outcomes that wait to be sent. What comes faster is a sample.
type outbox struct {
	some notify.Signal // it is not empty any more

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
	if all := b.routes[o.Route]; len(all) < maxOutcomes {
		b.routes[o.Route] = append(all, *o)
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
		if !notify.Sleep(ctx, outcomesEvery) {
			return
		}
		for route, all := range b.take() {
			p.send(&batch{Version: outcomesVersion, Route: route, Outcomes: all})
		}
	}
}

func (p *Part) send(b *batch) {
	if p.own.Load() != nil {
		p.take(b)
		return
	}
	if message, err := json.Marshal(b); err == nil {
		p.member.Say(subjectOutcomes, message)
	}
}

// take gives outcomes to the controller, while this gateway leads.
func (p *Part) take(b *batch) {
	c := p.own.Load()
	if c == nil {
		return
	}
	p.conduct.tookOutcomes(len(b.Outcomes))
	for _, o := range b.Outcomes {
		o.Route = b.Route
		c.Outcome(o)
	}
}

func (p *Part) heard(message []byte) {
	var b batch
	if json.Unmarshal(message, &b) == nil && b.Version == outcomesVersion && len(b.Outcomes) <= maxOutcomes {
		p.take(&b)
	}
}

// Outcome takes the outcome of one user's request. It never waits. Which users' outcomes
// count where there are too many does not depend on how they went.
func (p *Part) Outcome(o whittle.Outcome) {
	if p.conduct.counts(o.User) {
		p.outcomes.put(&o)
	}
}
