package run

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"whittle/e2e/soak/client"
	"whittle/e2e/soak/plan"
)

// mostErrors bounds the errors that are kept with all that is known of them.
const mostErrors = 50

// tally counts what became of the requests.
type tally struct {
	requests, exempt atomic.Int64

	mu     sync.Mutex // guards the following
	errors []Error
	failed map[string]int64 // by class
	unfit  int64            // of direct access: the harness expects what is not so
	routes map[string]*sent // by gateway and route
}

// sent counts the requests of a route: those that the gateway must have had, and those
// that it may have had.
type sent struct{ certain, uncertain atomic.Int64 }

// Error is a user's error, with what it takes to have it again.
type Error struct {
	At            time.Time
	Client, Class string
	Text          string
	Plan          *plan.Plan
	Took          time.Duration
	Said          string // by the gateway, last
}

func newTally() *tally {
	return &tally{failed: map[string]int64{}, routes: map[string]*sent{}}
}

// asked is one request that has had its outcome.
type asked struct {
	gateway string
	name    string // of the kind
	said    *heard // the gateway's; nil: there is none
	plan    *plan.Plan
	out     client.Outcome
	began   time.Time
	exempt  bool // the monolith was not there
	// candidateGone says that a candidate was not.
	candidateGone bool
}

// add counts it, and says whether it is a user's error.
func (t *tally) add(a *asked) {
	t.requests.Add(1)
	p := a.plan
	if a.gateway != "" && p.Route != "" {
		s := t.route(a.gateway, p.Route)
		if a.out.Uncertain {
			s.uncertain.Add(1)
		} else {
			s.certain.Add(1)
		}
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
	t.keep(a)
}

// goesWithCandidate reports whether the end of its candidate takes along what was on its
// way to it: what may be sent once only, a body whose end is that of its connection, an event
// stream, and a body that is not held until it is whole.
func goesWithCandidate(p *plan.Plan, c client.Class) bool {
	return p.Route == "once" || p.Route != "" && c == client.Broken && (p.Framing == plan.ByClose || p.Way == plan.Events || p.Length > held<<10)
}

func (t *tally) keep(a *asked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	class := a.out.Class.String()
	if a.gateway == "" {
		t.unfit++
		class = "direct " + class
	} else {
		t.failed[class]++
	}
	if len(t.errors) >= mostErrors {
		return
	}
	e := Error{At: time.Now(), Client: a.name, Class: class, Text: a.out.Text, Plan: a.plan, Took: time.Since(a.began).Round(time.Millisecond)}
	if a.said != nil {
		said, _ := a.said.text()
		e.Said = said[max(0, len(said)-3000):]
	}
	t.errors = append(t.errors, e)
}

func (t *tally) route(gateway, route string) *sent {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := gateway + " " + route
	s := t.routes[key]
	if s == nil {
		s = &sent{}
		t.routes[key] = s
	}
	return s
}

// errorCount is how many user errors there are, mixed and doubled ones apart.
func (t *tally) errorCount() (all, mixed, doubled int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.failed {
		all += n
	}
	return all, t.failed[client.Mixed.String()], t.failed[client.Doubled.String()]
}

func (t *tally) String() string {
	all, mixed, doubled := t.errorCount()
	return fmt.Sprintf("%d user errors (%d mixed, %d doubled), %d during outages", all, mixed, doubled, t.exempt.Load())
}
