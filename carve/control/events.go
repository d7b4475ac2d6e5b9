package control

import (
	"whittle"
	"whittle/carve/rollout"
)

// emit hands on a decision that is in force, as an event. The caller holds mu, and has
// not adopted the decision yet.
func (r *route) emit(next *rollout.State, d *whittle.Decision) {
	if r.c.o.Notify == nil {
		return
	}
	e := whittle.Event{
		Kind: r.eventKind(next, d), Route: r.name, At: d.At, From: d.From, To: d.To, Phase: d.Phase,
		Reason: d.Reason, By: d.By, Generation: d.Generation, Verdict: r.in.Verdict,
	}
	r.c.o.Notify(e)
}

func (r *route) eventKind(next *rollout.State, d *whittle.Decision) whittle.EventKind {
	switch moved := next.Phase != r.st.Phase; {
	case r.trip.generation > 0 && d.To == 0 && d.By == rollout.Self:
		return whittle.EventTrip
	case moved && next.Phase == whittle.PhaseRolledBack:
		return whittle.EventRollback
	case moved && next.Phase == whittle.PhaseLive:
		return whittle.EventFinished
	case d.To > d.From:
		return whittle.EventRise
	case d.To < d.From:
		return whittle.EventFall
	case d.By == rollout.Self && next.Since.Equal(r.st.Since):
		return whittle.EventGate
	}
	return whittle.EventOrder
}

// emitVerdict hands on a verdict that is another one than before. The caller holds both
// locks.
func (r *route) emitVerdict() {
	v := &r.ev.verdict
	if r.announced == v.State {
		return
	}
	r.announced = v.State
	if r.c.o.Notify == nil || v.Compared == 0 {
		return
	}
	r.c.o.Notify(whittle.Event{
		Kind: whittle.EventVerdict, Route: r.name, At: r.c.o.Now(), From: r.st.Share, To: r.st.Share, Phase: r.st.Phase,
		Reason: "The verdict is " + rollout.VerdictIs(v.State, v.Summary), By: rollout.Self, Generation: r.generation, Verdict: v.State,
	})
}
