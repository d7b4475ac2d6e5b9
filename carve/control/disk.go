package control

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"whittle"
	"whittle/carve/account"
	"whittle/carve/rollout"
	"whittle/carve/state"
)

// disk says which of a route's decisions are on disk; guarded by the route's mu.
type disk struct {
	// open says that persist runs; only then may anyone wait for it.
	open bool
	// gen is raised by every decision; saved is the last one on disk.
	gen, saved uint64
	// asked says that persist was woken and has not begun.
	asked bool
	// began is when the last save began, retryAt when another may follow a failed one.
	began, retryAt time.Time
	reports        reports // as saved
	err            error   // of the last save
	failures       int64
	waiters        []waiter
	// shown is what a status shows.
	shown *snapshot
}

// waiter wants to know when a generation is on disk.
type waiter struct {
	gen  uint64
	done chan error // of one place
}

// snapshot is a record in the form in which it is shown. It is not changed
// once it is made.
type snapshot struct {
	status whittle.RouteStatus
	st     rollout.State
	in     rollout.Input
}

// kept is control's own part of a record.
type kept struct {
	Version int             `json:"version"`
	Rollout json.RawMessage `json:"rollout"`
	// Generation is that of the rollout's position.
	Generation uint64 `json:"generation"`
	Served     int    `json:"served"`
	Exposed    bool   `json:"exposed"`
	// Guard names the policy that the guard's evidence was taken under.
	Guard string `json:"guard"`
	// Begun is when the evidence was last reset, as far as that is known.
	Begun time.Time `json:"begun,omitzero"`
	// Queries are the states of the queries' guardrails, by the queries' fingerprints.
	Queries map[string]json.RawMessage `json:"queries,omitempty"`
	// Place is how far a fleet's stream is in the evidence.
	Place uint64 `json:"place,omitempty"`
	// Before is what could not be compared when the evidence began, Looks the spec's
	// that it is counted under.
	Before uncompared `json:"before,omitzero"`
	Looks  string     `json:"looks,omitempty"`
	// Past is the evidence's past.
	Past thinned[whittle.EvidencePoint] `json:"past"`
}

// keptVersion is that of all that is kept of a route: its position, judge and guards.
const keptVersion = 5

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

// appendTimeline never writes to an array that a snapshot may be reading.
func appendTimeline(t []whittle.Decision, d whittle.Decision) []whittle.Decision {
	t = append(slices.Clip(t), d)
	return t[max(0, len(t)-state.MaxTimeline):]
}

func trimmed(s whittle.Share) string { return strconv.FormatFloat(s.Percent(), 'f', -1, 64) }
