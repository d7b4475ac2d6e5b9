package control

import (
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/carve/account"
)

// evidence is the evidence on one route's candidate, with its ledger. Its lock is held
// while a comparison or an encoding runs, so nothing that lowers a share may need it.
// It is taken before the route's mu.
type evidence struct {
	mu    sync.Mutex // guards the following
	judge Judge
	guard Guard
	// queries are guardrails next to it.
	queries queries
	// begun is when the evidence was last reset. Earlier exchanges may be of another
	// candidate. Zero: not in this process.
	begun time.Time
	// share is the last one that was passed to the guard.
	share whittle.Share
	// exposed says that the guard has seen users on the candidate, so that it
	// is reset before another shift.
	exposed bool
	// verdict is the judge's last verdict; stale says that it has seen more since.
	verdict whittle.Verdict
	stale   bool
	// served counts good responses of the candidate to users in the step that
	// began at step.
	served  int
	step    time.Time
	account account.Account
	// uncompared is what could not be compared by the last reports, before what was
	// counted when the evidence began, or looks (of the spec) changed.
	uncompared, before uncompared
	looks              string
	// place is the position in the fleet's stream of the last exchange that was processed.
	place uint64
	// changed says that something has come since the last save began.
	changed bool
	spare   []whittle.Outcome
}

// setShare passes the share that is decided to the guard. The caller holds mu.
func (e *evidence) setShare(share whittle.Share) {
	if share != e.share {
		e.share = share
		e.guard.Share(share)
	}
}

// addOutcome counts one user's outcome, at the share that is decided. The caller holds mu.
func (e *evidence) addOutcome(o *whittle.Outcome, share whittle.Share) {
	e.changed = true
	if o.Side == whittle.Candidate {
		if share == 0 {
			return // a straggler from before a fall
		}
		e.exposed = true
		if !o.Bad() && o.Failure == whittle.NoFailure {
			e.served++
		}
	}
	e.guard.Outcome(*o)
}

// servedSince counts what the candidate has served in the step that began then.
// The caller holds mu.
func (e *evidence) servedSince(step time.Time) int {
	if !step.Equal(e.step) {
		e.step, e.served = step, 0
	}
	return e.served
}

// judged is the verdict on all observed exchanges. Its slices may belong to the judge. The
// caller holds mu.
func (e *evidence) judged() whittle.Verdict {
	if e.stale {
		v := e.judge.Verdict()
		e.sayUncompared(&v)
		e.verdict, e.stale = v, false
	}
	return e.verdict
}

// shown is judged in a form that stays as it is while the judge goes on. The caller holds mu.
func (e *evidence) shown() whittle.Verdict {
	v := e.judged()
	v.Bounds = slices.Clone(v.Bounds)
	identify(v.Bounds)
	v.Findings = slices.Clone(v.Findings)
	for i := range v.Findings {
		v.Findings[i].Samples = slices.Clone(v.Findings[i].Samples)
	}
	return v
}

// compare gives an exchange to the judge and the guard. The caller holds mu.
func (e *evidence) compare(x *whittle.Exchange) whittle.Observation {
	o := e.judge.Observe(x)
	e.stale = true
	// Before the shift too, because the guards learn from it how the monolith behaves.
	// An exchange that is not compared may still be a failure of either side. Guards watch
	// users, and have nothing to learn of responses that none got.
	if !x.Unserved {
		e.guard.Pair(pairOf(x, o))
	}
	return o
}

// count enters an exchange into the ledger, as the last step: if the judge panics, the
// gateway counts the exchange. The caller holds mu.
func (e *evidence) count(from Sent, x *whittle.Exchange, o *whittle.Observation) {
	fate, reason := o.Fate(x)
	e.account.Judged(from.Gateway, from.Run, fate, reason)
	o.Counted, e.changed = true, true
	e.place = max(e.place, from.Place)
}

// pairOf converts an exchange to the form that the guards take.
func pairOf(x *whittle.Exchange, o whittle.Observation) whittle.Pair {
	outcome := func(side whittle.Side, a *whittle.Response) whittle.Outcome {
		return whittle.Outcome{
			Route: x.Route, User: x.User, At: x.At, Side: side, Status: a.Status, Failure: a.Failure, Latency: a.Latency,
		}
	}
	return whittle.Pair{
		User: x.User, At: x.At, First: x.First(),
		Monolith: outcome(whittle.Monolith, &x.Monolith), Candidate: outcome(whittle.Candidate, &x.Candidate),
		Compared: o.Skip == "", Differs: o.Differs, Repeated: o.Repeated, SelfDiffers: o.SelfDiffers,
	}
}
