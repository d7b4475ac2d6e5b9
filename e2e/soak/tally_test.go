package soak

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle/e2e/soak/client"
	"whittle/e2e/soak/plan"
)

// mostErrors bounds the errors that are shown with all that is known of them.
const mostErrors = 50

// tally counts what became of the requests.
type tally struct {
	t                *testing.T
	requests, exempt atomic.Int64

	mu     sync.Mutex       // guards the following
	failed map[string]int64 // by class; of direct access too, where the harness expects what is not so
	// certain counts, by gateway and route, the requests that the gateway must have had, uncertain
	// those that it may have had.
	certain, uncertain map[string]int64
}

// asked is one request that has had its outcome.
type asked struct {
	kind   *kind
	plan   *plan.Plan
	out    client.Outcome
	began  time.Time
	exempt bool // the monolith was not there
	// candidateGone says that a candidate was not.
	candidateGone bool
}

// add counts it, and says whether it is a user's error.
func (t *tally) add(a *asked) {
	t.requests.Add(1)
	p := a.plan
	if a.kind.gateway != nil && p.Route != "" {
		in := t.certain
		if a.out.Uncertain {
			in = t.uncertain
		}
		t.mu.Lock()
		in[a.kind.gateway.name+" "+p.Route]++
		t.mu.Unlock()
	}
	switch a.out.Class {
	case client.Whole, client.Left:
		return
	case client.Refused, client.Broken:
		switch {
		case !p.Fault.Harmless():
			return
		case a.exempt, a.candidateGone && goesWithCandidate(p, a.out.Class):
			t.exempt.Add(1)
			return
		}
	}
	t.fail(a)
}

// goesWithCandidate reports whether the end of its candidate takes along what was on its
// way to it: what may be sent once only, a body whose end is that of its connection, an event
// stream, and a body that is not held until it is whole.
func goesWithCandidate(p *plan.Plan, c client.Class) bool {
	return p.Route == "once" || p.Route != "" && c == client.Broken && (p.Framing == plan.ByClose || p.Way == plan.Events || p.Length > held<<10)
}

// fail shows an error that direct access would not have had, with what it takes to have it again.
func (t *tally) fail(a *asked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	class, said := a.out.Class.String(), ""
	if a.kind.gateway == nil {
		class = "direct " + class
	} else {
		said = a.kind.gateway.Said()
	}
	t.failed[class]++
	if t.failed[class] <= mostErrors {
		p := a.plan
		t.t.Errorf("%s: %s at %s, %s %s, fault %s, candidate's %s, after %v: %s\n  plan %s, %s", class, a.kind.name, time.Now().Format("05.000"), p.Way, p.Path(),
			p.Fault, p.Candidate, time.Since(a.began).Round(time.Millisecond), a.out.Text, p.Text(), said[max(0, len(said)-3000):])
	}
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("errors %v, %d while an upstream was down", t.failed, t.exempt.Load())
}

// holdLedger waits until nothing of a route is under way, and holds its ledger to its sum and
// to what was sent.
func (r *soak) holdLedger(g *gateway, route string) {
	l := g.ledgerAtRest(route)
	certain, uncertain := r.tally.certain[g.name+" "+route], r.tally.uncertain[g.name+" "+route] // nobody asks any more
	text := fmt.Sprintf("ledger %-5s %-24s sent %d to %d: %s", g.name, g.match(route), certain, certain+uncertain, l.Account())
	if l.Total != l.Sum() || l.Pending != 0 || l.Total < certain || l.Total > certain+uncertain {
		r.t.Error(text)
	} else {
		r.t.Log(text)
	}
}
