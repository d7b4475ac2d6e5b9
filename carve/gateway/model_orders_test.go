package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

func (w *world) order() {
	s, err := w.c.Route(modelRoute)
	if err != nil {
		w.fault("%w", err)
		return
	}
	o := rollout.Order{Kind: rollout.Kinds[w.rng.IntN(len(rollout.Kinds))], By: "ann", Reason: "why not"}
	if w.rng.IntN(2) == 0 {
		o.Kind = rollout.Promote
	}
	o.Force = o.Kind == rollout.Promote && w.rng.IntN(2) == 0
	stale := w.rng.IntN(5) == 0
	if stale {
		o.Generation = s.Generation + 1<<40
	}
	atOnce, none := context.WithCancel(context.Background())
	none() // nobody waits for the disk
	err = w.c.Order(atOnce, modelRoute, o)
	carried := w.m.order(o, stale, w.word, w.now)
	if carried && o.Kind == rollout.Reset {
		w.m.afresh(w.word, w.now)
	}
	if carried != (whittle.CodeOf(err) == whittle.DeadlineExceeded && err != nil) {
		w.fault("order %+v: %v; carried out in the model: %v (%+v)", o, err, carried, w.m)
	}
}

var errModelSwap = errors.New("no such upstream")

func (w *world) reload() {
	next, other, fails := w.spec, w.rng.IntN(2) == 0, w.rng.IntN(3) == 0
	if other {
		next.Candidate = &whittle.Upstream{URL: fmt.Sprintf("http://127.0.0.1:%d", 2+w.rng.IntN(60_000))}
		other = next.Candidate.URL != w.spec.Candidate.URL
	}
	monolith := whittle.Upstream{URL: "http://127.0.0.1:1"}
	w.thawing = true
	err := w.c.Reload(monolith, []whittle.Route{next}, func() error {
		if other && w.share() != 0 {
			w.fault("share %d while the candidate is changed", w.share())
		}
		if fails {
			return errModelSwap
		}
		return w.g.Reload(monolith, []whittle.Route{next})
	})
	w.thawing = false
	if fails != errors.Is(err, errModelSwap) {
		w.fault("reload: %v", err)
	}
	if other {
		w.m.rise = 0
	}
	if other || !fails {
		w.m.dirty = true
	}
	if fails {
		return
	}
	w.m.read(w.word)
	w.spec = next
	if other {
		w.anotherCandidate()
	}
}

func (w *world) anotherCandidate() {
	w.m.epoch++
	w.m.afresh(w.word, w.now)
	if w.m.phase != whittle.PhaseOff {
		w.m.zero(whittle.PhaseShadow, false, w.now)
	}
}

// restart kills the process, sometimes after an orderly end, and starts another on
// what is on the disk.
func (w *world) restart() {
	if w.rng.IntN(3) == 0 {
		w.flush()
	}
	_ = w.g.Close(context.Background())
	epoch := w.m.epoch
	w.flights, w.notices = nil, nil
	if w.disk == nil {
		w.m = model{phase: whittle.PhaseShadow, fates: map[string]int64{}, dirty: true, epoch: epoch}
	} else {
		w.m = w.disk.copied()
		w.m.tripped, w.m.notified, w.m.known, w.m.dirty, w.m.retryAt = false, false, false, false, time.Time{}
		w.m.begun = time.Time{}
		if pending := w.m.total - w.m.settled(); pending > 0 {
			w.m.fates[fmt.Sprint(whittle.FateSkipped, " ", whittle.SkipInterrupted)] += pending
		}
		if w.m.phase == whittle.PhaseShift {
			w.m.since = w.now
		}
		if was := w.m.epoch; was != epoch {
			w.m.epoch = epoch - 1
			w.anotherCandidate()
		}
	}
	w.m.verdict, w.m.asked, w.m.unread = w.word, w.word, false
	if w.m.share > 0 && w.word == whittle.Different { // nobody is put on it to begin with
		w.m.remember(w.word)
		w.m.zero(whittle.PhaseRolledBack, false, w.now)
	}
	if err := w.begin(); err != nil {
		w.fault("start: %w", err)
	}
	if w.share() != w.m.inForce() {
		w.fault("share %d after a restart, the model has %d", w.share(), w.m.inForce())
	}
	w.tick()
}
