package control

import (
	"fmt"
	"slices"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

// questions are what the gates before a route's next step were asked; guarded by the
// route's mu. They are of one step: another one is asked about afresh.
type questions struct {
	step   step
	before whittle.GateMoment
	asked  []question
	last   uint64 // of the IDs that were given out
}

// step identifies what the gates were asked about.
type step struct {
	since time.Time
	phase whittle.Phase
	share whittle.Share
}

func stepOf(st *rollout.State) step { return step{st.Since, st.Phase, st.Share} }

type question struct {
	id    uint64
	gate  whittle.Gate
	since time.Time
	tries int
	open  bool
	last  string
	noted bool // in the time line
}

// put takes the gates that are due now. What is asked already goes on; what is not due
// any more is forgotten, so that it is asked again when it is.
func (q *questions) put(st *rollout.State, gates []whittle.Gate, before whittle.GateMoment, now time.Time) {
	if len(gates) == 0 || q.step != stepOf(st) {
		q.asked = nil
	}
	q.step, q.before = stepOf(st), before
	old := q.asked
	q.asked = nil
	for _, g := range gates {
		i := slices.IndexFunc(old, func(o question) bool { return o.gate.Name == g.Name })
		if i < 0 {
			q.last++
			q.asked = append(q.asked, question{id: q.last, gate: g, since: now})
			continue
		}
		q.asked = append(q.asked, old[i])
		q.asked[len(q.asked)-1].gate = g
	}
}

// states is what the rollout knows of the gates.
func (q *questions) states(st *rollout.State) map[string]rollout.GateState {
	if q.step != stepOf(st) {
		return nil
	}
	out := make(map[string]rollout.GateState, len(q.asked))
	for i := range q.asked {
		a := &q.asked[i]
		s := rollout.GateState{Open: a.open}
		if a.last != "" {
			s.Wait = fmt.Sprintf("since %s, %s", a.since.UTC().Format("2006-01-02 15:04:05 MST"), a.last)
		}
		out[a.gate.Name] = s
	}
	return out
}

func (q *questions) find(id uint64) *question {
	if i := slices.IndexFunc(q.asked, func(a question) bool { return a.id == id }); i >= 0 {
		return &q.asked[i]
	}
	return nil
}

// askGates notes which gates are due. The caller holds both locks.
func (r *route) askGates(now time.Time) {
	gates, before := rollout.Due(r.spec.Rollout, r.st, r.in, now)
	if r.frozen {
		gates = nil
	}
	r.gates.put(&r.st, gates, before, now)
}

// Gates lists the questions to gates that are due now, those of routes with users on the
// candidate to the gates that may take them off among them.
func (c *Controller) Gates() []whittle.GateAsk {
	var all []whittle.GateAsk
	for _, r := range c.routes() {
		all = append(all, r.gateAsks()...)
	}
	return all
}

func (r *route) gateAsks() (asks []whittle.GateAsk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spec.Rollout.Gates) == 0 || r.frozen {
		return nil
	}
	ask := whittle.GateAsk{
		Route: r.name, Before: r.gates.before, From: r.st.Share, To: r.st.Share, Phase: r.st.Phase, Since: r.st.Since, Generation: r.generation,
		Verdict: r.in.Verdict, Summary: r.in.Summary, Compared: r.in.Ground.Compared, Harm: r.in.Harm.Summary,
	}
	recall := ask
	recall.Before = whittle.GateRollback
	for _, g := range rollout.Recalls(r.spec.Rollout, r.st) {
		recall.Gate = g
		asks = append(asks, recall)
	}
	if next := rollout.Promotion(r.spec.Rollout, r.st); next > 0 {
		ask.To = next
	}
	for _, q := range r.gates.asked {
		ask.ID, ask.Gate, ask.Open = q.id, q.gate, q.open
		asks = append(asks, ask)
	}
	return asks
}

// Gated takes a gate's response to a question. said is a clause with no secrets
// in it: "last response 503". A response to a question that is not asked any more is
// ignored. A gate of GateRollback that opens takes the users off the candidate. It never
// waits for a disk.
func (c *Controller) Gated(ask *whittle.GateAsk, open bool, said string) {
	r := c.find(ask.Route)
	switch {
	case r == nil:
	case ask.Before == whittle.GateRollback:
		if open {
			r.recall(ask, said)
		}
	default:
		r.gated(ask.ID, open, said)
		r.wake.Notify()
	}
}

func (r *route) gated(id uint64, open bool, said string) {
	now := r.c.o.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.gates.find(id)
	if q == nil {
		return
	}
	q.tries++
	q.open, q.last = open, said
	if open || q.noted || r.rise != nil {
		return
	}
	q.noted = true
	wait := r.gates.states(&r.st)[q.gate.Name].Wait
	next, d := rollout.Waiting(r.spec.Rollout, r.st, q.gate.Name, wait, now)
	r.settle(next, *d)
}

// recall takes the users off the candidate because a gate demands it.
func (r *route) recall(ask *whittle.GateAsk, said string) {
	if r.decided.Load().Share == 0 {
		return // somebody was faster, and may have begun something else
	}
	_, err := r.order(rollout.Order{
		Kind: rollout.Rollback, By: "gate " + ask.Gate.Name, Gate: ask.Gate.Name, Reason: said,
	})
	if err != nil {
		r.c.o.Log.Error("a gate's rollback is refused", "route", r.name, "gate", ask.Gate.Name, "err", err)
	}
}

// gateStatus shows the gates before the next step. The caller holds mu.
func (r *route) gateStatus() []whittle.GateStatus {
	gates, before := rollout.Gates(r.spec.Rollout, r.st)
	var all []whittle.GateStatus
	for _, g := range gates {
		s := whittle.GateStatus{Name: g.Name, Before: before, ByHand: g.Hook == nil, Open: r.st.Opened(g.Name)}
		if r.gates.step == stepOf(&r.st) {
			for _, q := range r.gates.asked {
				if q.gate.Name == g.Name {
					s.Open, s.Since, s.Asked, s.Last = s.Open || q.open, q.since, q.tries, q.last
				}
			}
		}
		all = append(all, s)
	}
	return all
}
