package control

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/carve/state"
)

// disk is a route's relation to its record; guarded by the route's mu.
type disk struct {
	// open says that persist runs, so that waiting for it makes sense.
	open bool
	// gen is raised by every decision; saved is the last one on disk.
	gen, saved uint64
	// asked says that persist was woken and has not begun.
	asked bool
	// changed says that evidence has come since the last save began.
	changed bool
	// began is when the last save began, retryAt when one may follow an error.
	began, retryAt time.Time
	ledger         whittle.Ledger // as saved
	err            error          // of the last save
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

// kept is the part of a record that is control's own.
type kept struct {
	Version int             `json:"version"`
	Rollout json.RawMessage `json:"rollout"`
	Served  int             `json:"served"`
	Exposed bool            `json:"exposed"`
	// Guard names the policy that the guard's evidence was taken under.
	Guard string `json:"guard"`
	// Past is the evidence's past.
	Past thinned[whittle.EvidencePoint] `json:"past"`
}

const keptVersion = 1

func (d *disk) response(upTo uint64, err error) {
	d.waiters = slices.DeleteFunc(d.waiters, func(w waiter) bool {
		if w.gen > upTo {
			return false
		}
		w.done <- err
		return true
	})
}

// saveNow makes persist save a decision. The caller holds mu.
func (r *route) saveNow() {
	r.disk.gen++
	r.ask()
}

// ask wakes persist. The caller holds mu.
func (r *route) ask() {
	r.disk.asked = true
	notify(r.save)
}

// saveWhenDue makes persist save evidence that is a second old, and try again
// what has failed. The caller holds mu.
func (r *route) saveWhenDue(now time.Time) {
	since := now.Sub(r.disk.began)
	if r.disk.asked || now.Before(r.disk.retryAt) || (since >= 0 && since < saveEvery) {
		return
	}
	if r.disk.err != nil || r.disk.saved < r.disk.gen || r.disk.changed {
		r.ask()
		return
	}
	if l := r.c.o.Ledger(r.name); l.Total != r.disk.ledger.Total || l.Pending != r.disk.ledger.Pending {
		r.ask()
	}
}

// persist is the only goroutine that waits for the route's place on disk.
func (r *route) persist(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.save:
			_ = r.saveOnce() // kept in disk.err, logged, and tried again
		}
	}
}

// flush saves what is not on disk yet, once nothing decides any more.
func (r *route) flush() error {
	r.step(false)
	return r.saveOnce()
}

func (r *route) saveOnce() error {
	r.mu.Lock()
	rise, gen := r.rise, r.disk.gen
	r.disk.began, r.disk.changed, r.disk.asked = r.c.o.Now(), false, false
	record, shown, err := r.record()
	r.mu.Unlock()
	if err == nil {
		err = r.c.o.Store.Save(r.name, record)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed(rise, gen, err)
		return err
	}
	if r.disk.err != nil {
		r.c.o.Log.Info("state is saved again", "route", r.name)
	}
	r.disk.err, r.disk.retryAt, r.disk.ledger = nil, time.Time{}, record.Ledger
	r.disk.saved = max(r.disk.saved, gen)
	switch rise {
	case nil:
		r.disk.shown = shown
	case r.rise:
		r.disk.shown = shown
		r.rose(rise)
	}
	r.disk.response(gen, nil)
	return nil
}

// rose puts a rise in force that is on disk now, unless what it stood on has
// gone in the meantime. The caller holds mu.
func (r *route) rose(up *rise) {
	in := r.evidence()
	if in.Breach != nil || in.Verdict == whittle.Different {
		r.dropRise(whittle.Errorf(whittle.FailedPrecondition, "overtaken by the evidence: %s", in.Summary))
		r.saveNow()
		notify(r.wake)
		return
	}
	r.rise = nil
	r.adopt(up.next, up.decision)
	r.apply()
	up.done <- nil
}

// failed keeps the share from rising, and leaves everything else in force. The
// caller holds mu.
func (r *route) failed(up *rise, gen uint64, err error) {
	if r.disk.err == nil {
		r.c.o.Log.Error("state cannot be saved; no share rises until it can", "route", r.name, "err", err)
	}
	r.disk.err, r.disk.changed = err, true
	r.disk.failures++
	r.disk.retryAt = r.c.o.Now().Add(retrySave)
	if up != nil && up == r.rise {
		r.dropRise(whittle.Errorf(whittle.CodeOf(err), "the share stays as it is, since its rise cannot be saved: %w", err))
	}
	r.disk.response(gen, whittle.Errorf(whittle.CodeOf(err), "in force, but it cannot be saved, so a restart would not know of it: %w", err))
}

// record is all that is known, the rise included, and how it is shown. The
// caller holds mu.
func (r *route) record() (state.Record, *snapshot, error) {
	st, timeline, served := r.st, r.timeline, r.served
	if r.rise != nil {
		st, timeline, served = r.rise.next, appendTimeline(timeline, r.rise.decision), 0
	}
	shown := r.snapshot(st, timeline, served)
	position, err := rollout.Encode(st)
	if err != nil {
		return state.Record{}, nil, err
	}
	rec := state.Record{Epoch: r.epoch, Ledger: shown.status.Ledger, Timeline: timeline}
	rec.Rollout, err = json.Marshal(kept{
		Version: keptVersion, Rollout: position, Served: served, Exposed: r.exposed, Guard: fingerprint(r.spec.Guard),
		Past: r.past.evidence,
	})
	if err != nil {
		return state.Record{}, nil, err
	}
	if rec.Judge, err = r.judge.MarshalBinary(); err != nil {
		return state.Record{}, nil, whittle.Errorf(whittle.Internal, "encode the evidence of %s: %w", r.name, err)
	}
	if rec.Guard, err = r.guard.MarshalBinary(); err != nil {
		return state.Record{}, nil, whittle.Errorf(whittle.Internal, "encode the guards of %s: %w", r.name, err)
	}
	return rec, shown, nil
}

// snapshot is the route as a status shows it. The caller holds mu.
func (r *route) snapshot(st rollout.State, timeline []whittle.Decision, served int) *snapshot {
	v, harm := r.judged(), r.harm(st)
	return &snapshot{
		st: st,
		in: rollout.Input{Verdict: v.State, Summary: v.Summary, StepServed: served, Harm: harm, Wait: r.guard.Wait()},
		status: whittle.RouteStatus{
			Route: r.name, Phase: st.Phase, Share: st.Share, Percent: st.Share.Percent(), Held: st.Held, Since: st.Since,
			Verdict: v, Ledger: r.ledger(), Guards: r.guard.Meters(), Harm: harm, Timeline: timeline,
		},
	}
}

// ledger is the gateway's, moved to the point at which the evidence stands: an
// exchange that was judged a moment ago is still pending there. The caller
// holds mu.
func (r *route) ledger() whittle.Ledger {
	l := r.c.o.Ledger(r.name)
	if ahead := min(r.compared-l.Compared, l.Pending); ahead > 0 {
		l.Compared += ahead
		l.Pending -= ahead
	}
	return l
}

// appendTimeline never writes to an array that a snapshot may be reading.
func appendTimeline(t []whittle.Decision, d whittle.Decision) []whittle.Decision {
	t = append(slices.Clip(t), d)
	return t[max(0, len(t)-state.MaxTimeline):]
}

func trimmed(s whittle.Share) string { return strconv.FormatFloat(s.Percent(), 'f', -1, 64) }
