package control

import (
	"encoding/json"
	"time"

	"whittle"
	"whittle/carve/account"
	"whittle/carve/rollout"
	"whittle/carve/state"
)

// draft is a consistent snapshot of a route for the disk: the rollout with its pending
// rise, the evidence, and the ledger. It is taken under the locks, and encoded and
// saved without them.
type draft struct {
	rise *rise  // nil: there was none
	gen  uint64 // of the decisions that are in it

	epoch        string
	st           rollout.State
	own          kept
	account      account.Kept
	judge, guard []byte
	queries      map[string]json.RawMessage
	timeline     []whittle.Decision
	// reports is how far the gateways' parts of the ledger have come.
	reports reports
	shown   *snapshot
}

// draft never returns nil. It encodes the evidence under the evidence's lock alone, so
// orders and status calls go on.
func (r *route) draft() (*draft, error) {
	r.ev.mu.Lock()
	defer r.ev.mu.Unlock()
	r.ev.setShare(r.decided.Load().Share)
	r.ev.judged()
	d := &draft{}
	var err error
	if d.judge, err = r.ev.judge.MarshalBinary(); err != nil {
		err = whittle.Errorf(whittle.Internal, "encode the evidence of %s: %w", r.name, err)
	} else if d.guard, err = r.ev.guard.MarshalBinary(); err != nil {
		err = whittle.Errorf(whittle.Internal, "encode the guards of %s: %w", r.name, err)
	} else if d.queries, err = r.ev.queries.kept(); err != nil {
		err = whittle.Errorf(whittle.Internal, "encode the queries of %s: %w", r.name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d.cut(r, r.c.o.Now())
	return d, err
}

// cut fills in what needs no encoding. The caller holds both locks.
func (d *draft) cut(r *route, now time.Time) {
	d.rise, d.gen, d.epoch = r.rise, r.disk.gen, r.epoch
	r.disk.began, r.disk.asked, r.ev.changed = now, false, false
	d.reports = r.c.reportsOf(r.name)
	r.takeReports()
	if r.c.o.Fleet == nil {
		d.reports.total = r.ev.account.Report(account.Local).Ledger.Total // what was taken, and no more
	}
	d.account = r.ev.account.Kept(now)
	d.st, d.timeline = r.st, r.timeline
	d.own = kept{
		Version: keptVersion, Generation: r.generation, Served: r.ev.servedSince(r.st.Since), Exposed: r.ev.exposed,
		Guard: r.guardID, Past: r.past.evidence, Begun: r.ev.begun, Queries: d.queries, Place: r.ev.place,
		Before: r.ev.before, Looks: r.ev.looks,
	}
	if up := r.rise; up != nil {
		d.st, d.timeline = up.next, appendTimeline(d.timeline, up.decision)
		d.own.Generation, d.own.Served = up.decision.Generation, 0
		if !up.sent.IsZero() { // it is on disk already, and not in force
			d.rise = nil
			d.shown = r.snapshot(r.st, r.generation, r.timeline, r.ev.servedSince(r.st.Since))
			return
		}
	}
	d.shown = r.snapshot(d.st, d.own.Generation, d.timeline, d.own.Served)
}

// record encodes a draft.
func (d *draft) record() (state.Record, error) {
	rec := state.Record{Epoch: d.epoch, Judge: d.judge, Guard: d.guard, Timeline: d.timeline}
	var err error
	if d.own.Rollout, err = rollout.Encode(d.st); err != nil {
		return state.Record{}, err
	}
	if rec.Rollout, err = json.Marshal(d.own); err != nil {
		return state.Record{}, err
	}
	rec.Ledger, err = json.Marshal(d.account)
	return rec, err
}

// snapshot is the route as a status shows it. The caller holds both locks.
func (r *route) snapshot(st rollout.State, generation uint64, timeline []whittle.Decision, served int) *snapshot {
	v, harm := r.ev.shown(), r.harm(st)
	return &snapshot{
		st: st,
		in: rollout.Input{Verdict: v.State, Summary: v.Summary, StepServed: served, Harm: harm, Wait: r.ev.queries.wait(r.ev.guard.Wait())},
		status: whittle.RouteStatus{
			Route: r.name, Phase: st.Phase, Share: st.Share, Percent: st.Share.Percent(), Held: st.Held, Since: st.Since,
			Generation: generation,
			Verdict:    v, Ledger: r.ev.account.Total(), Guards: r.ev.queries.meters(r.ev.guard.Meters()), Harm: harm, Timeline: timeline,
		},
	}
}
